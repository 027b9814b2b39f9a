package eval

import (
	"context"
	"sync"
	"time"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

// Frame holds the values of one call that expressions read. The runtime makes one for a call and
// fills it in as the call proceeds; an expression reads it and never changes it. A Frame belongs to
// one goroutine; Fork makes one for another.
type Frame struct {
	Context context.Context
	Base    string         // the absolute configuration directory
	Input   map[string]any // validated arguments with defaults
	Output  any            // of the current backend
	Steps   map[string]any // results by name; that of a skipped step is nil
	Each    *Each          // the current element of each
	Caller  map[string]any // subject, groups, claims, scopes, headers, client, capabilities
	// the called tool, prompt or resource while rules are evaluated: kind, name, title, read_only,
	// destructive, idempotent, open_world
	Tool map[string]any
	// the folder of the staged files of the call, or empty; nil when the call has no files
	StagedDir func() string
	Failure   map[string]any // of a failed call: message, status, code, step

	Functions functions.Context
	locals    *callLocals
	Vars      []any // loop variables, by slot
	Lenient   bool  // a missing member reads as null
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

// NewFrame returns the Frame of a new call. Base is the absolute configuration directory; now is
// the clock of time functions.
func NewFrame(ctx context.Context, base string, now func() time.Time) *Frame {
	return &Frame{
		Context:   ctx,
		Base:      base,
		Steps:     map[string]any{},
		Functions: functions.Context{Now: now, Memory: functions.DefaultMemory},
		locals:    &callLocals{},
	}
}

// Fork returns a Frame with the same values for another goroutine, whose context is ctx.
func (f *Frame) Fork(ctx context.Context) *Frame {
	g := *f
	g.Context = ctx
	g.Vars = append([]any(nil), f.Vars...)
	return &g
}

// Local returns a local of the call. It is computed when it is first read.
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
		return known.value, known.err // another goroutine has computed it meanwhile
	}
	if f.locals.values == nil {
		f.locals.values = map[string]localValue{}
	}
	f.locals.values[name] = localValue{v, err}
	return v, err
}

// ComputedLocals returns the locals that were computed so far, without those that failed.
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

// RestoreLocals sets the locals that were computed before the call was paused, so that they are not
// computed again: a uuid() stays the same.
func (f *Frame) RestoreLocals(locals map[string]any) {
	f.locals.mu.Lock()
	defer f.locals.mu.Unlock()
	f.locals.values = make(map[string]localValue, len(locals))
	for name, v := range locals {
		f.locals.values[name] = localValue{value: v}
	}
}

// BindVar sets a loop variable. Slots are assigned at load; nested loops never share one.
func (f *Frame) BindVar(slot int, v any) {
	for len(f.Vars) <= slot {
		f.Vars = append(f.Vars, nil)
	}
	f.Vars[slot] = v
}

const iterationCost = 64 // bytes that every iteration is charged for

// SpendIteration charges for one iteration of a loop. It fails if the context has ended or the
// budget is spent.
func (f *Frame) SpendIteration() error {
	if f.Context != nil {
		if err := f.Context.Err(); err != nil {
			return err
		}
	}
	return f.Functions.Spend(iterationCost)
}

// SpendBytes charges for writing v as text: a loop can write one large value any number of times.
func (f *Frame) SpendBytes(v any) error {
	switch v := v.(type) {
	case nil, bool, int, float64:
		return nil // the iteration has paid for it
	case string:
		return f.Functions.Spend(len(v))
	}
	n, err := functions.Size(v, f.Functions.Memory)
	if err != nil {
		n = -1 // spends the rest of the budget
	}
	if spent := f.Functions.Spend(n); err == nil {
		err = spent
	}
	return err
}

// FileArgument returns an uploaded file as argument i of fn: its bytes, which are charged for, or
// the file itself.
func (f *Frame) FileArgument(fn *functions.Function, i int, file value.File) (any, error) {
	p, _ := fn.Param(i)
	if p.Kind != functions.Bytes && !p.OrBytes {
		return file, nil
	}
	if err := f.Functions.Spend(int(file.Info().Size)); err != nil {
		return nil, err
	}
	return value.ResolveContent(file)
}
