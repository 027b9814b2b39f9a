package call

import (
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/internal/digest"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/idempotency"
	"hatchel/runtime/stage/policy"
	"hatchel/runtime/stage/result"
)

// engine carries out one call of an operation. It alone holds the state of the call, and gives each stage the values
// that it needs: a stage knows neither the engine nor the call as a whole. It belongs to one goroutine.
type engine struct {
	operation *Operation
	program   *Program         // whose Operation it is; nil unless a tool is called
	request   *mcp.CallRequest // nil where no request began the call
	frame     *hcl.Frame
	action    adapters.Call // what the steps are called with
	result    result.Result
	page      *result.Page // nil unless the tool answers in pages

	caller      *mcp.Caller // nil in a step of another call
	remoteAddr  string      // for the log; empty when it is not known
	elicitation *elicit.Exchange

	clock     clock
	budget    argumentBudget
	progress  progress
	access    access
	approval  *approvalState // nil when no approval is needed
	asking    *asking        // what the backend of the next step asks; nil for nothing
	reuse     reuse
	files     callFiles
	audit     *auditCall // nil where calls are not recorded
	raw       []byte     // the arguments as they came; nil when they were not JSON
	events    callEvents
	trace     traceMemory // of action.Traceparent
	changes   adapters.Changes
	upstreams adapters.UpstreamCalls
	memory    hcl.Frame // of frame

	callerRoot callerRoot // of frame, where a caller requests the call
}

// engines are zero: their memory was that of calls that have ended.
var engines = sync.Pool{New: func() any { return new(engine) }}

// recycle gives the memory of a call that has been answered to another call, if nothing can refer to it any more: no
// backend and no person was asked, no context was derived from that of the frame, and nothing of the call is traced,
// published or shared.
func (c *engine) recycle() {
	asked := len(c.operation.Steps) > 0 || c.elicitation != nil || c.approval != nil || c.clock.before != nil
	read := c.action.Span.IsRecorded() || c.action.Trace != nil || c.events.publisher != nil
	if asked || read || c.files.set != nil || c.reuse != (reuse{}) {
		return
	}
	*c = engine{}
	engines.Put(c)
}

// progress is how far a call is.
type progress struct {
	began      bool // the work has begun, with firstStep
	firstStep  int
	nextStep   int
	failedStep string            // name of the step that failed
	onStep     func(step string) // is called before every step; nil for none
	inTask     bool              // no request waits for the call, which is that of a task
	resumed    bool              // the call ran before, and its limits have admitted it
	continues  bool              // the call has waited in another process, and has done nothing here
	thawed     bool              // the call has paused before

	taskStage     int  // 1 + the step before which the call becomes a task; 0 for none
	mayBecomeTask bool // the call becomes a task when it has to wait for an operator
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

// newCall returns the engine of a call that has not begun. Caller is what expressions read as `caller`.
func (o *Operation) newCall(ctx context.Context, caller eval.Caller, client adapters.Client) *engine {
	c := engines.Get().(*engine)
	c.memory = *hcl.NewFrame(ctx, o.Env.Dir, o.Env.Now)
	c.operation, c.frame = o, &c.memory
	c.result.Buffers = result.BorrowBuffers()
	c.clock.begin(ctx, o, c.frame)
	c.clock.events = &c.events
	c.frame.Caller = caller
	if o.Env.Observer != nil {
		c.frame.Branch, c.frame.Masked = o.Env.Observer.Branch, o.Env.Observer.Masked
	}
	c.changes.Tool = o.Decl.Name
	c.upstreams = adapters.UpstreamCalls{}
	c.action = adapters.Call{Frame: c.frame, Timeout: o.Decl.Timeout, Client: client, Changes: &c.changes,
		Upstreams: &c.upstreams}
	return c
}

// newCallOf is newCall for a call that a caller requests.
func (o *Operation) newCallOf(ctx context.Context, caller *mcp.Caller, client adapters.Client) *engine {
	c := o.newCall(ctx, nil, client)
	c.callerRoot.caller, c.frame.Caller = caller, &c.callerRoot
	c.caller, c.clock.caller, c.remoteAddr, c.action.Owner = caller, caller, caller.Remote, caller.Owner()
	if caller.Identity != nil {
		c.action.Token = caller.Identity.Token
	}
	return c
}

// newRequestCall is newCallOf for a request of the protocol, which the call records and whose trace it continues.
func (o *Operation) newRequestCall(ctx context.Context, req *mcp.CallRequest) *engine {
	c := o.newCallOf(ctx, req.Caller, req)
	c.request, c.raw, c.progress.continues = req, req.Arguments, req.Continues()
	c.setTrace(o.continueRequestTrace(ctx, req, c.frame, &c.trace))
	c.action.Hops = hopsOf(req.Meta)
	c.audit = o.beginAudit(req.Caller, req.Via)
	c.events = o.beginEvents(req, c.audit)
	o.meter.Begin()
	return c
}

// release gives back the limits and the staged files of the call.
func (c *engine) release() {
	c.files.close()
	c.clock.limits.release()
}

// setTrace sets the trace context of the call.
func (c *engine) setTrace(t callTrace) {
	c.action.Span, c.action.Traceparent, c.action.Tracestate = t.span, t.traceparent, t.tracestate
}

// arguments returns what the caller has sent, for those who may read about the call.
func (c *engine) arguments() callArguments { return callArguments{c.operation, c.frame, c.raw} }

// facts returns what is known of the call when it begins.
func (c *engine) facts() facts {
	return facts{
		operation: c.operation, arguments: c.arguments(), caller: c.caller, owner: c.action.Owner,
		remoteAddr: c.remoteAddr, traceparent: c.action.Traceparent, span: c.action.Span,
	}
}

// failureWriter returns what words failures for the caller.
func (c *engine) failureWriter() failureWriter {
	return failureWriter{c.operation, c.frame, c.caller, c.progress.failedStep}
}

// waiting returns how the call waits for people. A step of another call cannot leave: what its call has done before is
// not known to it.
func (c *engine) waiting() *waiting {
	w := &waiting{call: &c.action, clock: &c.clock, audit: c.audit, seal: c.sealState}
	if c.caller != nil {
		w.client, _ = c.action.Client.(mcp.SuspendableClient)
	}
	return w
}

// run carries out a call of a prompt, a resource or a completion up to the outputs of its steps.
func (c *engine) run(in inputs) error {
	if err := c.admit(in); err != nil {
		return err
	}
	if err := c.resume(); err != nil {
		return c.clock.cause(err)
	}
	if err := c.recordStart(); err != nil {
		return err
	}
	return c.runSteps()
}

// runTool carries out a call of a tool, up to the encoded result.
func (c *engine) runTool(in inputs) (err error) {
	defer func() { c.program.finishFlight(&c.reuse, err, c.clock.isOver(c.frame.Context)) }()
	if !in.admitted {
		if err := c.admit(in); err != nil {
			return err
		}
	}
	if err := c.resume(); err != nil {
		return err
	}
	if err := c.requireApprovals(); err != nil {
		return err
	}
	hasResult, err := c.useCache()
	if err == nil && !hasResult {
		hasResult, err = c.prepare()
	}
	if err == nil && !hasResult {
		err = c.work()
	}
	if err != nil {
		return err
	}
	return c.encode()
}

// prepare gets what the call needs to do its work: its key, its approvals and its limits. The approval of an operator
// is consumed last, so that it stays for the same call made again when a limit rejects this one; when another call has
// consumed it in the meantime, the call is approved anew. HasResult reports that another call with the same key was
// carried out, and that this call has its result.
func (c *engine) prepare() (hasResult bool, err error) {
	for {
		if hasResult, err = c.acquireKey(); err != nil || hasResult {
			return hasResult, err
		}
		if err := c.awaitApprovals(); err != nil {
			return false, err
		}
		if err := c.acquireLimits(); err != nil {
			return false, err
		}
		if consumed, err := c.consumeApproval(); err != nil || consumed {
			return false, err
		}
		c.clock.limits.release()
		c.action.Key = ""
		if err := c.reuse.releaseKey(c.frame.Context); err != nil {
			return false, err
		}
	}
}

// work runs the steps and makes the result of their outputs.
func (c *engine) work() error {
	if err := c.recordStart(); err != nil {
		return err
	}
	if err := c.runSteps(); err != nil {
		return err
	}
	if err := c.shape(); err != nil {
		return err
	}
	c.reuse.keep(&c.result)
	return nil
}
