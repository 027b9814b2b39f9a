package exprlang

import (
	"context"
	"errors"

	"hatchel/hcl/functions"
)

// evalFunc computes one part of a program.
type evalFunc = func(f *frame) (any, error)

// frame is the state of one run. After an error it is not used again.
type frame struct {
	roots map[string]any
	vars  []any
	loops []loop
	args  []any // arguments of the calls that are being computed, innermost last
	ctx   context.Context
	call  functions.Context
	steps int // that are left
	check int // when steps falls below this, the context is checked
}

// loop is the current round of a predicate.
type loop struct {
	item  any
	acc   any
	index int
}

// checkEvery is how many steps are done between two checks of the context.
const checkEvery = 2048

func (f *frame) start(ctx context.Context, p *Program, roots map[string]any) {
	f.roots, f.ctx = roots, ctx
	f.steps = p.env.Limits.Steps
	f.check = f.steps - checkEvery
	f.call.Now, f.call.Memory, f.call.Patterns = p.env.Now, p.env.Limits.Memory, &p.patterns
}

// clear drops every reference to values of the call before the frame is pooled.
func (f *frame) clear() {
	f.roots, f.ctx = nil, nil
	clear(f.vars)
	clear(f.loops[:cap(f.loops)])
	clear(f.args[:cap(f.args)])
	f.loops, f.args = f.loops[:0], f.args[:0]
}

var (
	errSteps = errors.New("the program needs too many steps; filter or page the data first")
	errEnded = errors.New("the time of the call is over")
)

// spendSteps accounts for n steps. Its error says that none are left, or that the call has ended.
func (f *frame) spendSteps(n int) error {
	f.steps -= n
	if f.steps > f.check {
		return nil
	}
	f.check = f.steps - checkEvery
	if f.steps < 0 {
		return errSteps
	}
	return f.checkContext()
}

func (f *frame) checkContext() error {
	if f.ctx.Err() == nil {
		return nil
	}
	return &EvalError{Message: errEnded.Error(), Cause: context.Cause(f.ctx)}
}

// errorSentence is the text of an error for the one who made the call.
func errorSentence(err error) string {
	if errors.Is(err, functions.ErrMemory) {
		return "the result is too large; filter the data or pick fewer members"
	}
	return err.Error()
}
