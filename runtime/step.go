package runtime

import (
	"fmt"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// stage is one step of a program, bound to its backend.
type stage struct {
	step   *hcl.Step
	action adapters.Action
	guard  *adapters.Guard // of its connection; nil for none
}

// run runs the step and puts what it gave where the following ones read it.
func (s *stage) run(c *call) error {
	out, err := any(nil), error(nil)
	if c.action.Key != "" && s.step.Name != "" {
		key := c.action.Key
		c.action.Key = derived(key, s.step.Name)
		defer func() { c.action.Key = key }()
	}
	if s.step.Each != nil {
		out, err = s.each(c)
	} else {
		out, err = s.once(&c.action)
	}
	if err != nil {
		return err
	}
	if s.step.Name == "" {
		c.frame.Output = out
		return nil
	}
	c.frame.Output = nil
	c.frame.Steps[s.step.Name] = out
	return nil
}

// once runs the step for the element in hand, or for none. A step that is skipped gives null.
func (s *stage) once(call *adapters.Call) (any, error) {
	if s.step.When != nil {
		ok, err := s.step.When.Eval(call.Frame, nil)
		if err != nil {
			return nil, spoken(err)
		}
		if !ok {
			return nil, nil
		}
	}
	out, err := s.attempts(call)
	if err != nil && s.step.Continue && call.Frame.Context.Err() == nil && !unfinished(err) {
		f := failureOf(err)
		return map[string]any{"error": f.values("")}, nil
	}
	return out, err
}

// attempts asks the backend until its answer is final.
func (s *stage) attempts(call *adapters.Call) (any, error) {
	r := s.step.Repeat
	if r == nil {
		return s.attempt(call)
	}
	key := call.Key
	defer func() { call.Key = key }()
	for n := 1; ; n++ {
		if n > 1 && key != "" {
			call.Key = derived(key, n)
		}
		out, err := s.attempt(call)
		if err != nil {
			return nil, err
		}
		done, err := s.final(call.Frame, out)
		if err != nil || done {
			return out, err
		}
		if n >= r.Max && r.Max > 0 {
			return nil, &adapters.Fault{Message: fmt.Sprintf("after asking %d times the answer is still not the one that was waited for", n)}
		}
		wait := time.NewTimer(r.Every)
		select {
		case <-wait.C:
		case <-call.Frame.Context.Done():
			wait.Stop()
			return nil, call.Frame.Context.Err()
		}
	}
}

// attempt asks the backend once, and then what is expected of the answer, unless the backend has asked already because it could still undo
// what it did.
func (s *stage) attempt(call *adapters.Call) (any, error) {
	if len(s.step.Expects) == 0 {
		call.Accept = acceptAll
		r, err := s.guard.Do(call.Frame.Context, s.action, call)
		return r.Value, err
	}
	asked := false
	accept := func(output any) error {
		asked = true
		return s.accept(call.Frame, output)
	}
	call.Accept = accept
	r, err := s.guard.Do(call.Frame.Context, s.action, call)
	if err == nil && !asked {
		err = accept(r.Value)
	}
	return r.Value, err
}

func acceptAll(any) error { return nil }

// final reports whether the answer is one that repeat waits for.
func (s *stage) final(f *hcl.Frame, output any) (bool, error) {
	if s.step.Repeat == nil {
		return true, nil
	}
	ok, err := s.step.Repeat.Until.Eval(f, output)
	if err != nil {
		return false, spoken(err)
	}
	return ok, nil
}

// accept asks the expect blocks about an answer that is final.
func (s *stage) accept(f *hcl.Frame, output any) error {
	if ok, err := s.final(f, output); err != nil || !ok {
		return err
	}
	for _, e := range s.step.Expects {
		ok, err := e.That.Eval(f, output)
		if err != nil {
			return spoken(err)
		}
		if !ok {
			told := *f
			told.Output = output
			return &adapters.Fault{Message: message(e.Message, &told)}
		}
	}
	return nil
}
