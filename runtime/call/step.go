package call

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// Step is one step of an operation, bound to its backend.
type Step struct {
	Decl       *hcl.Step
	Action     adapters.Action
	guards     adapters.ConnectionGuards // of its connection; nil for none
	meter      *metrics.Backend          // nil where nothing is measured
	block      string                    // names the backend in a message
	operation  *Operation
	name       string // names the step in what a failed call says
	nestedName string // is name in the call of another tool
	writes     bool   // the backend may change something
	asker      bool   // the backend may ask the client
	connection string // its kind and name, as in http.shop; empty for none
	spanName   string // of a named step in a call that is traced
}

// Versioned returns the action of a step that can tell of changes without being run.
func (s *Step) Versioned() (adapters.Versioner, bool) {
	if s.Decl.Each != nil {
		return nil, false
	}
	action, ok := s.Action.(adapters.Versioner)
	return action, ok
}

// asks reports whether the step asks the client.
func (s *Step) asks() bool {
	_, ok := s.Action.(*elicit.AskGroup)
	return ok
}

// stepEnd is what a step came to.
type stepEnd struct {
	output   any
	ran      bool              // the step was not skipped
	failures adapters.Failures // after which the call went on
	err      error
	elements []elementEnd // of a step with each, those that were not run as well
}

// elementEnd is what a step came to for one element.
type elementEnd struct {
	key      any
	began    time.Time // zero for an element that was not run
	took     time.Duration
	skipped  bool
	failures adapters.Failures // after which the call went on
	err      error
	raw      any // the output without masks, of a step that keeps it
}

// run runs the step and sets its output in the frame, for the steps that follow.
func (s *Step) run(call *adapters.Call) (end stepEnd) {
	if s.Decl.Streams {
		return stepEnd{output: s.publishStream(call), ran: true}
	}
	if call.Key != "" && s.Decl.Name != "" {
		key := call.Key
		call.Key = deriveKey(key, s.Decl.Name)
		defer func() { call.Key = key }()
	}
	before := call.Failures
	call.Failures, call.Raw = adapters.Failures{}, nil
	if s.Decl.Each != nil {
		end.ran = true
		end.output, end.elements, end.err = s.runEach(call)
	} else {
		end.output, end.ran, end.err = s.runOnce(call)
	}
	if call.Failures.Failed > 0 {
		call.Failures.Step = s.Decl.Name
	}
	end.failures = call.Failures
	before.Add(call.Failures)
	call.Failures = before
	switch {
	case end.err != nil:
	case s.Decl.Name == "":
		call.Frame.Output = end.output
	default:
		call.Frame.Output = nil
		call.Frame.Steps[s.Decl.Name] = end.output
		s.keepRaw(call.Frame, call.Raw)
	}
	return end
}

// runOnce runs the step for the current element, or for none, unless it is skipped. The output of a skipped step is
// null.
func (s *Step) runOnce(call *adapters.Call) (out any, ran bool, err error) {
	if s.Decl.When != nil && !resumesIn(call) {
		ok, err := s.Decl.When.Eval(call.Frame, nil)
		if err != nil {
			return nil, false, failure.AsFault(err)
		}
		if !ok {
			s.traceSkipped(call)
			return nil, false, nil
		}
	}
	if s.Decl.ContinueOnError {
		out, err = s.runContinued(call)
	} else {
		out, err = s.repeatInSpan(call)
	}
	return out, true, err
}

// runContinued runs a step whose failure does not end the call. The message of the failure says what the step has done,
// and never that nothing was done: of the rest of the call it knows nothing.
func (s *Step) runContinued(call *adapters.Call) (out any, err error) {
	changes := &adapters.Changes{}
	if whole := call.Changes; whole != nil {
		changes.Tool, call.Changes = whole.Tool, changes
		defer func() {
			whole.Merge(changes)
			call.Changes = whole
		}()
	}
	before := call.Failures
	out, err = s.repeatInSpan(call)
	if call.Frame.Branch != nil {
		call.Frame.Branch(s.Decl.Range, err != nil)
	}
	switch {
	case err == nil:
		call.Failures.Of++
		return out, nil
	case call.Frame.Context.Err() != nil || interimOutcome(err) != "":
		return out, err
	}
	f := failure.Of(err)
	f.Message = adapters.JoinFailure(f.Message, doneClause(changes.Parts()), "")
	call.Failures = before // a tool that it calls has failed as a whole
	call.Failures.Add(adapters.Failures{
		Failed: 1, Of: 1, Cause: f.Cause,
		Error: s.operation.Env.relativePaths(strings.TrimSpace(s.operation.failureText(call.Frame, f, s.Decl.Name))),
	})
	return map[string]any{"error": f.ErrorRoot("")}, nil
}

// repeatInSpan is repeat in a span of the step, if the call is traced.
func (s *Step) repeatInSpan(call *adapters.Call) (out any, err error) {
	if !call.Span.IsRecorded() {
		return s.repeat(call)
	}
	outer := s.startSpan(call)
	defer func() { s.endSpan(call, outer, err) }()
	return s.repeat(call)
}

// repeat calls the backend until its output is the one that the repeat block waits for.
func (s *Step) repeat(call *adapters.Call) (any, error) {
	r := s.Decl.Repeat
	if r == nil {
		return s.doTraced(call)
	}
	key, failures := call.Key, call.Failures
	defer func() { call.Key = key }()
	for n := 1; ; n++ {
		call.Failures = failures // of the last attempt alone
		if n > 1 && key != "" {
			call.Key = deriveKey(key, n)
		}
		out, err := s.doTraced(call)
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

// do calls the backend once.
func (s *Step) do(call *adapters.Call) (any, error) {
	if s.meter != nil {
		return s.doMeasured(call)
	}
	return s.doRecorded(call)
}

// doChecked calls the backend once and checks the expectations of its output, unless the backend has done
// so itself because it could still undo its work. It returns what the backend has changed.
func (s *Step) doChecked(call *adapters.Call) (output any, change adapters.Change, err error) {
	call.Block, call.Whole, call.Delivered, call.Cut = s.block, s.Decl.Backend.Whole, s.Decl.Backend.Delivered, nil
	s.maskPages(call)
	if len(s.Decl.Expects) == 0 {
		call.CheckOutput = acceptAll
		if output, err = s.doGuarded(call); err == nil {
			output, err = s.mask(call, output)
		}
		return output, changeAfter(err), s.maskFailure(call.Frame, err)
	}
	checked, refused, masked := false, false, any(nil)
	accept := func(output any) (err error) {
		if masked, err = s.mask(call, output); err == nil {
			err = s.checkExpectations(call.Frame, masked)
		}
		checked, refused = true, err != nil
		return err
	}
	call.CheckOutput = accept
	output, err = s.doGuarded(call)
	if change = changeAfter(err); refused && change == adapters.ChangeAnswered {
		change = adapters.ChangeUndone
	}
	if err == nil && !checked {
		if err = accept(output); err != nil { // in the author's words, who knows what the output means
			change = adapters.ChangeAnswered
		}
	}
	return masked, change, s.maskFailure(call.Frame, err)
}

// doGuarded calls the backend within the limits of its connection. A call that is open there continues without them.
func (s *Step) doGuarded(call *adapters.Call) (any, error) {
	if s.Decl.Backend.Effects.Upstream != "" {
		client := call.Client
		call.Client = &redactedClient{client, result.NewRedactor(s.operation.Env.Scrubber, call.Frame.Detect)}
		defer func() { call.Client = client }()
	}
	asker, ok := call.Asker.(*stepAsker)
	if !ok {
		return s.guards.Do(call.Frame.Context, s.Action, call)
	}
	action := askingAction{asker}
	if (*asker.asking).isOpen() {
		return action.Do(call.Frame.Context, call)
	}
	return s.guards.Do(call.Frame.Context, action, call)
}

// changeAfter returns what a backend has changed that has returned an error, or none.
func changeAfter(err error) adapters.Change {
	if err == nil {
		return adapters.ChangeDone
	}
	return adapters.ChangeOf(err)
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

// runEach runs the step for every element of a list or an object, and returns the outputs in the
// same form. The first failure stops the others.
func (s *Step) runEach(call *adapters.Call) (any, []elementEnd, error) {
	elements, named, err := s.elements(call.Frame)
	if err == nil {
		err = s.revealElements(call.Frame, elements)
	}
	if err != nil {
		return nil, nil, err
	}
	list, ends, err := s.runElements(call, elements)
	if err != nil || !named {
		return list, ends, err
	}
	call.Raw = byName(elements, call.Raw)
	return byName(elements, list), ends, nil
}

// byName returns the outputs of the elements of an object by their names; nil for none.
func byName(elements []hcl.Each, outputs any) any {
	list, ok := outputs.([]any)
	if !ok {
		return nil
	}
	out := make(map[string]any, len(list))
	for i, e := range elements {
		out[e.Key.(string)] = list[i]
	}
	return out
}

// elements returns the elements of each with their names, and whether they are those of an object.
func (s *Step) elements(f *hcl.Frame) (elements []hcl.Each, named bool, err error) {
	elements, named, err = result.EvalElements(s.Decl.Each, f)
	if err != nil || s.Decl.Key == nil || len(elements) == 0 {
		return elements, named, err
	}
	fault := func(format string, args ...any) ([]hcl.Each, bool, error) {
		return nil, false, &adapters.Fault{Message: fmt.Sprintf("the key of the step %q ", s.Decl.Name) +
			fmt.Sprintf(format, args...)}
	}
	if named {
		return fault("names the elements of a list, and each is an object, whose elements have names")
	}
	defer func() { f.Each = nil }()
	keys, seen := make([]string, len(elements)), make(map[string]int, len(elements))
	for i := range elements {
		f.Each = &elements[i]
		v, err := result.EvalResolved(s.Decl.Key, f)
		if err != nil {
			return nil, false, failure.AsFault(err)
		}
		switch value.Kind(v) {
		case "string", "number":
		default:
			const text = "must be a string or a number, and is a %s for the element with the index %d"
			return fault(text, value.Kind(v), i)
		}
		if keys[i], err = value.Text(v); err != nil {
			return nil, false, failure.AsFault(err)
		}
		if first, twice := seen[keys[i]]; twice {
			return fault("is %q for two elements, those with the index %d and %d: each must have a key of its own",
				keys[i], first, i)
		}
		seen[keys[i]] = i
	}
	for i, key := range keys {
		elements[i].Key = key
	}
	return elements, false, nil
}

func (s *Step) runElements(call *adapters.Call, elements []hcl.Each) ([]any, []elementEnd, error) {
	out, ends := make([]any, len(elements)), make([]elementEnd, len(elements))
	workers := min(s.Decl.Parallel, len(elements))
	var err error
	if workers > 1 {
		err = s.runParallel(call, workers, elements, out, ends)
	} else {
		err = s.runInOrder(call, elements, out, ends)
	}
	raw := make([]any, len(ends))
	for i, end := range ends {
		call.Failures.Add(end.failures)
		raw[i] = end.raw
	}
	call.Raw = raw
	return out, ends, err
}

// runInOrder fills out and ends, an element each.
func (s *Step) runInOrder(call *adapters.Call, elements []hcl.Each, out []any, ends []elementEnd) (err error) {
	key, before := call.Key, call.Failures
	defer func() { call.Frame.Each, call.Key, call.Failures = nil, key, before }()
	var weight atomic.Int64
	for i := range elements {
		if out[i], err = s.runElement(call, &elements[i], key, &weight, &ends[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxEachWeight is the maximum weight of the outputs of all elements of a step.
const maxEachWeight = 128 << 20

// runElement runs the step for one element, and adds the weight of its output to that of the others. The output, unless
// it is skipped, and the failure name the element, as do the failures after which the call goes on.
func (s *Step) runElement(
	call *adapters.Call, e *hcl.Each, key string, weight *atomic.Int64, end *elementEnd,
) (any, error) {
	call.Frame.Each, call.Key, call.Failures, call.Raw = e, deriveKey(key, e.Key), adapters.Failures{}, nil
	end.key, end.began = e.Key, time.Now()
	out, ran, err := s.runOnce(call)
	end.took, end.skipped, end.failures, end.err = time.Since(end.began), !ran, call.Failures, err
	name := fmt.Sprintf("the element with the key %#v: ", e.Key)
	if end.failures.Failed > 0 {
		end.failures.Key, end.failures.Error = fmt.Sprint(e.Key), name+end.failures.Error
	}
	end.raw = call.Raw
	for _, of := range []any{out, end.raw} {
		if m, ok := of.(map[string]any); ok && err == nil {
			m["key"] = e.Key
		}
	}
	if weight.Add(value.Weight(out)) > maxEachWeight && err == nil {
		err = &adapters.Fault{Message: fmt.Sprintf("the outputs of the step %q take more than %s of memory in all; "+
			"ask for fewer or smaller ones", s.Decl.Name, hcl.Size(maxEachWeight))}
	}
	if err == nil || interimOutcome(err) != "" {
		return out, err
	}
	var f *adapters.Fault
	if !errors.As(err, &f) {
		return nil, fmt.Errorf("%s%w", name, err)
	}
	named := *f
	named.Message = name + f.Message
	return nil, &named
}

// runParallel is runInOrder with several goroutines, all of which have ended when it returns.
func (s *Step) runParallel(
	call *adapters.Call, workers int, elements []hcl.Each, out []any, ends []elementEnd,
) error {
	ctx, cancel := context.WithCancel(call.Frame.Context)
	defer cancel()
	var taken, weight, attempts atomic.Int64
	var failed atomic.Pointer[error] // the first one
	var receivedMu sync.Mutex
	var received adapters.Received // guarded by receivedMu
	client := &lockedClient{client: call.Client}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			action := adapters.Call{
				Frame: call.Frame.Fork(ctx), Timeout: call.Timeout, Client: client, Owner: call.Owner,
				Token: call.Token, Traceparent: call.Traceparent, Tracestate: call.Tracestate,
				Trace: call.Trace, Span: call.Span, Changes: call.Changes, Hops: call.Hops,
				Upstreams: call.Upstreams,
			}
			defer func() {
				attempts.Add(int64(action.Attempts))
				receivedMu.Lock()
				defer receivedMu.Unlock()
				received.Add(action.Received)
			}()
			for failed.Load() == nil {
				i := int(taken.Add(1)) - 1
				if i >= len(out) {
					return
				}
				err := failure.Try(func() (err error) {
					out[i], err = s.runElement(&action, &elements[i], call.Key, &weight, &ends[i])
					return err
				})
				if err != nil && failed.CompareAndSwap(nil, &err) {
					cancel()
				}
			}
		})
	}
	running.Wait()
	call.Attempts += int(attempts.Load())
	call.Received.Add(received)
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
