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
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Env is what a program can read.
type Env struct {
	Roots   map[string]*eval.Root
	NonNull *eval.NonNull // what is certainly not null where the program stands
	// members of open objects are read as they are declared, which a call may not hold to; for completion
	TrustDeclared bool
	Observer      eval.Observer                 // nil for none
	Place         func(from, to int) diag.Range // of a part of the source in its file, for the Observer
}

// limits bound one run.
type limits struct {
	steps  int // rounds of loops and calls of functions
	memory int // bytes that the run may allocate, kept or not
	result int // bytes of the result as JSON
}

// Want is what a program must give.
type Want int

const (
	WantAny  Want = iota // any value
	WantBool             // true or false, never null
)

// Program is a compiled source. It is immutable and safe for concurrent use. Its lists of
// traversals are sorted.
type Program struct {
	Source           string
	Type             *schema.Type
	Facts            eval.Facts  // of the value
	Reads            []string    // the traversals that it reads; one stands for everything below it
	NonNullWhenTrue  []string    // the traversals that are certainly not null if it gives true
	NonNullWhenFalse []string    // the traversals that are certainly not null if it gives false
	CutReads         []*eval.Cut // that may have cut what it reads
	Whole            []*eval.Cut // that must not cut what it uses as all there is
	// Compared are the texts that it compares with what it reads of the caller, by traversal, as in "caller.groups".
	Compared map[string][]string

	env      Env // to compile the program again when it fails
	run      eval.Func
	want     Want
	limits   limits
	patterns functions.Patterns
	frames   sync.Pool
}

// Problem is one mistake in a program, found at load. Offset and Length are in bytes and lie inside
// the source; Length is at least 1 unless the source ends there.
type Problem struct {
	Offset, Length int
	Summary        string           // two to five constant words
	Detail         string           // what was found, what is accepted, and the nearest name or the corrected text
	Warning        bool             // the program can be run nevertheless
	Suggestion     *diag.Suggestion // what to write instead; nil for none
	Code           diag.Code        // see diag.Diagnostic
}

// span is a half-open byte interval of the source.
type span struct{ from, to int }

// Compile checks a source against its environment. The program is nil if a problem is not a
// warning.
func Compile(src string, env Env, want Want) (*Program, []Problem) {
	tree, problem := parse(src)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	c := compiler{
		src: tree.source, locate: tree.locate, brackets: tree.brackets,
		roots: env.Roots, nonNull: env.NonNull, trustDeclared: env.TrustDeclared, observer: env.Observer,
		place: env.Place,
	}
	env.Observer, env.Place = nil, nil // the program is compiled again when it fails
	t := c.compile(tree.root)
	c.checkResult(tree.root, t, want)
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Offset - b.Offset })
	if slices.ContainsFunc(c.problems, func(p Problem) bool { return !p.Warning }) {
		return nil, c.problems
	}
	p := &Program{
		Source: src, env: env, Type: t.Type, Facts: t.Facts, Reads: dropCovered(c.reads), CutReads: c.cutReads,
		Whole: c.whole, Compared: c.compared, run: t.Eval, want: want,
		NonNullWhenTrue: c.rootPaths(t.WhenTrue), NonNullWhenFalse: c.rootPaths(t.WhenFalse),
		limits: limits{steps: 10_000_000, memory: functions.DefaultMemory, result: 16 << 20},
	}
	vars := c.vars
	p.frames.New = func() any { return &eval.Frame{Scratch: &eval.Scratch{Vars: make([]any, vars)}} }
	return p, c.problems
}

// rootPaths returns the traversals that begin at a root, sorted, each once. A root itself is never
// null.
func (c *compiler) rootPaths(paths []string) []string {
	isNoMember := func(p string) bool { return !c.isRoot(p) || !strings.Contains(p, ".") }
	out := slices.DeleteFunc(slices.Clone(paths), isNoMember)
	slices.Sort(out)
	return slices.Compact(out)
}

// dropCovered sorts traversals and drops those below another one.
func dropCovered(paths []string) (out []string) {
	slices.Sort(paths)
	for _, p := range paths {
		isCovered := func(by string) bool { return p == by || strings.HasPrefix(p, by+".") }
		if !slices.ContainsFunc(out, isCovered) {
			out = append(out, p)
		}
	}
	return out
}

// Run computes the program from the values of a call, which it does not change; output is the value
// of the root output. Its error is an *eval.Error. The result may hold a value.LazyJSON that the
// program has not decoded.
func (p *Program) Run(call *eval.Frame, output any) (out any, err error) {
	return p.runIn(p.frames.Get().(*eval.Frame), p.run, call, output)
}

// runIn computes the program in a frame, which it returns to the pool.
func (p *Program) runIn(f *eval.Frame, run eval.Func, call *eval.Frame, output any) (out any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &eval.Error{Message: "the program failed unexpectedly", Cause: fmt.Errorf("panic: %v", r)}
			return // the frame is in an unknown state
		}
		f.Clear()
		p.frames.Put(f)
	}()
	f.Start(call, output, p.limits.steps, p.limits.memory, &p.patterns)
	if err := f.CheckContext(); err != nil {
		return nil, err
	}
	v, err := run(f)
	if err == nil {
		v, err = p.checkOutput(f, v)
	}
	if err != nil {
		return nil, asError(err)
	}
	return v, nil
}

// asError makes an error a sentence for the one who made the call.
func asError(err error) error {
	if _, ok := err.(*eval.Error); ok {
		return err
	}
	message := err.Error()
	if errors.Is(err, functions.ErrMemory) {
		message += "; filter the data or pick fewer members"
	}
	return &eval.Error{Message: message, Cause: err}
}

// checkOutput enforces the limit of the result, and that a condition gives true or false.
func (p *Program) checkOutput(f *eval.Frame, out any) (any, error) {
	switch v := out.(type) {
	case bool:
		return v, nil
	case string, []any, map[string]any:
		if _, err := f.Budget().Size(v, p.limits.result); err != nil {
			return nil, err
		}
	}
	if p.want != WantBool {
		return out, nil
	}
	decoded, err := eval.Resolve(out)
	if b, ok := decoded.(bool); ok && err == nil {
		return b, nil
	}
	return nil, errors.New("must give true or false, got " + value.Kind(decoded))
}
