package call

import (
	"context"
	"log/slog"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/event"
	"hatchel/runtime/files"
	"hatchel/runtime/idempotency"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/policy"
	"hatchel/runtime/result"
	"hatchel/runtime/state"
	"hatchel/runtime/task"
	"hatchel/runtime/webhook"
)

// call is one running call of an operation. It belongs to one goroutine.
type call struct {
	operation *Operation
	frame     *hcl.Frame
	action    adapters.Call
	result    result.Result

	caller      *mcp.Caller // nil in a step of another call
	remoteAddr  string      // for the log; empty when it is not known
	nested      bool        // the call is a step of another one
	dryRun      bool        // nothing is sent to backends
	elicitation *elicit.Exchange

	timing   timing
	progress progress
	access   access
	approval *approvalState // nil when no approval is needed
	reuse    reuse
	files    callFiles
	limits   []limit.Key // that count the call
	audit    *auditCall  // nil where calls are not recorded
	raw      []byte      // the arguments as they came; nil when they were not JSON
	events   callEvents
	trace    traceMemory // of action.Traceparent
	changes  adapters.Changes
}

// timing is how long a call may take.
type timing struct {
	started time.Time
	offset  time.Duration   // time that the call has run before started
	stopCtx context.Context // ends when the call must: that of the generation or of the task
	pinned  bool            // the generation stays for as long as the call takes
	stop    func()          // undoes startTimeout
	compute computeContext  // of the arguments, and of the frame where nothing is called
}

// progress is how far a call is.
type progress struct {
	began        bool // the work has begun, with firstStep
	firstStep    int
	nextStep     int
	failedStep   string             // name of the step that failed
	stepFailures *adapters.Failures // of the last step; nil for none
	onStep       func(step string)  // is called before every step; nil for none
	inTask       bool               // no request waits for the call, which is that of a task
	resumed      bool               // the call ran before, and its limits have admitted it
	continues    bool               // the call has waited in another process, and has done nothing here

	taskStage     int  // 1 + the step before which the call becomes a task; 0 for none
	mayBecomeTask bool // the call becomes a task when it has to wait for an operator
	noWait        bool // the caller is answered when the call has to wait for an operator
}

// access is what the rules have decided about a call.
type access struct {
	decision      policy.Decision
	results       policy.RuleResults // of rules that read no inputs
	preauthorized bool               // the call is allowed, and no rule reads inputs
	refusedBy     string             // what has refused the call besides the rules, for metrics; empty for nothing
}

// reuse is what a call shares with others of the same key, or of the same question.
type reuse struct {
	claim        *idempotency.Claim // nil without a key
	resumedKey   string             // name of the record of the key that a paused call resumes with
	flight       *result.Flight     // other calls wait for this one; nil when none can
	cacheKey     digest.Digest      // of flight
	replayedFrom string             // as in audit.Record; empty when the call was carried out
}

// newCall returns a call that has not begun. Caller is what expressions read as `caller`.
func (o *Operation) newCall(ctx context.Context, caller map[string]any, client adapters.Client) *call {
	c := &call{operation: o, frame: hcl.NewFrame(ctx, o.Env.Dir, o.Env.Now)}
	c.result.Buffers = result.BorrowBuffers()
	c.timing.started, c.timing.stopCtx = time.Now(), o.Env.Running
	c.timing.compute = computeContext{ctx, c.timing.started.Add(o.Decl.Timeout), c}
	if len(o.Steps) == 0 {
		c.frame.Context = &c.timing.compute
	}
	c.frame.Caller = caller
	if o.Env.Observer != nil {
		c.frame.Branch = o.Env.Observer.Branch
	}
	c.changes.Tool = o.Decl.Name
	c.action = adapters.Call{Frame: c.frame, Timeout: o.Decl.Timeout, Client: client, Changes: &c.changes}
	return c
}

// newCallOf is newCall for a call that a caller requests.
func (o *Operation) newCallOf(ctx context.Context, caller *mcp.Caller, client adapters.Client) *call {
	c := o.newCall(ctx, CallerRoot(caller), client)
	c.caller, c.remoteAddr, c.action.Owner = caller, caller.Remote, caller.Owner()
	if caller.Identity != nil {
		c.action.Token = caller.Identity.Token
	}
	return c
}

// newRequestCall is newCallOf for a request of the protocol, which the call records and whose trace it continues.
func (o *Operation) newRequestCall(ctx context.Context, req *mcp.CallRequest) *call {
	c := o.newCallOf(ctx, req.Caller, req)
	c.progress.continues = req.Continues()
	c.continueTraceOf(ctx, req)
	c.raw, c.audit = req.Arguments, o.beginAudit(req.Caller)
	c.beginEvents()
	c.events.request = req
	o.meter.Begin()
	return c
}

// callerOrOuter returns the caller of the call, or of the call that it is a step of; nil for none.
func (c *call) callerOrOuter() *mcp.Caller {
	caller := c.caller
	for t := timeoutOf(c.frame.Context); caller == nil && t != nil; t = t.outer {
		caller = t.call.caller
	}
	return caller
}

// release gives back the limits and the staged files of the call.
func (c *call) release() {
	c.removeStagedFiles()
	c.releaseLimits()
}

// acquireLimits counts the call in all limits of its tool, and fails where one rejects it. A call
// that resumes is counted and never rejected.
func (p *Program) acquireLimits(c *call) error {
	limiter := p.Env.Limiter
	for _, l := range p.limits {
		if c.nested && l.OfServer() {
			continue // the call that it is a step of is counted
		}
		caller := c.action.Owner
		if caller == "" {
			caller = limit.Network(c.remoteAddr)
		}
		key := l.Key(caller)
		acquire := func(ctx context.Context) error { return limiter.Acquire(ctx, key, l) }
		if c.progress.resumed {
			limiter.Readmit(key)
		} else if err := p.waitForLimit(c, acquire); err != nil {
			c.access.refusedBy = metrics.RefusedByLimit
			return err
		}
		c.limits = append(c.limits, key)
	}
	return nil
}

// releaseLimits takes the call out of the limits that count it.
func (c *call) releaseLimits() {
	for _, key := range c.limits {
		c.operation.Env.Limiter.Release(key)
	}
	c.limits = nil
}

// Environment is what the calls of one generation need of the server. It is made at compile time
// and immutable.
type Environment struct {
	Dir      string // the configuration directory
	Now      func() time.Time
	Log      *slog.Logger
	Revision string // of the configuration
	Scrubber *result.Scrubber
	Uploads  *files.Rules // of uploaded files; nil where no operation takes any
	Observer *Observer    // nil outside of tests
	Tracing  *Tracing     // nil unless calls are traced

	Running context.Context // ends when calls must end, except for pinned ones
	Pinned  context.Context // ends when pinned calls must end

	Generation Generation
	Audit      Audit            // nil where calls are not recorded
	Metrics    *metrics.Metrics // nil where nothing is measured
	Events     *event.Publisher // nil where nothing reads events
	Refusals   *event.Refusals  // those of the process; nil with Events
	// MetricCallers is how many callers have metrics of their own.
	MetricCallers int
	State         State
	Limiter       *limit.Limiter
	Results       *result.Cache
	Waiters       *Waiters
	Tasks         *task.Registry
	Keys          *state.Lease // of idempotency keys
	Process       *state.Process
	Files         *files.Store
}

// Generation is the lifetime of the configuration that calls are served from.
type Generation interface {
	// Pin lets a call that has entered the generation run for as long as it takes. Unpin undoes
	// that.
	Pin()
	Unpin()
	// Retain keeps the generation open for work that has not entered it. Release undoes that.
	Retain()
	Release()
	// Serving returns the tool of a name as it is served now, nil for none, and whether its caller,
	// who may be nil, is known there.
	Serving(tool string, caller *mcp.Caller) (p *Program, known bool)
}

// Audit is where calls are recorded.
type Audit interface {
	// Append adds a record. After an error, what the record is about must not happen.
	Append(r *audit.Record, durable bool) error
}

// State is what calls keep in the state store beside tasks, idempotency keys and files.
type State interface {
	// Sealer returns what seals the state of paused calls in tokens. The store is open: a
	// configuration whose calls need it is not served before.
	Sealer() *elicit.Sealer
	// Approvals returns the approvals that calls wait for. The store is open like that of Sealer.
	Approvals() *approval.Store
	// Enqueue stores an event for delivery to a webhook. It ignores one that does not exist.
	Enqueue(ctx context.Context, webhook string, e *webhook.Event) error
}

// anonymous is an unknown caller. It is never changed.
var anonymous = map[string]any{
	"subject": nil, "groups": []any{}, "claims": map[string]any{}, "scopes": []any{}, "headers": map[string]any{},
	"client": map[string]any{}, "capabilities": []any{},
}

// CallerRoot returns what expressions read as `caller`. The claims of a token, and what the client
// says of itself, are decoded when an expression reads them.
func CallerRoot(c *mcp.Caller) map[string]any {
	if c == nil || len(c.ClientInfo) == 0 && len(c.Capabilities) <= len("{}") && c.Subject == "" && c.Identity == nil {
		return anonymous
	}
	m := map[string]any{
		"subject": nil, "groups": anonymous["groups"], "claims": anonymous["claims"],
		"scopes": anonymous["scopes"], "headers": anonymous["headers"],
		"client": (*clientInfo)(c), "capabilities": (*elicit.Capabilities)(c),
	}
	if c.Subject != "" {
		m["subject"] = c.Subject
	}
	if c.Identity != nil {
		addIdentity(m, c.Identity)
	}
	return m
}

func addIdentity(m map[string]any, i *mcp.Identity) {
	m["groups"], m["scopes"] = toAnyList(i.Groups), toAnyList(i.Scopes)
	if len(i.Claims) > 0 {
		m["claims"] = claims(i.Claims)
	}
	headers := make(map[string]any, len(i.Headers))
	for name, text := range i.Headers {
		headers[name] = text
	}
	m["headers"] = headers
}

func toAnyList(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// claims are those of a token. Their syntax was checked with the signature.
type claims []byte

// AppendJSON implements value.LazyJSON.
func (c claims) AppendJSON(dst []byte) []byte { return append(dst, c...) }

// Value implements value.LazyJSON.
func (c claims) Value() (any, error) { return value.Decode(c) }

// clientInfo is what a client says of itself. The protocol has checked its syntax.
type clientInfo mcp.Caller

// AppendJSON implements value.LazyJSON.
func (c *clientInfo) AppendJSON(dst []byte) []byte {
	if len(c.ClientInfo) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, c.ClientInfo...)
}

// Value implements value.LazyJSON.
func (c *clientInfo) Value() (any, error) {
	if len(c.ClientInfo) == 0 {
		return map[string]any{}, nil
	}
	return value.Decode(c.ClientInfo)
}
