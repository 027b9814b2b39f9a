package runtime

import (
	"context"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// call is one call of a routine under way. It belongs to one goroutine.
type call struct {
	routine *routine
	frame   *hcl.Frame
	action  adapters.Call
	answer  answer
	reply   *reply

	// Who makes it.
	caller *mcp.Caller   // nil in a step of another call
	remote string        // the address, for the log; empty when that is not known
	nested bool          // it is a step of another call
	talk   *conversation // when the client can be asked

	// How long it may take.
	began     time.Time
	ahead     time.Duration   // how much more its clock shows than has passed since it began
	ends      context.Context // when it does, the call must: of the generation, or of the task
	holds     bool            // its generation, until it is over
	unlimit   func()          // undoes limit
	computing computing       // the context of frame, when nothing but computing is done

	// How far it is.
	at      int               // the stage that comes next
	step    string            // that failed
	note    func(step string) // is told of every step before it runs; nil when nobody is
	resumed bool              // it has been under way before, and its limits have let it
	becomes int               // one more than the stage before which the call becomes a task; 0 for none
	floats  bool              // it becomes a task when it must wait for an operator
	shown   bool              // nothing is sent: it is only said what would be

	// What it holds, and what was said of it, stage by stage.
	files    *fileSet  // that were uploaded for it; nil when there are none
	ownFiles bool      // files are its own, and not those of the call that it is a step of
	decision decision  // of the rules, once they were asked
	cleared  bool      // they have allowed it already, and read no inputs
	answered answered  // by those that read no inputs
	claim    *claim    // when it has a key
	deed     string    // that it goes on with, when it has paused in the midst of one
	consent  *consent  // when somebody must agree to it
	counted  []metered // what counts it, until it is over
	entry    *entry    // of the audit log; nil when the call is not written down
	replayed string    // from what it was answered instead of being carried out, as audit.Record says; empty when it was
}

func (r *routine) newCall(ctx context.Context, caller map[string]any, client adapters.Client) *call {
	b := r.generation.build
	c := &call{routine: r, began: time.Now(), frame: hcl.NewFrame(ctx, b.Dir, b.Now), reply: borrowReply(), ends: r.generation.ctx}
	if len(r.stages) == 0 {
		c.computing = computing{ctx, c.began.Add(r.decl.Timeout), c}
		c.frame.Context = &c.computing
	}
	c.frame.Caller = caller
	c.action = adapters.Call{Frame: c.frame, Client: client}
	return c
}
