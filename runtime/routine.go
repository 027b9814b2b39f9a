package runtime

import (
	"slices"
	"sync/atomic"

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
	asks       bool        // the client may be asked
	patient    bool        // a step may wait for people
	rules      *rules      // who may call; nil for everybody
	effects    bool        // something may change
	hides      bool        // an input is sensitive
	attaches   bool        // an input is a file, or holds one
	requires   []string    // what the client must be able to do, for the tools that steps call too
	scopes     []string    // the caller must have been granted, for the tools that steps call too
}

// init makes the routine of a part of a generation, whose stages are not bound yet.
func (r *routine) init(g *Generation, noun string, decl *hcl.Work, failed *hcl.Message) {
	r.noun, r.decl, r.failed, r.generation, r.narrow = noun, decl, failed, g, narrowing(noun, decl)
	r.effects = slices.ContainsFunc(decl.Steps, func(s *hcl.Step) bool { return !s.Backend.Facts.ReadOnly })
	r.hides = sensitive(decl.Input)
	r.attaches = decl.Input.HoldsFile()
}

// title is what the routine is called in messages for the operator.
func (r *routine) title() string { return r.noun + " " + r.decl.Name }

// run is the straight line of every call, whoever makes it, up to what its answer is made of.
func (r *routine) run(c *call, in inputs) error {
	if err := r.admit(c, in); err != nil {
		return err
	}
	if err := c.resume(); err != nil {
		return c.why(err)
	}
	return r.perform(c)
}

// perform writes down that the call has effects, and runs its steps.
func (r *routine) perform(c *call) error {
	if err := c.intend(); err != nil {
		return err
	}
	return r.work(c)
}

// admit validates a call and asks whether it is allowed. Who may not make it in any case learns nothing of what it takes.
func (r *routine) admit(c *call, in inputs) error {
	err := r.validate(c, in)
	if err == nil && r.attaches {
		err = r.attach(c)
	}
	if err == nil {
		err = r.check(c)
	}
	if err == nil {
		return r.authorize(c)
	}
	if barred := r.barred(c); barred != nil {
		return barred
	}
	return err
}

// work runs the steps in their order, from the one that comes next, under the timeout of the whole. A call that pauses, or becomes a task, is left so that
// it can be gone on with.
func (r *routine) work(c *call) error {
	if len(r.stages) > 0 {
		c.limit(c.ahead)
		defer func() { c.unlimit() }()
	}
	for ; ; c.at++ {
		if c.at+1 == c.becomes {
			return errBecomesTask
		}
		if c.at == len(r.stages) {
			return nil
		}
		s := r.stages[c.at]
		if c.note != nil {
			c.note(s.step.Name)
			if err := c.frame.Context.Err(); err != nil {
				return c.why(err)
			}
		}
		if err := s.run(c); err != nil {
			c.step = s.step.Name
			return c.why(err)
		}
	}
}
