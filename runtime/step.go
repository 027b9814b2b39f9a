package runtime

import (
	"fmt"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/failure"
)

// boundStep is one step of a program, bound to its backend.
type boundStep struct {
	decl   *hcl.Step
	action adapters.Action
	guard  *adapters.Guard // of its connection; nil for none
}

// run runs the step and puts what it gave where the following ones read it.
func (s *boundStep) run(c *call) error {
	out, err := any(nil), error(nil)
	if c.action.Key != "" && s.decl.Name != "" {
		key := c.action.Key
		c.action.Key = deriveKey(key, s.decl.Name)
		defer func() { c.action.Key = key }()
	}
	if s.decl.Each != nil {
		out, err = s.runEach(c)
	} else {
		out, err = s.runOnce(&c.action)
	}
	if err != nil {
		return err
	}
	if s.decl.Name == "" {
		c.frame.Output = out
		return nil
	}
	c.frame.Output = nil
	c.frame.Steps[s.decl.Name] = out
	return nil
}

// runOnce runs the step for the element in hand, or for none. A step that is skipped gives null.
func (s *boundStep) runOnce(call *adapters.Call) (any, error) {
	if s.decl.When != nil {
		ok, err := s.decl.When.Eval(call.Frame, nil)
		if err != nil {
			return nil, failure.AsFault(err)
		}
		if !ok {
			return nil, nil
		}
	}
	out, err := s.repeat(call)
	if err != nil && s.decl.ContinueOnError && call.Frame.Context.Err() == nil && !continuesLater(err) {
		f := failure.Of(err)
		return map[string]any{"error": f.ErrorRoot("")}, nil
	}
	return out, err
}

// repeat asks the backend until its answer is final.
func (s *boundStep) repeat(call *adapters.Call) (any, error) {
	r := s.decl.Repeat
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
			return nil, &adapters.Fault{Message: fmt.Sprintf("after asking %d times the answer is still not the one that was waited for", n)}
		}
		if err := ctxtime.Sleep(call.Frame.Context, r.Every); err != nil {
			return nil, err
		}
	}
}

// do asks the backend once, and then what is expected of the answer, unless the backend has asked already because it could still undo
// what it did.
func (s *boundStep) do(call *adapters.Call) (any, error) {
	if len(s.decl.Expects) == 0 {
		call.Accept = acceptAll
		r, err := s.guard.Do(call.Frame.Context, s.action, call)
		return r.Value, err
	}
	asked := false
	accept := func(output any) error {
		asked = true
		return s.checkExpectations(call.Frame, output)
	}
	call.Accept = accept
	r, err := s.guard.Do(call.Frame.Context, s.action, call)
	if err == nil && !asked {
		err = accept(r.Value)
	}
	return r.Value, err
}

func acceptAll(any) error { return nil }

// isFinal reports whether the answer is one that repeat waits for.
func (s *boundStep) isFinal(f *hcl.Frame, output any) (bool, error) {
	if s.decl.Repeat == nil {
		return true, nil
	}
	ok, err := s.decl.Repeat.Until.Eval(f, output)
	if err != nil {
		return false, failure.AsFault(err)
	}
	return ok, nil
}

// checkExpectations asks the expect blocks about an answer that is final.
func (s *boundStep) checkExpectations(f *hcl.Frame, output any) error {
	if ok, err := s.isFinal(f, output); err != nil || !ok {
		return err
	}
	for _, e := range s.decl.Expects {
		ok, err := e.That.Eval(f, output)
		if err != nil {
			return failure.AsFault(err)
		}
		if !ok {
			told := *f
			told.Output = output
			return &adapters.Fault{Message: failure.Render(e.Message, &told)}
		}
	}
	return nil
}
