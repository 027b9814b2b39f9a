// Package exprlang turns the source of an expr program, the text of an attribute that decides or shapes, into a checked Program that runs
// under budgets. Compile is the entry point.
//
// The grammar is that of expr, read by its own parser. Types and execution are ours, because a program works on the value model of
// a call: exact numbers, values that are decoded when something looks inside, null that is tracked at load, and budgets of time, steps, memory and
// result size that hold inside every loop and function. A Program never changes what it reads and cannot outlive its context by more than one bounded operation.
package exprlang

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Env is what a program can see.
type Env struct {
	Roots   map[string]*schema.Type
	NonNull *eval.NonNull    // what is certainly not null where the program stands
	Now     func() time.Time // the clock of timestamp(); nil refuses it at the call
	Limits  Limits
}

// Limits bound one run. A zero field stands for its default.
type Limits struct {
	Steps  int // rounds of loops and calls of functions; 10 million
	Memory int // bytes that the run may produce, kept or not; 64 MiB
	Result int // bytes of the result as JSON; 16 MiB
}

func (l Limits) withDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = 10_000_000
	}
	if l.Memory == 0 {
		l.Memory = functions.DefaultMemory
	}
	if l.Result == 0 {
		l.Result = 16 << 20
	}
	return l
}

// Want is what a program must give.
type Want int

const (
	WantAny  Want = iota // any value
	WantBool             // true or false, never null
)

// A Program is a compiled source. It is immutable and safe for concurrent use.
type Program struct {
	src              string
	run              evalFunc
	want             Want
	typ              *schema.Type
	reads            [][]string
	nonNullWhenTrue  [][]string
	nonNullWhenFalse [][]string
	vars             int
	env              Env
	patterns         functions.Patterns
	frames           sync.Pool
}

// Compile checks a source against its environment. The program is nil when a problem is more than a warning.
func Compile(src string, env Env, want Want) (*Program, []Problem) {
	env.Limits = env.Limits.withDefaults()
	tree, problem := parse(src)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	c := compiler{nonNull: env.NonNull, src: tree.source, place: tree.place, brackets: tree.brackets, env: env, spans: map[ast.Node]span{}}
	t := c.compile(tree.root)
	c.checkResult(tree.root, t, want)
	sort.SliceStable(c.problems, func(i, j int) bool { return c.problems[i].Offset < c.problems[j].Offset })
	for _, p := range c.problems {
		if !p.Warning {
			return nil, c.problems
		}
	}
	p := &Program{src: src, run: t.eval, want: want, typ: t.typ, reads: dropCovered(c.reads), nonNullWhenTrue: c.rootPaths(t.whenTrue), nonNullWhenFalse: c.rootPaths(t.whenFalse), vars: c.vars, env: env}
	p.frames.New = func() any { return &frame{vars: make([]any, p.vars)} }
	return p, c.problems
}

// Source returns the text that was compiled.
func (p *Program) Source() string { return p.src }

// Reads returns the traversals that the program names, sorted; one stands for everything below it.
func (p *Program) Reads() [][]string { return p.reads }

// NonNullWhenTrue returns the traversals that are certainly not null when the program gives true, sorted.
func (p *Program) NonNullWhenTrue() [][]string { return p.nonNullWhenTrue }

// NonNullWhenFalse returns the traversals that are certainly not null when the program gives false, sorted: what went on past a step that ends a call.
func (p *Program) NonNullWhenFalse() [][]string { return p.nonNullWhenFalse }

// Run computes the program over the roots of one call, which it does not change. An error is a *Fault.
// The result is a value of the model and may hold a Deferred that nothing looked into.
func (p *Program) Run(ctx context.Context, roots map[string]any) (out any, err error) {
	f := p.frames.Get().(*frame)
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, &EvalError{Message: "the program failed unexpectedly", Length: len(p.src), Cause: fmt.Errorf("panic: %v", r)}
			return // the frame is in an unknown state
		}
		f.clear()
		p.frames.Put(f)
	}()
	f.start(p, ctx, roots)
	if err := f.checkContext(); err != nil {
		return nil, err
	}
	if out, err = p.run(f); err != nil {
		return nil, p.evalError(err)
	}
	return p.checkLimits(out)
}

func (p *Program) evalError(err error) error {
	if f, ok := err.(*EvalError); ok {
		return f
	}
	return &EvalError{Message: errorSentence(err), Length: len(p.src)}
}

func (p *Program) checkLimits(out any) (any, error) {
	switch v := out.(type) {
	case bool:
		return v, nil
	case []any, map[string]any:
		if _, err := functions.Size(v, p.env.Limits.Result); err != nil {
			return nil, &EvalError{Message: errorSentence(err), Length: len(p.src)}
		}
	case string:
		if len(v) > p.env.Limits.Result {
			return nil, &EvalError{Message: errorSentence(functions.ErrMemory), Length: len(p.src)}
		}
	case value.Deferred:
		if p.want == WantBool {
			inner, err := v.Value()
			if b, ok := inner.(bool); ok && err == nil {
				return b, nil
			}
			out = inner
		}
	}
	if p.want == WantBool {
		return nil, &EvalError{Message: "must give true or false, got " + value.Kind(out), Length: len(p.src)}
	}
	return out, nil
}

// dropCovered sorts paths and drops those that an earlier, shorter one covers.
func dropCovered(paths [][]string) [][]string {
	sortPaths(paths)
	out := [][]string{}
	for _, p := range paths {
		if n := len(out); n > 0 && hasPrefix(p, out[n-1]) {
			continue
		}
		out = append(out, p)
	}
	return out
}

func sortPaths(paths [][]string) {
	sort.Slice(paths, func(i, j int) bool { return pathKey(paths[i]) < pathKey(paths[j]) })
}

func hasPrefix(path, prefix []string) bool {
	if len(path) < len(prefix) {
		return false
	}
	for i := range prefix {
		if path[i] != prefix[i] {
			return false
		}
	}
	return true
}

// appendFingerprint appends a text that environments share which a program cannot tell apart. Their clocks and limits are the same.
func (e Env) appendFingerprint(dst []byte) []byte {
	for _, name := range slices.Sorted(maps.Keys(e.Roots)) {
		dst = append(append(dst, name...), ':')
		dst = appendFingerprint(dst, e.Roots[name])
	}
	return e.NonNull.AppendFingerprint(append(dst, '\n'))
}
