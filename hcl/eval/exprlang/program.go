// Package exprlang compiles the source of an expr program, the text of an argument that decides or
// transforms, into a checked [Program] that runs within limits. [Compile] is the entry point.
//
// The grammar is that of expr, read by its own parser. Types and execution are implemented here,
// because a program works on the values of a call: exact numbers, JSON that is decoded when it is
// read, null that is tracked at load, and limits on time, steps, memory and the size of the result
// that hold in every loop and function. A Program never changes what it reads, and ends at most one
// bounded operation after its context.
package exprlang

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Env is what a program can read.
type Env struct {
	Roots   map[string]*schema.Type
	NonNull *eval.NonNull    // what is certainly not null where the program stands
	Now     func() time.Time // the clock of timestamp(); nil makes it fail
	Limits  Limits
}

// Limits bound one run. A zero field stands for its default.
type Limits struct {
	Steps  int // rounds of loops and calls of functions; 10 million
	Memory int // bytes that the run may allocate, kept or not; 64 MiB
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

// Program is a compiled source. It is immutable and safe for concurrent use.
type Program struct {
	src              string
	run              evalFunc
	want             Want
	reads            [][]string
	nonNullWhenTrue  [][]string
	nonNullWhenFalse [][]string
	env              Env
	patterns         functions.Patterns
	frames           sync.Pool
}

// Compile checks a source against its environment. The program is nil if a problem is not a
// warning.
func Compile(src string, env Env, want Want) (*Program, []Problem) {
	env.Limits = env.Limits.withDefaults()
	tree, problem := parse(src)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	c := compiler{
		src: tree.source, locate: tree.locate, brackets: tree.brackets,
		env: env, nonNull: env.NonNull, spans: map[ast.Node]span{},
	}
	t := c.compile(tree.root)
	c.checkResult(tree.root, t, want)
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Offset - b.Offset })
	if slices.ContainsFunc(c.problems, func(p Problem) bool { return !p.Warning }) {
		return nil, c.problems
	}
	p := &Program{
		src: src, run: t.Eval, want: want, env: env, reads: dropCovered(c.reads),
		nonNullWhenTrue: c.rootPaths(t.whenTrue), nonNullWhenFalse: c.rootPaths(t.whenFalse),
	}
	vars := c.vars
	p.frames.New = func() any { return &frame{vars: make([]any, vars)} }
	return p, c.problems
}

// Source returns the text that was compiled.
func (p *Program) Source() string { return p.src }

// Reads returns the traversals that the program reads, sorted. One stands for everything below it.
func (p *Program) Reads() [][]string { return p.reads }

// NonNullWhenTrue returns the traversals that are certainly not null if the program gives true,
// sorted.
func (p *Program) NonNullWhenTrue() [][]string { return p.nonNullWhenTrue }

// NonNullWhenFalse returns the traversals that are certainly not null if the program gives false,
// sorted.
func (p *Program) NonNullWhenFalse() [][]string { return p.nonNullWhenFalse }

// Run computes the program from the roots of one call, which it does not change. Its error is an
// *EvalError. The result may hold a value.Deferred that the program has not decoded.
func (p *Program) Run(ctx context.Context, roots map[string]any) (out any, err error) {
	f := p.frames.Get().(*frame)
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, p.evalError("the program failed unexpectedly", fmt.Errorf("panic: %v", r))
			return // the frame is in an unknown state
		}
		f.clear()
		p.frames.Put(f)
	}()
	f.start(ctx, p, roots)
	if err := f.checkContext(); err != nil {
		return nil, err
	}
	if out, err = p.run(f); err != nil {
		if placed, ok := err.(*EvalError); ok {
			return nil, placed
		}
		return nil, p.evalError(errorSentence(err), nil)
	}
	return p.checkOutput(out)
}

// evalError is an error of the whole program.
func (p *Program) evalError(message string, cause error) error {
	return &EvalError{Message: message, Length: len(p.src), Cause: cause}
}

// checkOutput enforces the limit of the result, and that a condition gives true or false.
func (p *Program) checkOutput(out any) (any, error) {
	switch v := out.(type) {
	case bool:
		return v, nil
	case []any, map[string]any:
		if _, err := functions.Size(v, p.env.Limits.Result); err != nil {
			return nil, p.evalError(errorSentence(err), nil)
		}
	case string:
		if len(v) > p.env.Limits.Result {
			return nil, p.evalError(errorSentence(functions.ErrMemory), nil)
		}
	}
	if p.want != WantBool {
		return out, nil
	}
	decoded, err := eval.Resolve(out)
	if b, ok := decoded.(bool); ok && err == nil {
		return b, nil
	}
	return nil, p.evalError("must give true or false, got "+value.Kind(decoded), nil)
}

// appendFingerprint appends a text that environments share which a program cannot tell apart. Their
// clocks and limits are the same.
func (e Env) appendFingerprint(dst []byte) []byte {
	for _, name := range slices.Sorted(maps.Keys(e.Roots)) {
		dst = append(append(dst, name...), ':')
		dst = appendFingerprint(dst, e.Roots[name])
	}
	return e.NonNull.AppendFingerprint(append(dst, '\n'))
}
