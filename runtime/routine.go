package runtime

import (
	"slices"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/runtime/policy"
	"hatchel/runtime/result"
)

// operation is one compiled Work, with all that the calls of tools, prompts, resources and completions have in common. It is immutable but for what
// the other side has answered, and serves any number of calls at once.
type operation struct {
	kind                 string // what it is to people: "tool", "prompt", …
	decl                 *hcl.Operation
	errorText            *hcl.TextTemplate // how a failure is told; nil for its own words
	generation           *Generation
	steps                []*boundStep
	writer               *result.Writer
	probed               atomic.Bool   // the other side has answered whether it will work
	asksClient           bool          // the client may be asked
	mayWaitForApproval   bool          // a step may wait for people
	rules                *policy.Rules // who may call; nil for everybody
	hasEffects           bool          // something may change
	hasSensitiveInput    bool          // an input is sensitive
	takesFiles           bool          // an input is a file, or holds one
	requiredCapabilities []string      // what the client must be able to do, for the tools that steps call too
	requiredScopes       []string      // the caller must have been granted, for the tools that steps call too
}

// initialize makes the routine of a part of a generation, whose stages are not bound yet.
func (r *operation) initialize(g *Generation, noun string, decl *hcl.Operation, failed *hcl.TextTemplate) {
	r.kind, r.decl, r.errorText, r.generation, r.writer = noun, decl, failed, g, result.NewWriter(noun, decl, g.scrubber)
	r.hasEffects = slices.ContainsFunc(decl.Steps, func(s *hcl.Step) bool { return !s.Backend.Effects.ReadOnly })
	r.hasSensitiveInput = result.HasSensitive(decl.Input)
	r.takesFiles = decl.Input.HoldsFile()
}

// label is what the routine is called in messages for the operator.
func (r *operation) label() string { return r.kind + " " + r.decl.Name }

// run is the straight line of every call, whoever makes it, up to what its answer is made of.
func (r *operation) run(c *call, in inputs) error {
	if err := r.admit(c, in); err != nil {
		return err
	}
	if err := c.resume(); err != nil {
		return c.contextCause(err)
	}
	return r.perform(c)
}

// perform writes down that the call has effects, and runs its steps.
func (r *operation) perform(c *call) error {
	if err := c.recordStart(); err != nil {
		return err
	}
	return r.runSteps(c)
}

// admit validates a call and asks whether it is allowed. Who may not make it in any case learns nothing of what it takes.
func (r *operation) admit(c *call, in inputs) error {
	err := r.validate(c, in)
	if err == nil && r.takesFiles {
		err = r.resolveFiles(c)
	}
	if err == nil {
		err = r.runChecks(c)
	}
	if err == nil {
		return r.authorize(c)
	}
	if barred := r.deniedWithoutInputs(c); barred != nil {
		return barred
	}
	return err
}

// runSteps runs the steps in their order, from the one that comes next, under the timeout of the whole. A call that pauses, or becomes a task, is left so that
// it can be gone on with.
func (r *operation) runSteps(c *call) error {
	if len(r.steps) > 0 {
		c.startTimeout(c.clockOffset)
		defer func() { c.stopTimeout() }()
	}
	for ; ; c.nextStep++ {
		if c.nextStep+1 == c.taskStage {
			return errBecomesTask
		}
		if c.nextStep == len(r.steps) {
			return nil
		}
		s := r.steps[c.nextStep]
		if c.onStep != nil {
			c.onStep(s.decl.Name)
			if err := c.frame.Context.Err(); err != nil {
				return c.contextCause(err)
			}
		}
		if err := s.run(c); err != nil {
			c.failedStep = s.decl.Name
			return c.contextCause(err)
		}
	}
}
