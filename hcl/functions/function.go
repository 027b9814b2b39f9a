// Package functions is the table of functions that both languages of a configuration share: HCL
// templates and expr programs.
//
// A function takes and returns values of package value, never changes an argument, and stays within
// the memory budget of its [Context]. Its errors are sentences for authors and models. [Lookup]
// finds a function by its name.
package functions

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Function is one entry of the table.
type Function struct {
	Name     string
	Doc      string // one sentence
	Params   []Param
	Result   Result
	LoadOnly bool // reads the configuration directory; its arguments must be known at load
	CallOnly bool // depends on the moment of the call; not available in what is evaluated at load

	// What is known of the arguments and of the result, too; everything that depends on the arguments holds what they
	// hold.
	Chooses      Choice // the result is one of these
	Keeps        Kept   // what the result keeps of the arguments
	SkipsAbsent  bool   // a member that is missing is null to it
	Counts       bool   // it looks at which elements an argument has, and not into them
	NamesMembers bool   // the arguments after the first name its members

	// Call checks the number and the kinds of args and computes the result. It is safe for
	// concurrent use with different contexts. Its error begins with the name of the function.
	Call func(c *Context, args []any) (any, error)
}

// Usage returns how the function is called: an optional parameter ends with ?, one that may be repeated with "..."
func (f *Function) Usage() string {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = strings.ReplaceAll(p.Name, " ", "_")
		switch {
		case p.Variadic:
			params[i] += "..."
		case p.Optional:
			params[i] += "?"
		}
	}
	return f.Name + "(" + strings.Join(params, ", ") + ")"
}

// Kind is the kind of values that a parameter takes or a function returns.
type Kind = schema.Kind

const (
	Any     = schema.Any // every value, including null
	String  = schema.String
	Number  = schema.Number
	Integer = schema.Integer // a number without a fraction
	Bool    = schema.Bool
	List    = schema.List
	Object  = schema.Object // a map, too
	Bytes   = schema.Bytes
)

// Param is one parameter. Optional parameters follow the required ones.
type Param struct {
	Name     string
	Kind     Kind
	OrBytes  bool   // bytes are accepted in place of a String
	Only     string // the only value that is accepted; empty for all of the Kind
	NotNull  bool   // of Any: null is not accepted
	Optional bool
	Variadic bool // the last parameter; takes any number of arguments, including none
}

// Expected describes the values that the parameter accepts, such as "a string".
func (p Param) Expected() string {
	switch {
	case p.Only != "":
		return fmt.Sprintf("%q", p.Only)
	case p.OrBytes:
		return "a string or bytes"
	case p.NotNull:
		return "a value that is not null"
	case p.Kind == Any:
		return "any value"
	case p.Kind == Bytes:
		return "bytes"
	}
	return diag.WithArticle(p.Kind.String())
}

// Takes reports whether the parameter accepts a value of its Kind.
func (p Param) Takes(v any) bool { return p.Only == "" || v == p.Only }

// Result describes the type of the result.
type Result struct {
	Kind     Kind       // if Follow is Fixed
	Elem     Kind       // the kind of the elements, if Kind is List
	Rule     ResultRule // how the type depends on the arguments
	Nullable bool       // the result may be null for any arguments
}

// ResultRule is the rule by which the type of a result depends on the arguments.
type ResultRule int

const (
	Fixed       ResultRule = iota // Result.Kind for all arguments
	SameAsFirst                   // the type of the first argument
	ElemOfFirst                   // the element type of the first argument
	Unify                         // the common type of all arguments, or any
	ListOfFirst                   // a list of the type of the first argument
)

// Choice says that the result of a function is a value that it was given.
type Choice int

const (
	Computes     Choice = iota // it is none
	AnArgument                 // it is one of the arguments
	AnElement                  // it is an element of the first argument, or one of the arguments after the second
	FirstElement               // it is the first element of the first argument
)

// Kept is a set of what the result of a function keeps of the arguments.
type Kept int

const (
	Parts     Kept = 1 << iota // it has a part for each part of an argument: for a part of the data it is a part
	Beginning                  // it, or an element of it, begins as an argument or an element of one does
	Unnamed                    // it, or a text that it is, has the members of an object without their names
)

// Has reports whether the set has one thing.
func (k Kept) Has(one Kept) bool { return k&one != 0 }

// Keeping returns the function with a declaration of what its result keeps.
func (f Function) Keeping(k Kept) Function { f.Keeps = k; return f }

// Choosing returns the function with a declaration of what its result is one of.
func (f Function) Choosing(c Choice) Function { f.Chooses = c; return f }

type impl = func(c *Context, args []any) (any, error)

// New returns a function whose Call checks the arguments against params before call. In the
// arguments of call every LazyJSON is decoded and every Integer is an int; absent optional
// arguments are left out. The errors of call need not name the function.
func New(name, doc string, params []Param, result Result, call impl) Function {
	f := Function{Name: name, Doc: doc, Params: params, Result: result}
	f.Call = func(c *Context, args []any) (any, error) {
		args, err := f.convertArguments(args)
		if err != nil {
			return nil, err
		}
		v, err := call(c, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return v, nil
	}
	return f
}

// Arity returns how many arguments the function takes. The maximum is -1 if there is no limit.
func (f *Function) Arity() (minimum, maximum int) {
	for _, p := range f.Params {
		if p.Variadic {
			return minimum, -1
		}
		if !p.Optional {
			minimum++
		}
		maximum++
	}
	return minimum, maximum
}

// Param returns the parameter of the argument with index i. It reports false if there is none.
func (f *Function) Param(i int) (Param, bool) {
	if n := len(f.Params); i >= n {
		if n == 0 || !f.Params[n-1].Variadic {
			return Param{}, false
		}
		i = n - 1
	}
	return f.Params[i], true
}

// convertArguments checks args and returns them in the form that New promises. The slice is copied
// only if an argument changes.
func (f *Function) convertArguments(args []any) ([]any, error) {
	if err := f.CheckCount(len(args)); err != nil {
		return nil, err
	}
	copied := false
	for i, a := range args {
		p, _ := f.Param(i)
		if _, isFile := a.(value.File); isFile && p.Kind == Any && f.Result.Rule != Fixed {
			continue // the function may return it, and a decoded file has lost its content
		}
		v, changed, err := p.convert(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if changed {
			if !copied {
				args, copied = slices.Clone(args), true
			}
			args[i] = v
		}
	}
	return args, nil
}

// CheckCount returns an error unless the function takes n arguments.
func (f *Function) CheckCount(n int) error {
	minimum, maximum := f.Arity()
	switch {
	case n >= minimum && (maximum < 0 || n <= maximum):
		return nil
	case maximum < 0:
		return fmt.Errorf("%s takes at least %s, got %d", f.Name, countArguments(minimum), n)
	case minimum == maximum:
		return fmt.Errorf("%s takes %s, got %d", f.Name, countArguments(minimum), n)
	}
	return fmt.Errorf("%s takes %d to %d arguments, got %d", f.Name, minimum, maximum, n)
}

func countArguments(n int) string {
	switch n {
	case 0:
		return "no arguments"
	case 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// convert checks the argument a and returns it decoded, and whether the result differs from a.
func (p Param) convert(a any) (v any, changed bool, err error) {
	v = a
	if d, deferred := a.(value.LazyJSON); deferred {
		if v, err = d.Value(); err != nil {
			return nil, false, fmt.Errorf("the %s cannot be read", p.Name)
		}
		changed = true
	}
	ok := true
	switch p.Kind {
	case Any:
	case Integer:
		if _, ok = v.(int); !ok {
			v, ok = value.Int(v)
			changed = true
		}
	default:
		kind := value.Kind(v)
		ok = kind == p.Kind.String() || p.OrBytes && kind == "bytes"
	}
	switch {
	case !ok:
		return nil, false, fmt.Errorf("the %s must be %s, got %s", p.Name, p.Expected(), kindOf(a))
	case !p.Takes(v):
		return nil, false, fmt.Errorf("the %s must be %s, got %q", p.Name, p.Expected(), v)
	}
	return v, changed, nil
}

// kindOf returns the kind of v for an error. A number with a fraction is given with its value.
func kindOf(v any) string {
	if f, ok := v.(float64); ok {
		return "the number " + value.FormatFloat(f)
	}
	v, _ = value.Resolve(v)
	return value.Kind(v)
}
