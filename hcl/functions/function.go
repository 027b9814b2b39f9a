// Package functions is the one table of plain functions that means the same in both languages of a configuration: in HCL templates and in expr programs.
// Every function takes and gives values of package value, never changes an argument, is bounded by its Context, and fails with a sentence.
// Lookup is the entry point; Table lists everything, sorted.
package functions

import (
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"hatchel/hcl/value"
)

// A Function is one entry of the table.
type Function struct {
	Name     string
	Doc      string // one sentence
	Params   []Param
	Result   Result
	LoadOnly bool // reads the configuration's folder: stands only where its arguments are known at load
	CallOnly bool // depends on the moment of the call: never stands in what is known at load

	// Call checks the number and the kinds of args and computes the result. It is safe for concurrent use with different contexts.
	// Its error is a sentence that begins with the function's name.
	Call func(c *Context, args []any) (any, error)
}

// Kind is what a parameter takes or a function gives.
type Kind int

const (
	Any     Kind = iota // every value, null too
	String              //
	Number              //
	Integer             // a number without a fraction
	Bool                //
	List                //
	Object              //
	Data                // a string or bytes
	Bytes               //
)

var kindWords = [...]string{"any value", "a string", "a number", "an integer", "a bool", "a list", "an object", "a string or bytes", "bytes"}

// String names the kind with its article: "a string".
func (k Kind) String() string { return kindWords[k] }

// A Param is one parameter. After the first optional one all are optional.
type Param struct {
	Name     string
	Kind     Kind
	Optional bool
	Variadic bool // stands last and takes any number of arguments, none too
}

// Result says how the type of the result follows from the arguments.
type Result struct {
	Kind     Kind   // when Follow is Fixed
	Elem     Kind   // of a List
	Follow   Follow // what decides
	Nullable bool   // it can be null whatever the arguments are
}

// Follow is the rule by which a result takes the type of arguments.
type Follow int

const (
	Fixed       Follow = iota // Result.Kind, whatever the arguments are
	SameAsFirst               // the type of the first argument
	ElemOfFirst               // the type of the elements of the first argument
	Unify                     // the one type of all arguments, or any
	ListOfFirst               // a list of the type of the first argument
)

// A Context is what functions see of the call that they work for, and their budget. It serves one goroutine at a time.
type Context struct {
	Now      func() time.Time                  // nil where no time may be asked for
	ReadFile func(name string) ([]byte, error) // reads below the configuration's folder; nil where no file may be read
	Memory   int                               // bytes that may still be produced; every function takes from it what its result needs
	Patterns *Patterns                         // keeps compiled regular expressions between calls; nil compiles each time
}

// DefaultMemory is a budget for Context.Memory that suits one call.
const DefaultMemory = 64 << 20

// ErrMemory says that a computation needs more memory than its budget.
var ErrMemory = errors.New("the result is too large")

// Spend takes n bytes from the budget, or fails with ErrMemory and leaves nothing of it.
func (c *Context) Spend(n int) error {
	if n < 0 || n > c.Memory {
		c.Memory = 0
		return ErrMemory
	}
	c.Memory -= n
	return nil
}

const (
	itemSize  = 16 // of a list, beside what the element itself is
	entrySize = 64 // of an object, beside key and value
)

func (c *Context) text(s string) (any, error) {
	if err := c.Spend(len(s)); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Context) items(n int) error {
	if n > c.Memory/itemSize {
		return c.Spend(-1)
	}
	return c.Spend(n * itemSize)
}

var table = sync.OnceValue(func() []Function {
	var all []Function
	for _, part := range [][]Function{textFunctions(), patternFunctions(), formatFunctions(), listFunctions(), setFunctions(), objectFunctions(),
		numberFunctions(), conversionFunctions(), encodingFunctions(), digestFunctions(), dateFunctions(), fileFunctions(), linkFunctions()} {
		all = append(all, part...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
})

// Table returns every function, sorted by name. The slice is the caller's own.
func Table() []Function { return append([]Function(nil), table()...) }

// Lookup finds a function by its name.
func Lookup(name string) (*Function, bool) {
	all := table()
	i := sort.Search(len(all), func(i int) bool { return all[i].Name >= name })
	if i == len(all) || all[i].Name != name {
		return nil, false
	}
	return &all[i], true
}

type body = func(c *Context, args []any) (any, error)

// New makes a function whose Call checks the arguments against params before impl sees them: decoded, integers as int, absent optional ones left out.
// The errors of impl need not name the function.
func New(name, doc string, params []Param, result Result, impl func(c *Context, args []any) (any, error)) Function {
	f := Function{Name: name, Doc: doc, Params: params, Result: result}
	f.Call = func(c *Context, args []any) (any, error) {
		args, err := f.accept(args)
		if err != nil {
			return nil, err
		}
		v, err := impl(c, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return v, nil
	}
	return f
}

// Arity returns how many arguments the function takes; most is -1 without a limit.
func (f *Function) Arity() (least, most int) {
	for _, p := range f.Params {
		if p.Variadic {
			return least, -1
		}
		if !p.Optional {
			least++
		}
		most++
	}
	return least, most
}

// Param returns the parameter that takes the argument at index i, or false when there is none.
func (f *Function) Param(i int) (Param, bool) {
	if n := len(f.Params); i >= n {
		if n == 0 || !f.Params[n-1].Variadic {
			return Param{}, false
		}
		i = n - 1
	}
	return f.Params[i], true
}

// accept returns args with every Deferred decoded, but for files that may be given back, and every integer as an int; absent optional arguments stay absent.
func (f *Function) accept(args []any) ([]any, error) {
	if err := f.CheckCount(len(args)); err != nil {
		return nil, err
	}
	copied := false
	for i, a := range args {
		p, _ := f.Param(i)
		if _, isFile := a.(value.File); isFile && p.Kind == Any && f.Result.Follow != Fixed {
			continue // it may be what is given back, and decoded its bytes would be lost
		}
		v, changed, err := p.take(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if changed {
			if !copied {
				args, copied = append([]any(nil), args...), true
			}
			args[i] = v
		}
	}
	return args, nil
}

// CheckCount fails when the function does not take n arguments.
func (f *Function) CheckCount(n int) error {
	least, most := f.Arity()
	switch {
	case n >= least && (most < 0 || n <= most):
		return nil
	case most < 0:
		return fmt.Errorf("%s takes at least %s, got %d", f.Name, arguments(least), n)
	case least == most:
		return fmt.Errorf("%s takes %s, got %d", f.Name, arguments(least), n)
	}
	return fmt.Errorf("%s takes %d to %d arguments, got %d", f.Name, least, most, n)
}

func arguments(n int) string {
	switch n {
	case 0:
		return "no arguments"
	case 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// take returns the argument in the form that implementations expect, and whether that is another value than a.
func (p Param) take(a any) (_ any, changed bool, _ error) {
	v := a
	if d, deferred := a.(value.Deferred); deferred {
		var err error
		if v, err = d.Value(); err != nil {
			return nil, false, fmt.Errorf("the %s cannot be read", p.Name)
		}
		changed = true
	}
	ok := true
	switch p.Kind {
	case String:
		_, ok = v.(string)
	case Number:
		ok = value.IsNumber(v)
	case Integer:
		if _, ok = v.(int); !ok {
			v, ok = value.Int(v)
			changed = true
		}
	case Bool:
		_, ok = v.(bool)
	case List:
		_, ok = v.([]any)
	case Object:
		_, ok = v.(map[string]any)
	case Bytes:
		_, ok = v.(value.Bytes)
	case Data:
		if _, ok = v.(string); !ok {
			_, ok = v.(value.Bytes)
		}
	}
	if !ok {
		return nil, false, fmt.Errorf("the %s must be %s, got %s", p.Name, p.Kind, kindOf(a))
	}
	return v, changed, nil
}

// kindOf names what stands where something else was expected; a number with a fraction is told from an integer.
func kindOf(v any) string {
	if f, ok := v.(float64); ok {
		return "the number " + value.FormatFloat(f)
	}
	v, _ = value.Resolve(v)
	return value.Kind(v)
}

func params(p ...Param) []Param { return p }

func param(name string, kind Kind) Param { return Param{Name: name, Kind: kind} }

func (p Param) optional() Param { p.Optional = true; return p }
func (p Param) variadic() Param { p.Variadic, p.Optional = true, true; return p }

func fixed(k Kind) Result    { return Result{Kind: k} }
func listOf(k Kind) Result   { return Result{Kind: List, Elem: k} }
func follow(f Follow) Result { return Result{Follow: f} }
func nullable(k Kind) Result { return Result{Kind: k, Nullable: true} }
func (c *Context) now() (time.Time, error) {
	if c.Now == nil {
		return time.Time{}, errors.New("the time is known only during a call")
	}
	return c.Now(), nil
}
