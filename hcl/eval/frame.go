package eval

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"hatchel/hcl/diag"
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
	Page    map[string]any // limit and after, of a tool that answers in pages; nil for another one
	Output  any            // of the current backend
	Steps   map[string]any // results by name, of the steps that have run; that of a skipped step is nil
	Each    *Each          // the current element of each
	Caller  Caller         // nil where expressions read nobody
	Lifted  []*Mask        // the masks that do not apply to the caller
	Detect  *Detector      // of what is sent to the caller; nil for none
	Raw     map[string]any // the outputs that unmasked reads, by step; nil where nothing is sent, as in a plan
	// Revealed receives what unmasked gives to backends and the caller may not see; nil for nothing.
	Revealed *Revealed
	// the called tool, prompt or resource while rules are evaluated: kind, name, title, read_only,
	// destructive, idempotent, open_world
	Tool  map[string]any
	Event map[string]any // that a hook is about, while it decides
	// the folder of the staged files of the call, or empty; nil when the call has no files
	StagedDir func() string
	Resolved  *[]string      // the paths that under has resolved; nil: they are not recorded
	Failure   map[string]any // of a failed call: message, status, code, step

	Functions functions.Context
	Lenient   bool // a missing member reads as null
	NoCall    bool // there is no call yet: to read its arguments fails with ErrNoCall
	// Explain receives where and with which values a program has failed; nil unless a person traces the call.
	Explain func(at diag.Range, text string)
	// Branch receives the place and the value of every condition; nil outside of tests.
	Branch func(at diag.Range, holds bool)
	// Masked receives what callers see in place of each masked value that is not null; nil outside of tests.
	Masked   func(given any)
	locals   *callLocals
	*Scratch // nil until it is needed
}

// Caller is who makes a call.
type Caller interface {
	// Members returns what expressions read as `caller`: subject, groups, claims, scopes, headers, client and
	// capabilities. It must not be changed. Members may be called concurrently.
	Members() map[string]any
}

// CallerMembers are the members of a caller that are known already.
type CallerMembers map[string]any

// Members implements Caller.
func (m CallerMembers) Members() map[string]any { return m }

// ReadCaller returns the members of the caller; nil for nobody.
func (f *Frame) ReadCaller() map[string]any {
	if f.Caller == nil {
		return nil
	}
	return f.Caller.Members()
}

// Scratch is the working memory of expressions and programs.
type Scratch struct {
	Vars      []any  // variables of loops and of let, by slot
	Loops     []Loop // rounds of the predicates of a program, innermost last
	args      []any  // arguments of the functions that are being called, innermost last
	call      *Frame // of the running program; nil if none runs
	steps     int    // that the program has spent
	maxSteps  int
	nextCheck int // the context is checked when as many steps were spent
}

// Loop is one round of a predicate.
type Loop struct {
	Item, Acc any
	Index     int
}

// Each is the element of a step's each: Key is the index in a list or the key in a map. Raw is the Value without masks,
// if unmasked reads it.
type Each struct{ Key, Value, Raw any }

type callLocals struct {
	mu     sync.Mutex
	values map[string]localValue // guarded by mu
}

type localValue struct {
	value    any
	err      error
	resolved []string // the paths that under has resolved for it
}

// NewFrame returns the Frame of a new call. Base is the absolute configuration directory; now is
// the clock of time functions.
func NewFrame(ctx context.Context, base string, now func() time.Time) *Frame {
	f := NewLoadFrame(base, now)
	f.Context = ctx
	return f
}

// NewLoadFrame returns a Frame for what is evaluated while a configuration is loaded, which nothing cancels.
func NewLoadFrame(base string, now func() time.Time) *Frame {
	return &Frame{
		Base:      base,
		Steps:     map[string]any{},
		Functions: functions.Context{Now: now, Memory: functions.DefaultMemory},
		locals:    &callLocals{},
	}
}

// Fork returns a Frame with the same values for another goroutine, whose context is ctx.
func (f *Frame) Fork(ctx context.Context) *Frame {
	g := *f
	g.Context, g.Resolved = ctx, nil
	if f.Scratch != nil {
		g.Scratch = &Scratch{Vars: slices.Clone(f.Vars)}
	}
	return &g
}

// Start makes f the frame of a program that reads the values of call within its own limits. Output
// is the value of the root output.
func (f *Frame) Start(call *Frame, output any, maxSteps, memory int, patterns *functions.Patterns) {
	scratch := f.Scratch
	*f = *call
	f.Output, f.Scratch = output, scratch
	f.call, f.steps, f.maxSteps, f.nextCheck = call, 0, maxSteps, checkEvery
	f.Functions.Memory, f.Functions.Patterns = memory, patterns
}

// Clear drops every reference to values of the call before the frame of a program is pooled.
func (f *Frame) Clear() {
	clear(f.Vars)
	clear(f.Loops[:cap(f.Loops)])
	clear(f.args[:cap(f.args)])
	*f.Scratch = Scratch{Vars: f.Vars, Loops: f.Loops[:0], args: f.args[:0]}
	*f = Frame{Scratch: f.Scratch}
}

// Local returns a local of the call. It is computed when it is first read, with the budget of the
// call and loop variables of its own.
func (f *Frame) Local(name string, eval Func) (any, error) {
	if f.Scratch != nil && f.call != nil {
		return f.call.Local(name, eval)
	}
	f.locals.mu.Lock()
	known, ok := f.locals.values[name]
	f.locals.mu.Unlock()
	if f.Resolved == nil {
		f.Resolved = new([]string)
	}
	if ok {
		*f.Resolved = append(*f.Resolved, known.resolved...)
		return known.value, known.err
	}
	around, before := f.Scratch, len(*f.Resolved)
	f.Scratch = nil
	v, err := eval(f)
	f.Scratch = around
	f.locals.mu.Lock()
	defer f.locals.mu.Unlock()
	if known, ok := f.locals.values[name]; ok {
		return known.value, known.err // another goroutine has computed it meanwhile
	}
	if f.locals.values == nil {
		f.locals.values = map[string]localValue{}
	}
	f.locals.values[name] = localValue{v, err, slices.Clone((*f.Resolved)[before:])}
	return v, err
}

// ComputedLocals returns the locals that were computed so far, without those that failed. Those with a path of under
// are left out, too: what is there now counts when the call goes on.
func (f *Frame) ComputedLocals() map[string]any {
	f.locals.mu.Lock()
	defer f.locals.mu.Unlock()
	out := make(map[string]any, len(f.locals.values))
	for name, known := range f.locals.values {
		if known.err == nil && len(known.resolved) == 0 {
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
	if f.Scratch == nil {
		f.Scratch = new(Scratch)
	}
	for len(f.Vars) <= slot {
		f.Vars = append(f.Vars, nil)
	}
	f.Vars[slot] = v
}

// checkEvery is how many steps are done between two checks of the context.
const checkEvery = 2048

// ErrStepNotRun is the error of reading a step that has not run, which only a plan does.
var ErrStepNotRun = errors.New("the step has not run")

// ErrNoCall is the error of reading the arguments of a call while there is none, see Frame.NoCall.
var ErrNoCall = errors.New("there is no call yet")

// IsUnknown reports whether a value is not known yet, which is no failure that an expression can recover from.
func IsUnknown(err error) bool { return errors.Is(err, ErrStepNotRun) || errors.Is(err, ErrNoCall) }

var errSteps = errors.New("the program needs too many steps; filter or page the data first")

// SpendSteps accounts for n steps. Its error says that the limit is exceeded, or that the call has
// ended.
func (f *Frame) SpendSteps(n int) error {
	f.steps += n
	if f.steps < f.nextCheck {
		return nil
	}
	f.nextCheck = f.steps + checkEvery
	if f.steps > f.maxSteps {
		return errSteps
	}
	return f.CheckContext()
}

// Error is a sentence for the model or the person who made the call, with a cause that the sentence
// does not quote.
type Error struct {
	Message string
	Cause   error
	At      diag.Range // of the program that has failed; zero for none
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// CheckContext fails if the call has ended.
func (f *Frame) CheckContext() error {
	if f.Context == nil || f.Context.Err() == nil {
		return nil
	}
	return &Error{Message: "the time of the call is over", Cause: context.Cause(f.Context)}
}

// Budget returns the budgets of functions, which end with the call.
func (f *Frame) Budget() *functions.Context {
	f.Functions.Call = f.Context
	return &f.Functions
}

// SpendDigits accounts for an operation on two numbers, whose digits take time.
func (f *Frame) SpendDigits(a, b any) error {
	switch n := value.Elements(a) + value.Elements(b); {
	case f.Scratch == nil || f.call == nil:
		return f.Budget().Step(n)
	case n > 2:
		return f.SpendSteps(n)
	}
	return nil
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

// chargeProgram charges a program for n bytes that it allocates. Expressions of HCL are charged by
// their loops.
func (f *Frame) chargeProgram(n int) error {
	if f.Scratch == nil || f.call == nil {
		return nil
	}
	return f.Functions.Spend(n)
}

// SpendBytes charges for writing v as text: a loop can write one large value any number of times.
func (f *Frame) SpendBytes(v any) error {
	switch v := v.(type) {
	case nil, bool, int, float64:
		return nil // the iteration has paid for it
	case string:
		return f.Functions.Spend(len(v))
	}
	n, err := f.Budget().Size(v, f.Functions.Memory)
	if err != nil {
		n = -1 // spends the rest of the budget
	}
	if spent := f.Functions.Spend(n); err == nil {
		err = spent
	}
	return err
}

// fileArgument returns an uploaded file as argument i of fn: its bytes, which are charged for, or
// the file itself.
func (f *Frame) fileArgument(fn *functions.Function, i int, file value.File) (any, error) {
	p, _ := fn.Param(i)
	if p.Kind != functions.Bytes && !p.OrBytes {
		return file, nil
	}
	if err := f.Functions.Spend(int(file.Info().Size)); err != nil {
		return nil, err
	}
	return value.ResolveContent(file)
}
