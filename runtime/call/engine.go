package call

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/internal/digest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/idempotency"
	"hatchel/runtime/stage/limit"
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
	c.frame.Caller = caller
	if o.Env.Observer != nil {
		c.frame.Branch = o.Env.Observer.Branch
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
	c.audit = o.beginAudit(req.Caller)
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

// ending returns what the call came to. Interim is the outcome of a call that continues later; empty for one that has
// ended.
func (c *engine) ending(ctx context.Context, failed *failure.Failure, interim string) ending {
	e := ending{
		facts: c.facts(), failed: failed, interim: interim, started: c.clock.started, began: c.progress.began,
		background: c.progress.inTask, decision: c.access.decision, refusedBy: c.access.refusedBy,
		replayed: c.reuse.replayedFrom, failedStep: c.progress.failedStep, approval: c.approval.auditRecord(),
		result: &c.result, upstreams: c.action.Upstreams,
	}
	e.setOutcome(c.clock.isOver(ctx))
	return e
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

// accept rejects a caller who may not call the operation whatever the inputs are, or without the required scopes, and a
// client without the required capabilities. It lets the call ask any other client: while the call waits where the
// client can be asked then, otherwise by pausing.
func (c *engine) accept(req *mcp.CallRequest) (err error) {
	if err := c.checkVisible(req.Name); err != nil {
		return err
	}
	if c.program != nil {
		if err := req.CheckHeaders(c.program.headerInputs); err != nil {
			return err
		}
	}
	o := c.operation
	if err := o.CheckScopes(req.Caller); err != nil {
		return err
	}
	for _, name := range o.RequiredCapabilities {
		if !elicit.HasCapability(req.Caller, name) {
			return elicit.CapabilityError(req.Caller, name)
		}
	}
	if !o.AsksClient {
		if req.State != "" {
			return mcp.InvalidState()
		}
		return nil
	}
	w := c.waiting()
	c.elicitation, err = elicit.New(w, c.action.Client, o.Writer, req)
	c.action.Client, w.client = c.elicitation, c.elicitation
	return err
}

// checkVisible rejects a caller who may not call the operation whatever the inputs are.
func (c *engine) checkVisible(name string) error {
	d, decided, err := c.operation.checkVisible(c.frame, &c.access.results, name)
	if decided {
		c.access.decision, c.access.preauthorized = d, err == nil
	}
	return err
}

// admit validates and authorizes a call. A caller who may not make the call whatever the inputs are does not learn what
// is wrong with them.
func (c *engine) admit(in inputs) error {
	err := c.validate(in)
	if err == nil {
		if c.events.publisher != nil {
			f := c.facts()
			c.events.publishStart(&f)
		}
		err = c.resolveFiles()
	}
	if err == nil {
		err = c.checkInputs()
	}
	if err == nil {
		err = c.authorize()
	}
	if err == nil {
		err = c.checkIdentities()
	}
	if err != nil && c.access.decision.Verdict != policy.Denied {
		if d, hides := c.operation.hides(c.frame); hides {
			c.access.decision = d
			return c.clock.denial(d)
		}
	}
	return err
}

// newBudget returns what the arguments of the call may take.
func (c *engine) newBudget() *argumentBudget {
	c.budget = argumentBudget{frame: c.frame, clock: &c.clock, request: c.request}
	if c.progress.mayBecomeTask {
		c.budget.inTask = copiesInTask * int64(len(c.raw))
	}
	return &c.budget
}

// validate reads the arguments, and reports everything that is wrong with them.
func (c *engine) validate(in inputs) error {
	if err := c.operation.unreadable(in); err != nil {
		return err
	}
	budget := c.newBudget()
	err := c.acceptRaw(&in, budget)
	var violations []schema.Violation
	if err == nil {
		c.frame.Input, violations, err = c.operation.readInputs(in, budget)
	}
	if err != nil {
		by, refused := budget.refuse(err)
		if by != "" {
			c.access.refusedBy = by
		}
		return refused
	}
	return c.refuseArguments(violations)
}

// acceptRaw replaces the arguments that a caller has sent by what the server accepts them as.
func (c *engine) acceptRaw(in *inputs, budget *argumentBudget) (err error) {
	if in.texts == nil && in.values == nil {
		in.raw, err = c.operation.Decl.Validator.Accept(in.raw, c.operation.Env.Lenience, budget)
		c.raw = in.raw
	}
	return err
}

// refuseArguments returns the failure of arguments that their types refuse; nil without violations.
func (c *engine) refuseArguments(violations []schema.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	head := invalidArguments
	if c.caller == nil {
		head = "The arguments are not valid:\n"
	} else if o := c.operation.Env.Observer; o != nil {
		o.Refused(violations)
	}
	c.access.refusedBy = metrics.RefusedByArgument
	return failure.Refusal(head + result.ListViolations(violations))
}

// resolveFiles replaces the references of uploaded files in the inputs by the files, and checks
// them against what the inputs accept.
func (c *engine) resolveFiles() error {
	if !c.operation.takesFiles {
		return nil
	}
	input, violations, err := c.files.resolve(c.operation, &c.action)
	if err != nil {
		return c.clock.cause(err)
	}
	if len(violations) == 0 {
		c.frame.Input = input
	}
	return c.refuseArguments(violations)
}

// checkInputs evaluates the check blocks, and reports every one that is false.
func (c *engine) checkInputs() error {
	failed, err := c.operation.checkInputs(c.frame)
	switch {
	case err != nil:
		return c.clock.evalError(err)
	case len(failed) == 0:
		return nil
	}
	c.access.refusedBy = metrics.RefusedByArgument
	return failure.Refusal(strings.Join(failed, "\n"))
}

// authorize decides whether the caller may make the call, unless that was decided without its
// inputs.
func (c *engine) authorize() error {
	rules := c.operation.Rules
	if rules == nil || c.access.preauthorized {
		return nil
	}
	c.access.decision = rules.Decide(&policy.Evaluation{Frame: c.frame, CallResults: &c.access.results})
	return c.clock.denial(c.access.decision)
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

// requireApprovals finds out which approvals the call needs, unless they are complete.
func (c *engine) requireApprovals() error {
	p := c.program
	if len(p.Approvals) == 0 || c.approval != nil && c.approval.Stage == approvalComplete {
		return nil
	}
	user, operator, failed, err := p.requiredApprovals(c.frame)
	if err != nil {
		c.access.decision = policy.Decision{Verdict: policy.Denied, Rule: failed, Cause: err}
		return c.clock.denial(c.access.decision)
	}
	if c.approval == nil && len(user)+len(operator) > 0 {
		c.approval = new(approvalState)
	}
	if c.approval != nil {
		c.approval.userRules, c.approval.operatorRules = user, operator
		c.clock.suspend()
	}
	return nil
}

// approvals returns the stage in which people approve the call.
func (c *engine) approvals() *approvals {
	s := &approvals{
		approvalState: c.approval, program: c.program, call: &c.action, clock: &c.clock, caller: c.caller,
		elicitation: c.elicitation, mayBecomeTask: c.progress.mayBecomeTask,
		noWait: c.request != nil && c.request.NoWait,
	}
	if c.approval != nil {
		s.waiting = c.waiting()
		s.view = approvalView{
			program: c.program, call: &c.action, arguments: c.arguments(), caller: c.clock.outerCaller(),
			callID: string(c.events.callID()),
		}
	}
	return s
}

// awaitApprovals waits until all required approvals are given.
func (c *engine) awaitApprovals() error {
	if c.approval.isComplete() {
		return nil
	}
	s := c.approvals()
	err := s.await()
	c.access.refusedBy = s.refusedBy()
	return err
}

// consumeApproval begins the work that is approved, and consumes the approval of an operator. It reports false when
// another call has consumed it.
func (c *engine) consumeApproval() (consumed bool, err error) {
	if c.approval == nil {
		return true, nil
	}
	if consumed, err := c.approvals().consume(); err != nil || !consumed {
		return false, err
	}
	if len(c.operation.Steps) == 0 {
		c.clock.restart()
	}
	claim := c.reuse.claim
	if c.approval.task == "" || !claim.Held() {
		return true, nil
	}
	claim.Record.Task = c.approval.task // calls with the same key find the task that does the work
	return true, claim.Finish(c.frame.Context, idempotency.Task)
}

// useCache reports whether another call has asked the same, and this one has its result. Otherwise the call is to be
// carried out, and other calls may wait for it.
func (c *engine) useCache() (hasResult bool, err error) {
	if c.program.tool.Cache == nil || c.approval != nil {
		return false, nil
	}
	use, err := c.program.useCache(&c.action, &c.clock)
	c.reuse.flight, c.reuse.cacheKey = use.flight, use.key
	if err == nil && (use.result != nil || use.err != nil) {
		c.reuse.replayedFrom = audit.FromCache
	}
	switch {
	case err != nil:
		return false, err
	case use.result != nil:
		if fault := c.program.withdrawn(); fault != nil {
			return false, fault
		}
		return true, c.result.Restore(use.result)
	}
	return false, use.err
}

// acquireKey makes the call the one that is carried out under its idempotency key, if it has one. HasResult reports
// that another call with the same key was carried out, and that this call has its result.
func (c *engine) acquireKey() (hasResult bool, err error) {
	p := c.program
	key, _ := c.frame.Input[hcl.KeyInput].(string)
	if p.tool.Idempotency == nil || c.caller == nil || key == "" || p.tool.Cache != nil && c.approval == nil {
		return false, nil
	}
	claim, err := p.newClaim(&c.action, key)
	if err != nil {
		return false, c.clock.evalError(err)
	}
	use, err := (&keys{
		program: p, call: &c.action, clock: &c.clock, caller: c.caller, approvals: c.approvals(), claim: claim,
		resumes: c.reuse.resumedKey, mayFollow: c.progress.taskStage > 0 || c.progress.mayBecomeTask,
	}).acquire()
	c.access.refusedBy = use.refusedBy
	if use.replayed != "" {
		c.reuse.replayedFrom = use.replayed
	}
	switch {
	case err != nil:
		return false, err
	case use.result != nil:
		return true, c.result.Restore(use.result)
	}
	c.reuse.claim, c.action.Key = use.claim, key
	return false, nil
}

// acquireLimits counts the call in all limits of its tool, and fails where one rejects it. In a step of another call,
// that call is counted in those of the server.
func (c *engine) acquireLimits() error {
	p := c.program
	for _, l := range p.limits {
		if c.caller == nil && l.OfServer() {
			continue
		}
		caller := c.action.Owner
		if caller == "" {
			caller = limit.Network(c.remoteAddr)
		}
		err := c.clock.limits.acquire(l, caller, c.progress.resumed, func(wait func(context.Context) error) error {
			p.meter.Wait(metrics.WaitLimit, 1)
			defer p.meter.Wait(metrics.WaitLimit, -1)
			return c.clock.bound(wait)
		})
		if err != nil {
			c.access.refusedBy = metrics.RefusedByLimit
			return err
		}
	}
	return nil
}

// recordStart records that the work of the call begins: durably, if that has effects. When that fails, nothing was
// done.
func (c *engine) recordStart() error {
	at := &c.progress
	at.began, at.firstStep = true, at.nextStep
	c.recordIdentities()
	if c.audit == nil || !c.operation.hasEffects || at.taskStage == at.nextStep+1 { // a task records its own start
		return nil
	}
	f := c.facts()
	if err := c.audit.recordStart(&f, c.access.decision, c.approval.auditRecord()); err != nil {
		at.began = false
		c.approval.restore(c.frame.Context, c.operation.Env)
		return &auditError{err, mayHaveActed(c.action.Changes)}
	}
	return nil
}

// runSteps runs the steps from the next one on, under the timeout of the call. A call that pauses
// or becomes a task can be resumed from there.
func (c *engine) runSteps() error {
	o, at := c.operation, &c.progress
	if len(o.Steps) > 0 {
		c.clock.start(c.clock.offset)
		defer c.clock.stop()
	}
	for ; ; at.nextStep++ {
		if at.nextStep+1 == at.taskStage {
			return errBecomesTask
		}
		if at.nextStep == len(o.Steps) {
			c.result.Failures, c.result.Received = c.action.Failures, c.action.Received
			o.shortenPaths(c.frame)
			return nil
		}
		s := o.Steps[at.nextStep]
		if at.onStep != nil {
			at.onStep(s.Decl.Name)
			if err := c.frame.Context.Err(); err != nil {
				return c.clock.cause(err)
			}
		}
		if c.asking != nil {
			if err := c.acceptBackendAnswers(); err != nil {
				at.failedStep, c.access.refusedBy = s.Decl.Name, metrics.RefusedByAnswer
				return c.clock.cause(err)
			}
		}
		if at.continues && !s.asks() { // a step that asks the client waits again, and sees to that itself
			at.continues = false
			if err := c.clock.proceed(c.action.Client); err != nil {
				return err
			}
		}
		if err := c.runStep(s); err != nil {
			at.failedStep = s.Decl.Name
			if s.asks() {
				c.access.refusedBy = metrics.RefusedByAnswer
			}
			return c.clock.cause(err)
		}
	}
}

// runStep runs a step, and publishes what it came to.
func (c *engine) runStep(s *Step) (err error) {
	if s.asker && c.elicitation != nil {
		c.action.Asker = &stepAsker{s, c.elicitation, c.frame, c.action.Owner, &c.asking}
		defer func() {
			if c.action.Asker = nil; !isPaused(err) {
				c.dropAsking(c.frame.Context)
			}
		}()
	}
	if c.caller == nil {
		return s.run(&c.action).err
	}
	published := c.operation.Kind == "tool" && c.events.wantsSteps()
	var began time.Time
	if published {
		began, c.action.Attempts = time.Now(), 0
	}
	end := s.run(&c.action)
	c.operation.Env.Observer.observe(s, end)
	if published && interimOutcome(end.err) == "" {
		f := c.facts()
		c.events.publishStep(&f, s, &c.action, end, time.Since(began))
	}
	return end.err
}

// shape makes the result of the outputs of the steps.
func (c *engine) shape() error {
	if cut := c.action.Cut; cut != nil && !c.operation.Decl.HasNamedSteps() {
		delivered := c.operation.Steps[0].Decl.Backend.Delivered
		if slices.ContainsFunc(cut.Members, func(name string) bool { return slices.Contains(delivered, name) }) {
			c.result.Cut = cut
		}
	}
	if err := c.program.Shaper.Shape(&c.result, c.frame); err != nil {
		return c.clock.cause(err)
	}
	return nil
}

// encode makes the bytes of the reply. The result of a step is not encoded.
func (c *engine) encode() error {
	if c.caller == nil {
		return nil
	}
	if err := c.program.Shaper.Encode(&c.result); err != nil {
		return c.clock.cause(err)
	}
	return nil
}

// outcome returns what the protocol sends.
func (c *engine) outcome(failed *failure.Failure, revision mcp.Revision) mcp.Outcome {
	if failed != nil {
		defer c.result.Release()
		text := c.failureWriter().answer(failed)
		return mcp.Outcome{Content: mcp.Text(text), IsError: true, Meta: failed.Meta()}
	}
	return c.program.Shaper.Outcome(&c.result, revision)
}

// failed returns how the call has failed, nil for no error. It must be the last failure of the call.
func (c *engine) failed(err error) *failure.Failure {
	first := c.progress.nextStep == 0 && !c.progress.thawed
	return failureAfter(err, c.action.Changes.Parts(), first)
}

// finishKey stores what the call came to for other calls with the same key.
func (c *engine) finishKey(ctx context.Context, err error, failed *failure.Failure) {
	claim := c.reuse.claim
	if !claim.Held() {
		return
	}
	message := ""
	if failed != nil {
		message = c.failureWriter().public(failed)
	}
	c.operation.finishKey(ctx, claim, err, failed, message, c.action.Changes)
}

// account records, logs, measures and publishes what the call came to, and ends its span. It returns how the call has
// failed with that.
func (c *engine) account(ctx context.Context, failed *failure.Failure, interim string) *failure.Failure {
	var steps []string
	if c.audit != nil && c.progress.began {
		at := &c.progress
		steps = c.operation.stepsRun(at.firstStep, at.nextStep, c.frame.Steps, interim == audit.Task)
		c.recordCredentials()
	}
	e := c.ending(ctx, failed, interim)
	if recorded := c.audit.recordEnd(ctx, &e, steps); recorded != failed {
		e = c.ending(ctx, recorded, interim)
	}
	c.approval.recordCall(ctx, &e)
	e.log(ctx)
	e.measure()
	c.events.publishEnd(ctx, &e)
	e.endSpan()
	return e.failed
}
