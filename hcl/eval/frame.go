package eval

import (
	"context"
	"sync"
	"time"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

// A Frame holds the values of one call that expressions read. The runtime makes one for a call and
// fills it as the call proceeds; an expression reads it and never changes it. A Frame belongs to
// one goroutine; Fork makes one for another.
type Frame struct {
	Context context.Context
	Base    string         // the absolute folder of the configuration: what relative paths are relative to
	Input   map[string]any // validated arguments, defaults applied
	Output  any            // of the backend in hand
	Steps   map[string]any // by name; a skipped step is nil
	Each    *Each          // of the element in hand
	Caller  map[string]any // subject, groups, claims, scopes, headers, client, capabilities
	// what is called, while rules are asked about it: kind, name, title, read_only, destructive,
	// idempotent, open_world
	Tool map[string]any
	// the folder of the copies of files that the call has asked for, or empty; nil when it has no
	// files
	StagedDir func() string
	Failure   map[string]any // message, status, code, step: while the text of a failed call is made

	Functions functions.Context
	locals    *callLocals
	Vars      []any // of the for expressions around, innermost last
	Lenient   bool  // a member that is not there reads as null: for the texts of a call that has already acted
}

// Each is the element of a step's each: Key is the index in a list or the key in a map.
type Each struct{ Key, Value any }

type callLocals struct {
	mu     sync.Mutex
	values map[string]localValue // guarded by mu
}

type localValue struct {
	value any
	err   error
}

// NewFrame starts the frame of a call. Now gives the time that time functions see.
func NewFrame(ctx context.Context, base string, now func() time.Time) *Frame {
	return &Frame{
		Context:   ctx,
		Base:      base,
		Steps:     map[string]any{},
		Functions: functions.Context{Now: now, Memory: functions.DefaultMemory},
		locals:    &callLocals{},
	}
}

// Fork returns a frame that shares what is known so far and may be used by another goroutine, with
// ctx as its context.
func (f *Frame) Fork(ctx context.Context) *Frame {
	g := *f
	g.Context = ctx
	g.Vars = append([]any(nil), f.Vars...)
	return &g
}

// Local computes a local of the call unless it was computed before.
func (f *Frame) Local(name string, eval func(*Frame) (any, error)) (any, error) {
	f.locals.mu.Lock()
	known, ok := f.locals.values[name]
	f.locals.mu.Unlock()
	if ok {
		return known.value, known.err
	}
	v, err := eval(f)
	f.locals.mu.Lock()
	defer f.locals.mu.Unlock()
	if known, ok := f.locals.values[name]; ok {
		return known.value, known.err // another goroutine of the call was faster
	}
	if f.locals.values == nil {
		f.locals.values = map[string]localValue{}
	}
	f.locals.values[name] = localValue{v, err}
	return v, err
}

// ComputedLocals returns the locals of the call that were computed so far. One that could not be
// computed is not among them.
func (f *Frame) ComputedLocals() map[string]any {
	f.locals.mu.Lock()
	defer f.locals.mu.Unlock()
	out := make(map[string]any, len(f.locals.values))
	for name, known := range f.locals.values {
		if known.err == nil {
			out[name] = known.value
		}
	}
	return out
}

// RestoreLocals makes locals known that were computed when the call was under way before, so that
// they are not computed anew: a uuid() stays the same.
func (f *Frame) RestoreLocals(locals map[string]any) {
	f.locals.mu.Lock()
	defer f.locals.mu.Unlock()
	f.locals.values = make(map[string]localValue, len(locals))
	for name, v := range locals {
		f.locals.values[name] = localValue{value: v}
	}
}

// BindVar sets a loop variable. Slots are given at load, so two loops around the same expression
// never share one.
func (f *Frame) BindVar(slot int, v any) {
	for len(f.Vars) <= slot {
		f.Vars = append(f.Vars, nil)
	}
	f.Vars[slot] = v
}

const iterationCost = 64 // bytes that a round of a loop is charged, whatever it makes

// SpendIteration begins another round of a loop, unless the call is over or its budget spent.
func (f *Frame) SpendIteration() error {
	if f.Context != nil {
		if err := f.Context.Err(); err != nil {
			return err
		}
	}
	return f.Functions.Spend(iterationCost)
}

// SpendBytes takes what v is as text from the budget. Inside a loop one large value can be written
// any number of times.
func (f *Frame) SpendBytes(v any) error {
	switch v := v.(type) {
	case nil, bool, int, float64:
		return nil // the round has paid
	case string:
		return f.Functions.Spend(len(v))
	}
	n, err := functions.Size(v, f.Functions.Memory)
	if err != nil {
		n = -1 // nothing is left, so that no loop goes on
	}
	if spent := f.Functions.Spend(n); err == nil {
		err = spent
	}
	return err
}

// FileArgument is a file as a function takes it: its bytes where those are asked for, which are
// paid for as any other.
func (f *Frame) FileArgument(fn *functions.Function, i int, file value.File) (any, error) {
	p, _ := fn.Param(i)
	if p.Kind != functions.Bytes && p.Kind != functions.Data {
		return file, nil
	}
	if err := f.Functions.Spend(int(file.Facts().Size)); err != nil {
		return nil, err
	}
	return value.Raw(file)
}
