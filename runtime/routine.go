package runtime

import (
	"context"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// routine is one compiled Work, with all that the calls of tools, prompts, resources and completions have in common. It is immutable but for what
// the other side has answered, and serves any number of calls at once.
type routine struct {
	noun       string // what it is to people: "tool", "prompt", …
	decl       *hcl.Work
	failed     *hcl.Message // how a failure is told; nil for its own words
	generation *Generation
	stages     []*stage
	narrow     string      // a sentence that says how to get less of an answer
	asked      atomic.Bool // the other side has answered whether it will work
}

// init makes the routine of a part of a generation, whose stages are not bound yet.
func (r *routine) init(g *Generation, noun string, decl *hcl.Work, failed *hcl.Message) {
	r.noun, r.decl, r.failed, r.generation, r.narrow = noun, decl, failed, g, narrowing(noun, decl)
}

// title is what the routine is called in messages for the operator.
func (r *routine) title() string { return r.noun + " " + r.decl.Name }

// run is the straight line of every call, whoever makes it, up to what its answer is made of.
func (r *routine) run(c *call, in inputs) error {
	if err := r.validate(c, in); err != nil {
		return err
	}
	if err := r.check(c); err != nil {
		return err
	}
	if err := r.authorize(c); err != nil {
		return err
	}
	return r.work(c)
}

// work runs the steps in their order, under the timeout of the whole.
func (r *routine) work(c *call) error {
	if len(r.stages) == 0 {
		return nil
	}
	defer c.limit(r.decl.Timeout)()
	for _, s := range r.stages {
		if err := s.run(c); err != nil {
			c.step = s.step.Name
			return c.why(err)
		}
	}
	return nil
}

// call is one call of a routine under way. It belongs to one goroutine.
type call struct {
	routine   *routine
	began     time.Time
	frame     *hcl.Frame
	computing computing // the context of frame, when nothing but computing is done
	action    adapters.Call
	step      string // that failed
	answer    answer
	reply     *reply
}

func (r *routine) newCall(ctx context.Context, caller map[string]any, client adapters.Client) *call {
	b := r.generation.build
	c := &call{routine: r, began: time.Now(), frame: hcl.NewFrame(ctx, b.Dir, b.Now), reply: borrowReply()}
	if len(r.stages) == 0 {
		c.computing = computing{ctx, c.began.Add(r.decl.Timeout), r.generation.ctx}
		c.frame.Context = &c.computing
	}
	c.frame.Caller = caller
	c.action = adapters.Call{Frame: c.frame, Client: client}
	return c
}
