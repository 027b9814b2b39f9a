package call

import (
	"fmt"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/failure"
)

// Step is one step of an operation, bound to its backend.
type Step struct {
	Decl   *hcl.Step
	Action adapters.Action
	guard  *adapters.ConnectionGuard // of its connection; nil for none
}

// Versioned returns the action of a step that can tell of changes without being run.
func (s *Step) Versioned() (adapters.Versioner, bool) {
	if s.Decl.Each != nil {
		return nil, false
	}
	action, ok := s.Action.(adapters.Versioner)
	return action, ok
}

// runSteps runs the steps from the next one on, under the timeout of the call. A call that pauses
// or becomes a task can be resumed from there.
func (o *Operation) runSteps(c *call) error {
	if len(o.Steps) > 0 {
		c.startTimeout(c.timing.offset)
		defer func() { c.timing.stop() }()
	}
	for at := &c.progress; ; at.nextStep++ {
		if at.nextStep+1 == at.taskStage {
			return errBecomesTask
		}
		if at.nextStep == len(o.Steps) {
			return nil
		}
		s := o.Steps[at.nextStep]
		if at.onStep != nil {
			at.onStep(s.Decl.Name)
			if err := c.frame.Context.Err(); err != nil {
				return c.contextCause(err)
			}
		}
		if err := s.run(c); err != nil {
			at.failedStep = s.Decl.Name
			return c.contextCause(err)
		}
	}
}

// run runs the step and publishes its output for the steps that follow.
func (s *Step) run(c *call) error {
	out, err := any(nil), error(nil)
	if c.action.Key != "" && s.Decl.Name != "" {
		key := c.action.Key
		c.action.Key = deriveKey(key, s.Decl.Name)
		defer func() { c.action.Key = key }()
	}
	if s.Decl.Each != nil {
		out, err = s.runEach(c)
	} else {
		out, err = s.runOnce(&c.action)
	}
	if err != nil {
		return err
	}
	if s.Decl.Name == "" {
		c.frame.Output = out
		return nil
	}
	c.frame.Output = nil
	c.frame.Steps[s.Decl.Name] = out
	return nil
}

// runOnce runs the step for the current element, or for none. The output of a skipped step is null.
func (s *Step) runOnce(call *adapters.Call) (any, error) {
	if s.Decl.When != nil {
		ok, err := s.Decl.When.Eval(call.Frame, nil)
		if err != nil {
			return nil, failure.AsFault(err)
		}
		if !ok {
			return nil, nil
		}
	}
	out, err := s.repeat(call)
	if err != nil && s.Decl.ContinueOnError && call.Frame.Context.Err() == nil && !continuesLater(err) {
		return map[string]any{"error": failure.Of(err).ErrorRoot("")}, nil
	}
	return out, err
}

// repeat calls the backend until its output is the one that the repeat block waits for.
func (s *Step) repeat(call *adapters.Call) (any, error) {
	r := s.Decl.Repeat
	if r == nil {
		return s.do(call)
	}
	key := call.Key
	defer func() { call.Key = key }()
	for n := 1; ; n++ {
		if n > 1 && key != "" {
			call.Key = deriveKey(key, n)
		}
		out, err := s.do(call)
		if err != nil {
			return nil, err
		}
		done, err := s.isFinal(call.Frame, out)
		if err != nil || done {
			return out, err
		}
		if n >= r.Max && r.Max > 0 {
			const text = "after %d attempts the output is still not the one that repeat waits for"
			return nil, &adapters.Fault{Message: fmt.Sprintf(text, n)}
		}
		if err := ctxtime.Sleep(call.Frame.Context, r.Every); err != nil {
			return nil, err
		}
	}
}

// do calls the backend once and checks the expectations of its output, unless the backend has done
// so itself because it could still undo its work.
func (s *Step) do(call *adapters.Call) (any, error) {
	if len(s.Decl.Expects) == 0 {
		call.CheckOutput = acceptAll
		return s.guard.Do(call.Frame.Context, s.Action, call)
	}
	checked := false
	accept := func(output any) error {
		checked = true
		return s.checkExpectations(call.Frame, output)
	}
	call.CheckOutput = accept
	output, err := s.guard.Do(call.Frame.Context, s.Action, call)
	if err == nil && !checked {
		err = accept(output)
	}
	return output, err
}

func acceptAll(any) error { return nil }

// isFinal reports whether an output is the one that the repeat block waits for.
func (s *Step) isFinal(f *hcl.Frame, output any) (bool, error) {
	if s.Decl.Repeat == nil {
		return true, nil
	}
	ok, err := s.Decl.Repeat.Until.Eval(f, output)
	if err != nil {
		return false, failure.AsFault(err)
	}
	return ok, nil
}

// checkExpectations evaluates the expect blocks for a final output.
func (s *Step) checkExpectations(f *hcl.Frame, output any) error {
	if ok, err := s.isFinal(f, output); err != nil || !ok {
		return err
	}
	for _, e := range s.Decl.Expects {
		ok, err := e.That.Eval(f, output)
		if err != nil {
			return failure.AsFault(err)
		}
		if !ok {
			frame := *f
			frame.Output = output
			return &adapters.Fault{Message: failure.Render(e.Message, &frame)}
		}
	}
	return nil
}
