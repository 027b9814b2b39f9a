package call

import (
	"slices"
	"time"

	"hatchel/runtime/observe/metrics"
)

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
	c.liftMasks()
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
			c.result.Lifted = o.addLifted(nil, c.frame)
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
		began, c.action.Attempts, c.action.Pages = time.Now(), 0, 0
	}
	end := s.run(&c.action)
	c.operation.Env.Observer.observe(s, end)
	if published && interimOutcome(end.err) == "" {
		f := c.facts()
		c.events.publishStep(&f, s, &c.action, end, began)
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
		return c.program.Shaper.Project(&c.result, c.frame.Input)
	}
	if c.result.Page = c.page; c.page != nil {
		c.page.Seal = c.sealCursor
	}
	if err := c.program.Shaper.Encode(&c.result, c.frame.Input); err != nil {
		return c.clock.cause(err)
	}
	c.operation.Env.Observer.answer(c.result.Structured)
	return nil
}
