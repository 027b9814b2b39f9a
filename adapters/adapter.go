// Package adapters is the contract between the runtime and the backends of tools. A backend
// declares its block in the language, is bound when a configuration goes live, and runs for each
// call. Each backend is a package of its own; package all lists them.
package adapters

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
)

// Adapter is one kind of backend.
type Adapter struct {
	Kind hcl.BackendKind
	bind func(ctx context.Context, config any, env Env) (Action, error)
}

// New declares a backend. spec returns the arguments of its block. bind makes the Action of one
// block, once in each generation. It parses and opens whatever can be parsed and opened before a
// call. Its error is for the author; hcl.Blame reports it at an argument.
func New[C any, P interface {
	*C
	hcl.Describer
}](name, doc string, spec func(P) hcl.Spec, bind func(context.Context, P, Env) (Action, error)) Adapter {
	return Adapter{
		Kind: hcl.BackendKind{Name: name, Doc: doc, New: func() (hcl.Describer, hcl.Spec) {
			c := P(new(C))
			return c, spec(c)
		}},
		bind: func(ctx context.Context, config any, env Env) (Action, error) { return bind(ctx, config.(P), env) },
	}
}

// WithConnections returns the adapter with the kinds of connections that the label of its block may name, and
// whether the label is required.
func (a Adapter) WithConnections(required bool, kinds ...string) Adapter {
	a.Kind.ConnectionRequired, a.Kind.Connections = required, kinds
	return a
}

// WithMock returns the adapter with what tests write in its place.
func (a Adapter) WithMock(k *mock.Kind) Adapter {
	a.Kind.Mock = k
	return a
}

// Bind returns the Action of one backend block.
func (a Adapter) Bind(ctx context.Context, b *hcl.Backend, env Env) (Action, error) {
	if b.Connection != nil {
		env.ConnectionName = b.Connection.Name
	}
	return a.bind(ctx, b.Config, env)
}

// Connector is one kind of connection.
type Connector struct {
	Kind hcl.ConnectionKind
	open func(ctx context.Context, config any, env Env) (any, error)
}

// NewConnector declares a kind of connection. open makes the handle that Actions find in
// Env.Connection. It must not wait for the backend: a backend that is down neither stops the server
// nor hides its tools. All generations with the same block share the handle, and the functions
// passed to env.Defer run when the last of them is retired. The handle may implement Health.
func NewConnector[C any](
	name, doc string, spec func(*C) hcl.Spec, open func(context.Context, *C, Env) (any, error),
) Connector {
	return Connector{
		Kind: hcl.ConnectionKind{Name: name, Doc: doc, New: func() (any, hcl.Spec) {
			c := new(C)
			return c, spec(c)
		}},
		open: func(ctx context.Context, config any, env Env) (any, error) { return open(ctx, config.(*C), env) },
	}
}

// Open returns the handle of one connection block.
func (c Connector) Open(ctx context.Context, conn *hcl.Connection, env Env) (any, error) {
	env.ConnectionName = conn.Name
	return c.open(ctx, conn.Config, env)
}

// MissingError is an error about something that a backend or connection needs and the machine lacks. At start it may
// refuse the tools that need it, instead of stopping the start.
type MissingError struct {
	Name string // what is missing, for callers
	Err  error  // for the author
}

func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns Err, so that it is reported at its arguments.
func (e *MissingError) Unwrap() []error { return []error{e.Err} }

// Health is implemented by connections that can check whether their backend responds. Readiness
// checks call Ping with a deadline.
type Health interface {
	Ping(ctx context.Context) error
}

// Env is the environment of bind and open. Both run while calls of the previous generation
// continue.
type Env struct {
	Dir        string // the absolute configuration directory
	Connection any    // the handle of the connection that the block names, or nil
	// ConnectionName is the name of the connection that is opened, or that the block names; empty for none.
	ConnectionName string
	Log            *slog.Logger // for causes that the caller must not see
	Version        string       // of the program, for a User-Agent
	Inspect        bool         // nothing is created or changed, and no secret is read: only questions are asked
	Mocks          Mocks        // answers in place of what is outside of the process; nil for the real thing
	// StateChanged is called by the handle of an Upstream whenever its state may have changed. It calls UpstreamState,
	// so the handle must hold no lock that UpstreamState takes. It may be called concurrently. Only the open of a
	// connection has it; nil for nobody.
	StateChanged func()
	// ReadOnly and Idempotent say what the author declares of the operation of the block that is bound: nothing
	// changes, and repeating it has no additional effect.
	ReadOnly, Idempotent bool
	// Warn reports a warning about a field of the block's configuration, or of its connection's. Only bind has it.
	Warn func(field any, summary, detail string)
	// Defer registers a cleanup function. Cleanups run in reverse order when the generation is
	// retired, or immediately if the load fails.
	Defer func(func() error)
}

// Action runs one backend block for any number of concurrent calls. Do returns promptly when ctx
// ends and does not modify Call.Frame. It returns the root output: an object whose members the backend
// documents. It returns a *Fault for failures that the model can act on, and any other error for failures it
// cannot.
type Action interface {
	Do(ctx context.Context, call *Call) (output any, err error)
}

// Call is one call of an Action.
type Call struct {
	Frame *hcl.Frame
	// Timeout is that of the whole tool, prompt or resource, of which the action may have less left.
	Timeout time.Duration
	// CheckOutput checks an output against the expect blocks of the step. An Action that can still undo
	// its effect calls it before the effect is final, and returns its error. For all others the
	// runtime checks the output after Do.
	CheckOutput func(output any) error
	Block       string // names the block of the action in a message
	// Whole are the members of the output that no limit may cut, because all there is is needed.
	Whole []string
	// Delivered are the members of the output that the answer holds, of those that a limit may cut.
	Delivered []string
	// Cut is the limit that has cut the output; nil for none. Truncate sets it.
	Cut *Cut
	// Owner identifies the caller; it is empty for an anonymous call.
	Owner string
	// Token returns the token that the caller has authenticated with, or that of the provider where the
	// caller has signed in, and until when it is valid. It is nil if the caller used no token. It is called
	// only when the token is needed, because it may ask the provider; its error is a sentence for the caller.
	// The token may only be exchanged for another one: it must not be sent anywhere else and must not be
	// stored.
	Token func(ctx context.Context) (text string, until time.Time, err error)
	// MaskPage returns a page as the caller may see it; nil if they see all of it. An Action whose expressions make the
	// output of pages computes them on what it returns, and sets Shown to the output that they give.
	MaskPage func(page map[string]any) (map[string]any, error)
	Shown    map[string]any
	// Raw is the latest output without masks, for a step that keeps it. The runtime writes it.
	Raw any
	// Key is the idempotency key of this call, block and element. A backend that supports such keys
	// performs the same key once. It is empty if the call has none.
	Key string
	// Traceparent is the W3C trace context of the request, which a backend sends on to its service. It is valid, or
	// empty for a request without one.
	Traceparent string
	// Tracestate is what else the request says about its trace, which goes with Traceparent. It is at most 512
	// printable characters of ASCII.
	Tracestate string
	// Span is the span of the call or the step, below which an Action begins spans of what it sends. It is zero unless
	// the call is traced.
	Span Span
	// Trace receives what is sent and received; nil unless a person traces the call.
	Trace Trace
	// Changes records what the Actions of the call have changed. The runtime writes it.
	Changes *Changes
	// Failures counts the failures after which the call went on. The runtime writes it.
	Failures Failures
	// Pace is the rate of the connection; nil for none. An Action that sends more than one request waits for it before
	// each one after the first.
	Pace *Pace
	// Asked is when the backend was last asked something. An Action that sends more than one request sets it before
	// each one.
	Asked time.Time
	// Attempts and Pages count the requests that an Action has sent, and the pages that it has read. An Action that
	// may send more than one adds each.
	Attempts, Pages int
	// Replaced counts the characters of answers in whose place U+FFFD was read. CountReplaced adds to it.
	Replaced int
	// Hops is how many servers of this kind the call has passed before this one. An Action that calls another MCP
	// server tells it one more, and sends nothing beyond MaxHops.
	Hops int
	// Upstreams records the tools of other MCP servers that the call calls; nil where nobody reads it.
	Upstreams *UpstreamCalls
	// Received counts what was taken out of the answers of other MCP servers.
	Received Received
	// Asker asks the client; nil where it cannot be asked. Only an Action that is Asking has one.
	Asker Asker
	// Resumption is what Do continues with; nil unless it has returned the error of Ask before.
	Resumption *Resumption
	// Client receives notifications about the call. Its methods may only be called in the goroutine
	// of Do.
	Client
}

// Client receives notifications while a call runs.
type Client interface {
	// WantsProgress reports whether anybody reads what Progress reports.
	WantsProgress() bool
	// Progress reports the progress of the call; total is 0 if unknown.
	Progress(done, total float64, message string)
	// Log sends a JSON value to the log of the client; level is one of RFC 5424, such as "info".
	Log(level, logger string, data []byte)
}

// NopClient is a Client that ignores all notifications.
type NopClient struct{}

// WantsProgress implements Client.
func (NopClient) WantsProgress() bool { return false }

// Progress implements Client.
func (NopClient) Progress(done, total float64, message string) {}

// Log implements Client.
func (NopClient) Log(level, logger string, data []byte) {}

// Fault is a failure that the model can act on. Message is for the model: what happened and what to
// change, without secrets, statements, and hosts other than those of an answer. It does not say what was
// done: only the runtime knows that of a whole call. Cause is for the log.
type Fault struct {
	Message string
	Hint    string // what the author of the tool can change, in sentences; empty for nothing. Callers do not read it
	Advice  string // what to do if the call has changed nothing, such as "try again"; empty for nothing
	Change  Change // what the Action has changed; with NotSent, ChangeAnswered is ChangeUnsent
	Cause   error
	Status  int // of a rejected HTTP response, read as error.status
	Code    int // of a failed process, read as error.code

	Constraint *Constraint // that a change violates, of which expressions read the fields; nil for none

	// Unquoted says the same without what the backend says, which may hold values of it: under a mask it takes the
	// place of Message, Hint and Cause. Nil if these quote no values.
	Unquoted *Unquoted

	Unavailable bool          // the backend is unavailable; circuit breakers count these faults
	NotSent     bool          // nothing was sent, so the call can be repeated
	SaysNotSent bool          // the failure says that nothing was sent if that is true of the whole call; with NotSent
	NotFound    bool          // what the call reads does not exist, so a resource made of it does not either
	RetryAfter  time.Duration // the delay before a retry, or 0
}

// Unquoted is a failure in words that hold no value of a backend.
type Unquoted struct{ Message, Cause string }

// Error returns the failure as that of an Action which is the whole call.
func (f *Fault) Error() string {
	done := Unchanged(f.Change)
	if f.SaysNotSent {
		done = NothingSent
	}
	return JoinFailure(f.Message, done, f.Advice)
}

func (f *Fault) Unwrap() error { return f.Cause }

// Constraint is a rule of a database as far as the database says which one. Its fields hold names and no values;
// unknown ones are empty.
type Constraint struct {
	Name    string   // read as error.constraint
	Table   string   // read as error.table
	Columns []string // read as error.columns
}

// OmittedPrefix is the beginning of the text that replaces a part of a plan. It shows an approver that
// the plan is incomplete.
const OmittedPrefix = "[not shown: "

// Planner is an Action that can describe what Do would send. Plan sends nothing, and hides secrets.
type Planner interface {
	Plan(call *Call) ([]Effect, error)
}

// Pooled is a connection with a pool. Pool returns how many connections are in use, and how many there may be.
type Pooled interface {
	Pool() (inUse, maximum int)
}

// SignedIn is a connection that signs in with a credential that it fetches, or an Action of one. Credential returns
// what it holds, and nil for a connection that fetches none. It fetches nothing.
type SignedIn interface {
	Credential() *CredentialState
}

// CredentialState says what a connection holds, for people who operate a server. It has no secret.
type CredentialState struct {
	Identity string // as whom the connection acts, and where its credential is from; empty before there is one
	Valid    bool
	Expires  time.Time // zero without a credential, and for one that does not end
	Failure  string    // of the last fetch; empty if it succeeded, or if there was none
}

// Creator is a connection whose backend another connection may create, or that creates it itself. Opens
// returns the name of the backend, which connections to the same one share, and whether this connection
// creates it. The others are pinged after it.
type Creator interface {
	Health
	Opens() (name string, creates bool)
}

// Prober is an Action that can check its block with the backend, for validate --connect and at each
// load. Probe returns the type of the rows, or nil if it is unknown. Its error is for the author;
// hcl.Blame reports it at an argument. It is a *RefusedError if the backend has answered and refuses
// statements for what they say. Asks reports whether Probe asks the backend about a statement.
type Prober interface {
	Probe(ctx context.Context) (rows *schema.Type, err error)
	Asks(statement string) bool
}

// Prover is a connection whose calls act as their callers, and that can ask its backend whether it keeps them apart.
// Prove is given the Actions that use the connection, and changes nothing. Its errors are for the author; hcl.Blame
// reports them at an argument of the connection. Faults are errors of the configuration, warnings are not.
type Prover interface {
	Prove(ctx context.Context, actions []Action) (faults, warnings error)
}

// RefusedError is the error of a Probe whose backend refuses statements for what they say, such as a
// table that does not exist, and not because it is full or does not answer.
type RefusedError struct {
	Statements []string
	Errs       []error // for the author, one for each statement
}

// ConnectionError is the error of a Probe about its connection: it or an instance of it does not answer, or refuses as
// whom calls would run. It says nothing about the block.
type ConnectionError struct{ Cause error }

func (e *ConnectionError) Error() string { return e.Cause.Error() }
func (e *ConnectionError) Unwrap() error { return e.Cause }

func (e *RefusedError) Error() string   { return errors.Join(e.Errs...).Error() }
func (e *RefusedError) Unwrap() []error { return e.Errs }

// Versioner is an Action that can cheaply detect changes of what it reads. Version returns a
// different text after every change; a file that does not exist has a version too. It is called
// repeatedly while a client is subscribed to the resource of the block.
type Versioner interface {
	Version(ctx context.Context, call *Call) (string, error)
}

// Set is the adapters and connectors of a build of the program.
type Set struct {
	Adapters   []Adapter
	Connectors []Connector
}

// Kinds returns what the Set adds to the language.
func (s Set) Kinds() hcl.Kinds {
	var k hcl.Kinds
	for _, a := range s.Adapters {
		k.Backends = append(k.Backends, a.Kind)
	}
	for _, c := range s.Connectors {
		k.Connections = append(k.Connections, c.Kind)
	}
	return k
}

// Adapter returns the adapter for a kind of backend.
func (s Set) Adapter(kind string) (Adapter, bool) {
	for _, a := range s.Adapters {
		if a.Kind.Name == kind {
			return a, true
		}
	}
	return Adapter{}, false
}

// Connector returns the connector for a kind of connection.
func (s Set) Connector(kind string) (Connector, bool) {
	for _, c := range s.Connectors {
		if c.Kind.Name == kind {
			return c, true
		}
	}
	return Connector{}, false
}

// Checks collects the mistakes in the arguments of a block or a connection. Each mistake is reported
// at a field of the decoded configuration, as hcl.Blame does.
type Checks []error

// Refuse reports a mistake at a field if wrong is true.
func (c *Checks) Refuse(wrong bool, field any, format string, args ...any) {
	if wrong {
		*c = append(*c, hcl.Blame(field, format, args...))
	}
}

// Err returns all mistakes as one error, or nil.
func (c Checks) Err() error { return errors.Join(c...) }
