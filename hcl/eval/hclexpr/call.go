package hclexpr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
)

// compileCall compiles a function call. try and can belong to the language; all other functions are
// in the table.
func (c *Compiler) compileCall(e *hclsyntax.FunctionCallExpr, in LexicalEnv) eval.TypedExpr {
	switch e.Name {
	case "try", "can":
		return c.compileTry(e, in)
	case "under", "filename":
		return c.compilePath(e, in)
	case "unmasked":
		return c.compileUnmasked(e, in)
	}
	fn, ok := functions.Lookup(e.Name)
	if !ok {
		if why := templateFuncs[e.Name].onlyIn; why != "" {
			c.Errorf(e.NameRange, "Function not available here", "%s", why)
		} else {
			c.Errorf(e.NameRange, "Unknown function", "There is no function %q.%s", e.Name,
				eval.SuggestFunction(e.Name, functionsOfLanguage))
		}
		for _, a := range e.Args {
			c.Compile(a, in)
		}
		return eval.Broken()
	}
	args := make([]eval.TypedExpr, len(e.Args))
	c.reads.Call = c.reads.Call || fn.CallOnly
	compileArgument := c.Compile
	if fn.Counts {
		compileArgument = c.CompileCollection
	}
	for i, a := range e.Args {
		args[i] = compileArgument(a, in)
		if fn.SkipsAbsent && args[i].Path != "" {
			args[i].Eval = absentAsNull(args[i].Eval)
		}
	}
	noteMembers(c, e, fn, args)
	if !c.checkCall(e, fn, args) {
		return eval.Broken()
	}
	if eval.From(args...).Sensitive {
		fn = redactErrors(fn)
	}
	for i, a := range args {
		if !fn.Keeps.Has(functions.Parts) {
			args[i] = c.requireWhole(eval.LookedAt(fn, a), e.Args[i].Range())
		}
	}
	n := eval.Call(eval.ResultType(fn, args), fn, args, e.ExpandFinal)
	folded := c.foldConstant(n, e.Range())
	c.checkMade(e, args, folded)
	return folded
}

// checkCall reports arguments that fn does not take. It returns whether there are none.
func (c *Compiler) checkCall(e *hclsyntax.FunctionCallExpr, fn *functions.Function, args []eval.TypedExpr) bool {
	reported := len(c.Diags)
	switch {
	case fn.CallOnly && !c.Scope.Call:
		c.Errorf(e.Range(), "Function not available here",
			"%s depends on the moment of a call, but this value is computed once, when the file is loaded. Use it "+
				"in a tool.", fn.Name)
	case fn.LoadOnly && eval.From(args...).Call:
		c.Errorf(e.Range(), "Known name needed",
			"%s reads the file when the configuration is loaded, so the name must be known then. To read a file "+
				"during a call, use a file block.", fn.Name)
	}
	at := func(arg int) hclv2.Range {
		if arg < 0 {
			return e.Range()
		}
		return e.Args[arg].Range()
	}
	eval.CheckCall(fn, args, e.ExpandFinal, func(arg int, summary, format string, values ...any) {
		c.Errorf(at(arg), summary, format, values...)
	}, func(arg int, p functions.Param) {
		if a := args[arg]; a.NullReason != "" {
			c.Errorf(at(arg), "Value may be null",
				"%s, but %s takes %s. Check it with a condition, or write coalesce(%s, …).", eval.NullSentence(a),
				fn.Name, p.Expected(), c.sourceText(at(arg)))
		}
	})
	return len(c.Diags) == reported
}

// redactErrors returns fn with errors that quote nothing, for arguments that hold secrets: even the
// beginning of a quoted value could reveal one.
func redactErrors(fn *functions.Function) *functions.Function {
	quiet := *fn
	quiet.Call = func(c *functions.Context, args []any) (any, error) {
		v, err := fn.Call(c, args)
		if err != nil && strings.Contains(err.Error(), `"`) {
			err = fmt.Errorf("%s: the error is withheld, because it would reveal a part of a secret", fn.Name)
		}
		return v, err
	}
	return &quiet
}

// compileTry compiles try, which gives the first argument that can be computed, and can, which says
// whether its argument can be computed. What may be null or missing is allowed in both.
func (c *Compiler) compileTry(e *hclsyntax.FunctionCallExpr, in LexicalEnv) eval.TypedExpr {
	can := e.Name == "can"
	if len(e.Args) == 0 || can && len(e.Args) != 1 {
		form := "try takes a value and a fallback, as in try(x.y, null)"
		if can {
			form = "can takes one value, and reports whether it can be computed"
		}
		c.Errorf(e.Range(), "Wrong number of arguments", "%s.", form)
		return eval.Broken()
	}
	guarded, last := c.Nulls, len(e.Args)-1
	args := make([]eval.TypedExpr, len(e.Args))
	for i, a := range e.Args {
		c.Nulls = eval.PrintNull
		if i == last && !can {
			c.Nulls = guarded
		}
		args[i] = c.Compile(a, in)
	}
	c.Nulls = guarded
	n := eval.TypedExpr{Type: eval.UnifyTypes(args...), Facts: eval.Either(args...)}
	n.NullReason = args[last].NullReason
	n.CallerSpecific = false // the fallback is for callers without the value
	n.Eval = func(f *eval.Frame) (v any, err error) {
		for _, a := range args {
			if v, err = attempt(f, a.Eval); err == nil && (v != nil || last == 0) {
				return v, nil
			}
			if eval.IsUnknown(err) {
				break
			}
		}
		return nil, err
	}
	if can {
		whole := c.requireWhole(args[0], e.Range())
		n = eval.Computed(eval.BoolType, func(f *eval.Frame) (any, error) {
			_, err := attempt(f, args[0].Eval)
			if eval.IsUnknown(err) {
				return nil, err
			}
			return err == nil, nil
		}, whole)
		n.CallerSpecific = false // it reports whether this caller has the value
	}
	return c.foldConstant(n, e.Range())
}

// attempt computes a value for which a missing member is an error. A failed attempt is charged for.
func attempt(f *eval.Frame, compute eval.Func) (any, error) {
	strict := *f
	strict.Lenient = false
	v, err := compute(&strict)
	f.Functions.Memory = strict.Functions.Memory
	return v, err
}

// absentAsNull returns a computation that reads a missing member as null.
func absentAsNull(compute eval.Func) eval.Func {
	return func(f *eval.Frame) (any, error) {
		lenient := f.Lenient
		f.Lenient = true
		v, err := compute(f)
		f.Lenient = lenient
		return v, err
	}
}

// compilePath compiles under and filename.
func (c *Compiler) compilePath(e *hclsyntax.FunctionCallExpr, in LexicalEnv) eval.TypedExpr {
	return c.compileDerived(e.Range(), func() eval.TypedExpr {
		h := c.compileInterpolation(e, e.Range(), in)
		c.reads.Call = true // it reads the file system
		n := eval.Computed(eval.StringType, func(f *eval.Frame) (any, error) { return h.Value(f) })
		n.AsPath = h.Type.Path
		return n
	})
}

// functionsOfLanguage are the functions that are not in the table.
var functionsOfLanguage = append(slices.Sorted(maps.Keys(templateFuncs)), "try", "can", "unmasked")
