package runtime

import (
	"context"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/elicit"
	"hatchel/runtime/limit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
	"hatchel/runtime/result"
)

// call is one call of a routine under way. It belongs to one goroutine.
type call struct {
	operation *operation
	frame     *hcl.Frame
	action    adapters.Call
	result    result.Result

	// Who makes it.
	caller      *mcp.Caller      // nil in a step of another call
	remoteAddr  string           // the address, for the log; empty when that is not known
	nested      bool             // it is a step of another call
	elicitation *elicit.Exchange // when the client can be asked

	// How long it may take.
	started     time.Time
	clockOffset time.Duration   // how much more its clock shows than has passed since it began
	stopCtx     context.Context // when it does, the call must: of the generation, or of the task
	pinned      bool            // its generation, until it is over
	stopTimeout func()          // undoes limit
	computeCtx  computeContext  // the context of frame, when nothing but computing is done

	// How far it is.
	nextStep      int               // the stage that comes next
	failedStep    string            // that failed
	onStep        func(step string) // is told of every step before it runs; nil when nobody is
	resumed       bool              // it has been under way before, and its limits have let it
	taskStage     int               // one more than the stage before which the call becomes a task; 0 for none
	mayBecomeTask bool              // it becomes a task when it must wait for an operator
	dryRun        bool              // nothing is sent: it is only said what would be

	// What it holds, and what was said of it, stage by stage.
	files         *fileSet           // that were uploaded for it; nil when there are none
	ownsFiles     bool               // files are its own, and not those of the call that it is a step of
	decision      policy.Decision    // of the rules, once they were evaluated
	preauthorized bool               // they have allowed it already, and read no inputs
	ruleResults   policy.RuleResults // of rules that read no inputs
	claim         *claim             // when it has a key
	resumedKey    string             // that it goes on with, when it has paused in the midst of one
	approval      *approvalState     // when somebody must agree to it
	limits        []limit.Key        // what counts it, until it is over
	audit         *auditCall         // of the audit log; nil when the call is not written down
	replayedFrom  string             // from what it was answered instead of being carried out, as audit.Record says; empty when it was
}

func (r *operation) newCall(ctx context.Context, caller map[string]any, client adapters.Client) *call {
	b := r.generation.build
	c := &call{operation: r, started: time.Now(), frame: hcl.NewFrame(ctx, b.Dir, b.Now), result: result.Result{Buffers: result.BorrowBuffers()}, stopCtx: r.generation.ctx}
	if len(r.steps) == 0 {
		c.computeCtx = computeContext{ctx, c.started.Add(r.decl.Timeout), c}
		c.frame.Context = &c.computeCtx
	}
	c.frame.Caller = caller
	c.action = adapters.Call{Frame: c.frame, Client: client}
	return c
}
