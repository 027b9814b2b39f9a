// Package adapters is the contract between the runtime and the backends of tools: what a backend declares to the language, what it is bound to
// when a configuration goes live, and what it does for one call. Each backend is a folder of its own; adapters/all lists them.
package adapters

import (
	"context"
	"log/slog"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// An Adapter is one kind of backend.
type Adapter struct {
	Kind hcl.BackendKind
	bind func(ctx context.Context, config any, env Env) (Action, error)
}

// New declares a backend. Spec gives the arguments of its block; bind makes the Action of one block, once a generation: what can be parsed or
// opened then is never parsed or opened during a call. A bind error is for the author; hcl.Blame puts it at an argument.
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

// Over says which kinds of connection the label of the block can name, and whether it must.
func (a Adapter) Over(needed bool, kinds ...string) Adapter {
	a.Kind.ConnectionRequired, a.Kind.Connections = needed, kinds
	return a
}

// Bind makes the Action of one backend block.
func (a Adapter) Bind(ctx context.Context, b *hcl.Backend, env Env) (Action, error) {
	return a.bind(ctx, b.Config, env)
}

// A Connector is one kind of connection.
type Connector struct {
	Kind hcl.ConnectionKind
	open func(ctx context.Context, config any, env Env) (any, error)
}

// NewConnector declares a kind of connection. Open makes the handle that Actions over it find in Env.Connection; it must not wait for the other
// side: a service that is down neither stops the server nor hides its tools. The handle is shared by all generations whose block is the same, and what open
// gave to env.Defer runs when the last of them is gone. The handle may implement Health.
func NewConnector[C any](name, doc string, spec func(*C) hcl.Spec, open func(context.Context, *C, Env) (any, error)) Connector {
	return Connector{
		Kind: hcl.ConnectionKind{Name: name, Doc: doc, New: func() (any, hcl.Spec) {
			c := new(C)
			return c, spec(c)
		}},
		open: func(ctx context.Context, config any, env Env) (any, error) { return open(ctx, config.(*C), env) },
	}
}

// Open makes the handle of one connection block.
func (c Connector) Open(ctx context.Context, conn *hcl.Connection, env Env) (any, error) {
	return c.open(ctx, conn.Config, env)
}

// Health is a connection that can be asked whether the other side answers. It is called by readiness checks, with a deadline.
type Health interface {
	Ping(ctx context.Context) error
}

// Env is what a bind or open may use. Both run while calls of the previous generation go on.
type Env struct {
	Dir        string       // the absolute folder of the configuration
	Connection any          // the handle of the connection that the block names, or nil
	Log        *slog.Logger // for causes that the caller must not see
	Version    string       // of the program, for a User-Agent
	// Defer registers a cleanup, run newest first when the generation is retired, or at once when the load fails. It is the only place for one.
	Defer func(func() error)
}

// An Action does the work of one block for any number of calls at once. Do honours ctx promptly, leaves call.Frame untouched, and returns a *Fault for
// what the model can act on and any other error for what it cannot.
type Action interface {
	Do(ctx context.Context, call *Call) (Result, error)
}

// Call is one call of an Action.
type Call struct {
	Frame *hcl.Frame
	// Accept asks the expect blocks of the step about an output. An Action that can still undo its effect calls it before the effect is final and returns its
	// error; for the others the runtime asks afterwards.
	Accept func(output any) error
	// Owner is to whom the call belongs; empty when nobody has asked.
	Owner string
	// Token is what the caller has signed in with, and until when it is good; nil when that is no token. It is for who exchanges it for another: it is neither sent anywhere else nor kept.
	Token func() (text string, until time.Time)
	// Key names this one piece of work, of this block and element: an other side that knows such keys does the same key once. Empty when the call has none.
	Key string
	// Client is who made the call. Its methods may be called from the goroutine of Do only.
	Client
}

// Client is told what happens while a call is under way, if it wants to know.
type Client interface {
	// Progress tells it how far the call is; total is 0 when unknown.
	Progress(done, total float64, message string)
	// Log sends a value, as encoded JSON, to its log; level is one of RFC 5424, as in "info".
	Log(level, logger string, data []byte)
}

// Nobody is a Client that is not told anything.
type Nobody struct{}

// Progress implements Client.
func (Nobody) Progress(done, total float64, message string) {}

// Log implements Client.
func (Nobody) Log(level, logger string, data []byte) {}

// Result is what a backend answers: Value is what the root `output` reads, an object whose members the backend documents.
type Result struct {
	Value any
}

// A Fault is a failure that the model can act on. Message goes to it: what happened and what it could change, without hosts, queries or
// secrets. Cause goes to the log.
type Fault struct {
	Message string
	Cause   error
	Status  int // of an HTTP answer that was refused; read as error.status
	Code    int // of a process that failed; read as error.code

	Down      bool          // the other side does not work: what a breaker counts
	Untouched bool          // nothing was sent: the call can be made again
	Missing   bool          // what was to be read is not there: neither is a resource that is made of it
	After     time.Duration // when to come back, or 0
}

func (f *Fault) Error() string { return f.Message }
func (f *Fault) Unwrap() error { return f.Cause }

// NotShown begins what stands in a plan where something of it is left out: who decides by a plan must know that it is not all.
const NotShown = "[not shown: "

// A Planner can say what Do would send without sending it. Secrets in it read "(secret)".
type Planner interface {
	Plan(call *Call) (string, error)
}

// A Prober can ask the other side whether a block will work, and what its rows look like: `validate --connect`, and every start where the other side
// answers. Rows is nil where nothing is known of the output; the error is for the author, hcl.Blame puts it at an argument.
type Prober interface {
	Probe(ctx context.Context) (rows *schema.Type, err error)
}

// A Versioned action reads something that tells at little cost whether it has changed: the text that Version returns is another one then. That nothing is there
// is a version, too. It is called again and again while somebody follows the resource that the block stands in.
type Versioned interface {
	Version(ctx context.Context, call *Call) (string, error)
}

// Set is all that a build of the program can do.
type Set struct {
	Adapters   []Adapter
	Connectors []Connector
}

// Kinds is what the Set brings to the language.
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

// Adapter finds a backend by name.
func (s Set) Adapter(kind string) (Adapter, bool) {
	for _, a := range s.Adapters {
		if a.Kind.Name == kind {
			return a, true
		}
	}
	return Adapter{}, false
}

// Connector finds a kind of connection by name.
func (s Set) Connector(kind string) (Connector, bool) {
	for _, c := range s.Connectors {
		if c.Kind.Name == kind {
			return c, true
		}
	}
	return Connector{}, false
}
