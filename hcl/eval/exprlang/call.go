package exprlang

import (
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
)

func (c *compiler) compileCall(n *ast.CallNode) typedExpr {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		return c.compileFunction(originalName(callee.Value), c.spanOf(callee), n.Arguments)
	case *ast.MemberNode:
		if name, ok := callee.Property.(*ast.StringNode); ok {
			c.report(c.spanOf(callee.Property), "Method call",
				"Values have no methods. A function takes its value as an argument: %s(%s).", name.Value,
				c.source(callee.Node))
			return eval.Broken()
		}
	}
	// unreachable: the parser rejects calls of other expressions.
	c.report(c.fullSpan(n), "Not a function", "Only functions of the table can be called.")
	return eval.Broken()
}

func (c *compiler) compileBuiltin(n *ast.BuiltinNode) typedExpr {
	if b := builtins[n.Name]; b.Name != "" && b.fn == nil && (n.Name != "sum" || len(n.Arguments) > 1) {
		return c.compilePredicateCall(n, b.gives)
	}
	return c.compileFunction(n.Name, c.spanOf(n), n.Arguments)
}

// compileFunction compiles a call of a function of the table, or of a builtin without a predicate.
func (c *compiler) compileFunction(name string, at span, args []ast.Node) typedExpr {
	fn, ok := functions.Lookup(name)
	if !ok {
		fn = builtins[name].fn
	}
	if fn == nil {
		c.reportUnknownFunction(name, at)
		for _, a := range args {
			c.compile(a)
		}
		return eval.Broken()
	}
	if fn.LoadOnly {
		c.report(at, "Known at load only", "%s reads the configuration directory. Name the result in locals, "+
			"as ${%[1]s(...)} there, and read local.name here.", name)
		return eval.Broken()
	}
	typed, compileArgument := make([]typedExpr, len(args)), c.compile
	operands := make([]operand, len(args))
	if fn.Counts {
		compileArgument = c.compileCollection
	}
	for i, a := range args {
		operands[i] = c.compileOperand(a, compileArgument)
		typed[i] = operands[i].typedExpr
	}
	report := func(arg int, summary, format string, values ...any) {
		place := at
		if arg >= 0 {
			place = c.fullSpan(args[arg])
		}
		c.report(place, summary, format, values...)
	}
	isComplete := eval.CheckCall(fn, typed, false, report, func(arg int, p functions.Param) {
		if p.Kind != functions.Any {
			c.checkNotNull(args[arg], typed[arg])
		}
	})
	if !isComplete {
		return eval.Broken()
	}
	c.recordCompared(operands...)
	c.noteMembers(fn, typed, args)
	c.warnSplitOrder(name, at, typed, args)
	if !fn.Keeps.Has(functions.Parts) {
		for i, a := range typed {
			typed[i] = c.requireWhole(args[i], eval.LookedAt(fn, a))
		}
	}
	t := programType(eval.ResultType(fn, typed))
	if fn.Result.Nullable {
		t = t.AsNullable()
	}
	return eval.Call(t, fn, typed, false)
}

func isFunction(name string) bool {
	_, ok := functions.Lookup(name)
	return ok || builtins[name].Name != ""
}

// warnSplitOrder warns of the argument order that other expr programs have.
func (c *compiler) warnSplitOrder(name string, at span, typed []typedExpr, args []ast.Node) {
	if name != "split" || len(typed) != 2 || typed[0].Known || !typed[1].Known {
		return
	}
	c.report(at, "Separator comes first", "split takes the separator first: write split(%s, %s).",
		c.source(args[1]), c.source(args[0]))
	c.problems[len(c.problems)-1].Warning = true
}

func (c *compiler) reportUnknownFunction(name string, at span) {
	if hint := removedBuiltins[name]; hint != "" {
		c.report(at, "Unknown function", "There is no function %q here: %s", name, hint)
		return
	}
	hint := eval.SuggestFunction(name, slices.Sorted(maps.Keys(builtins)))
	c.report(at, "Unknown function", "There is no function %q.%s", name, hint)
}

// noteMembers tells the observer of the members of a root that a function names.
func (c *compiler) noteMembers(fn *functions.Function, typed []typedExpr, args []ast.Node) {
	if c.observer == nil || !fn.NamesMembers || c.roots[typed[0].Path] == nil {
		return
	}
	for i, t := range typed[1:] {
		if name, ok := t.Value.(string); ok {
			c.noteValue(c.spanOf(args[i+1]), t, typed[0].Path, name)
		}
	}
}
