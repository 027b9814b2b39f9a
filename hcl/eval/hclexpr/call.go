package hclexpr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// compileCall compiles a function call. try and can belong to the language; all other functions are
// in the table.
func (c *Compiler) compileCall(e *hclsyntax.FunctionCallExpr, in LexicalEnv) eval.TypedExpr {
	switch {
	case e.Name == "try" || e.Name == "can":
		return c.compileTry(e, in)
	case e.Name == "under":
		return c.compileUnder(e, in)
	case templateFuncs[e.Name]:
		for _, a := range e.Args {
			c.Compile(a, in)
		}
		c.Errorf(e.NameRange, "Function not available here", "%s", map[string]string{
			"ident": "ident(...) quotes the name of a table or column. It can only be used in SQL.",
			"raw":   "raw(...) inserts a text that is known at load into SQL. It can only be used in SQL.",
			"path": "path(...) inserts several segments into the path of a URL. It can only be used in the path " +
				"of a request.",
		}[e.Name])
		return eval.Broken()
	}
	fn, ok := functions.Lookup(e.Name)
	if !ok {
		c.Errorf(e.NameRange, "Unknown function", "There is no function %q.%s", e.Name,
			eval.SuggestFunction(e.Name, functionsOfLanguage))
		for _, a := range e.Args {
			c.Compile(a, in)
		}
		return eval.Broken()
	}
	args := make([]eval.TypedExpr, len(e.Args))
	c.reads.Call = c.reads.Call || fn.CallOnly
	for i, a := range e.Args {
		args[i] = c.Compile(a, in)
	}
	if !c.checkCall(e, fn, args) {
		return eval.Broken()
	}
	t, null := resultType(fn, args)
	n := eval.Combine(t, args...)
	n.Known, n.NullReason = n.Known && !fn.CallOnly, null
	n.Eval = bindCall(fn, args, e.ExpandFinal)
	if n.Sensitive {
		n.Eval = bindCall(redactErrors(fn), args, e.ExpandFinal)
	}
	if e.Name == "coalesce" {
		n.NullReason = c.coalesceNull(args)
	}
	return c.foldConstant(n, e.Range())
}

func (c *Compiler) checkCall(e *hclsyntax.FunctionCallExpr, fn *functions.Function, args []eval.TypedExpr) bool {
	ok := true
	switch {
	case fn.CallOnly && !c.Scope.Call:
		c.Errorf(e.Range(), "Function not available here",
			"%s depends on the moment of a call, but this value is computed once, when the file is loaded. Use it "+
				"in a tool.", fn.Name)
		ok = false
	case fn.LoadOnly && !eval.Combine(nil, args...).Known:
		c.Errorf(e.Range(), "Known name needed",
			"%s reads the file when the configuration is loaded, so the name must be known then. To read a file "+
				"during a call, use a file block.", fn.Name)
		ok = false
	}
	if !e.ExpandFinal {
		if err := fn.CheckCount(len(args)); err != nil {
			c.Errorf(e.Range(), "Wrong number of arguments", "%v.", err)
			return false
		}
	}
	for i, a := range args {
		p, has := fn.Param(i) // length takes any kind, but not null
		if !has || e.ExpandFinal && i == len(args)-1 {
			continue
		}
		if !eval.Accepts(p, a.Type) {
			c.Errorf(e.Args[i].Range(), "Wrong argument type", "%s: the %s must be %s, this is %s.",
				fn.Name, p.Name, p.Expected(), eval.TypePhrase(a.Type))
			ok = false
		} else if a.NullReason != "" && (p.Kind != functions.Any || fn.Name == "length") {
			want := p.Expected()
			if p.Kind == functions.Any {
				want = "a value that is not null"
			}
			c.Errorf(e.Args[i].Range(), "Value may be null",
				"%s, but %s takes %s. Check it with a condition, or write coalesce(%s, …).",
				eval.NullSentence(a), fn.Name, want, c.sourceText(e.Args[i].Range()))
			ok = false
		}
	}
	return ok
}

// bindCall returns a call of fn. If spread is set, the elements of the last argument are arguments.
func bindCall(fn *functions.Function, args []eval.TypedExpr, spread bool) func(*eval.Frame) (any, error) {
	return func(f *eval.Frame) (any, error) {
		values := make([]any, len(args))
		for i, a := range args {
			var err error
			if values[i], err = a.Eval(f); err != nil {
				return nil, err
			}
			if _, isFile := values[i].(value.File); isFile {
				if values[i], err = f.FileArgument(fn, i, values[i].(value.File)); err != nil {
					return nil, err
				}
			}
		}
		if spread {
			last, ok := values[len(values)-1].([]any)
			if !ok {
				return nil, fmt.Errorf("%s: a list is expected before `...`", fn.Name)
			}
			values = append(values[:len(values)-1:len(values)-1], last...)
		}
		return fn.Call(&f.Functions, values)
	}
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

// resultType is the type of what fn returns, and why that may be null.
func resultType(fn *functions.Function, args []eval.TypedExpr) (*schema.Type, string) {
	types := make([]*schema.Type, len(args))
	for i, a := range args {
		types[i] = a.Type
	}
	null := ""
	if fn.Result.Nullable {
		null = fn.Name + " may give null"
	}
	return eval.ResultType(fn, types, schema.Unify), null
}

// coalesceNull says why the result may be null, which it may be only if every argument may.
func (c *Compiler) coalesceNull(args []eval.TypedExpr) string {
	null := ""
	for _, a := range args {
		if a.NullReason == "" {
			return ""
		}
		null = a.NullReason
	}
	return null
}

// compileTry compiles try, which gives the first argument that can be computed, and can, which says
// whether its argument can be computed. What may be null or missing is allowed in both.
func (c *Compiler) compileTry(e *hclsyntax.FunctionCallExpr, in LexicalEnv) eval.TypedExpr {
	if len(e.Args) == 0 || e.Name == "can" && len(e.Args) != 1 {
		form := "try takes a value and a fallback, as in try(x.y, null)"
		if e.Name == "can" {
			form = "can takes one value, and reports whether it can be computed"
		}
		c.Errorf(e.Range(), "Wrong number of arguments", "%s.", form)
		return eval.Broken()
	}
	guarded := c.Nulls
	c.Nulls = eval.PrintNull
	args := make([]eval.TypedExpr, len(e.Args))
	n := eval.TypedExpr{Known: true}
	for i, a := range e.Args {
		if i == len(e.Args)-1 {
			c.Nulls = guarded
			if e.Name == "can" {
				c.Nulls = eval.PrintNull
			}
		}
		args[i] = c.Compile(a, in)
		n.Known = n.Known && args[i].Known
		n.Sensitive = n.Sensitive || args[i].Sensitive
		if i == 0 {
			n.Type = args[i].Type
		} else {
			n.Type = eval.UnifyTypes(eval.TypedExpr{Type: n.Type}, args[i])
		}
	}
	c.Nulls = guarded
	n.NullReason = args[len(args)-1].NullReason
	n.Eval = func(f *eval.Frame) (any, error) {
		strict := *f
		strict.Lenient = false
		var err error
		for _, a := range args {
			var v any
			v, err = a.Eval(&strict)
			f.Functions.Memory = strict.Functions.Memory // failed attempts are charged for
			if err == nil && (v != nil || len(args) == 1) {
				return v, nil
			}
		}
		return nil, err
	}
	if e.Name == "can" {
		n.Type, n.NullReason = eval.BoolType, ""
		n.Eval = func(f *eval.Frame) (any, error) {
			strict := *f
			strict.Lenient = false
			_, err := args[0].Eval(&strict)
			return err == nil, nil
		}
	}
	return c.foldConstant(n, e.Range())
}

func (c *Compiler) compileUnder(e *hclsyntax.FunctionCallExpr, in LexicalEnv) eval.TypedExpr {
	h := c.compileInterpolation(e, e.Range(), in)
	c.reads.Call = true
	return eval.TypedExpr{Type: eval.StringType, Eval: func(f *eval.Frame) (any, error) { return h.Value(f) }}
}

// functionsOfLanguage are the functions that are not in the table.
var functionsOfLanguage = append(slices.Sorted(maps.Keys(templateFuncs)), "try", "can")
