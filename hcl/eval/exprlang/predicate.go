package exprlang

import (
	"fmt"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// predicateCall is a compiled call of a function that takes a predicate.
type predicateCall struct {
	name     string
	list     eval.Func
	body     eval.Func // the predicate; nil stands for the element itself
	backward bool
}

// forEach calls do for every element, with what the predicate gives for it, until do reports that
// there is no more to do.
func (p *predicateCall) forEach(f *eval.Frame, do func(item, v any, index int) (more bool, err error)) error {
	list, err := p.elements(f)
	if err != nil {
		return err
	}
	depth := len(f.Loops)
	f.Loops = append(f.Loops, eval.Loop{})
	for i := range list {
		at := i
		if p.backward {
			at = len(list) - 1 - i
		}
		if err := f.SpendSteps(1); err != nil {
			return err
		}
		round := &f.Loops[depth]
		round.Item, round.Index = list[at], at
		v := list[at]
		if p.body != nil {
			if v, err = p.body(f); err != nil {
				return err
			}
		}
		more, err := do(list[at], v, at)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	f.Loops = f.Loops[:depth]
	return nil
}

// elements computes the list.
func (p *predicateCall) elements(f *eval.Frame) ([]any, error) {
	v, err := eval.Resolved(p.list(f))
	if list, ok := v.([]any); ok || err != nil {
		return list, err
	}
	hint := ""
	if _, ok := v.(map[string]any); ok {
		hint = "; values(...) or toPairs(...) makes one"
	}
	return nil, fmt.Errorf("%s goes through a list, got %s%s", p.name, value.Kind(v), hint)
}

// compilePredicateCall compiles a call of a function that takes a predicate, which must give a
// value of kind gives.
func (c *compiler) compilePredicateCall(n *ast.BuiltinNode, gives schema.Kind) typedExpr {
	name := n.Name
	if at := c.spanOf(n); c.src[at.from:at.to] == "countBy" { // renameCallables has renamed it
		name = "countBy"
	}
	list := c.compile(n.Arguments[0])
	if isKeyed(list.Type) {
		c.report(c.fullSpan(n.Arguments[0]), "Wrong type",
			"%s goes through a list, this is an object. values(...) or toPairs(...) makes one.", name)
	} else {
		c.checkKind(n.Arguments[0], list, schema.List)
	}
	p := &predicateCall{name: name, list: list.Eval, backward: n.Name == "findLast" || n.Name == "findLastIndex"}
	elem := elemType(list.Type)
	body := elem
	if len(n.Arguments) > 1 {
		c.scopes = append(c.scopes, scope{typ: elem, path: c.newPath(), acc: n.Name == "reduce"})
		predicate := c.compile(n.Arguments[1])
		c.scopes = c.scopes[:len(c.scopes)-1]
		p.body, body = predicate.Eval, predicate.Type
		if gives != schema.Any {
			at := n.Arguments[1]
			if p, ok := at.(*ast.PredicateNode); ok {
				at = p.Node
			}
			c.checkKind(at, predicate, gives)
		}
	}
	switch name {
	case "filter":
		return computed(list.Type.NotNull(), p.filter)
	case "map":
		return computed(schema.ListOf(body), p.mapAll)
	case "all":
		return computed(eval.BoolType, p.find(false, func(found bool, _ any, _ int) any { return !found }))
	case "none":
		return computed(eval.BoolType, p.find(true, func(found bool, _ any, _ int) any { return !found }))
	case "any":
		return computed(eval.BoolType, p.find(true, func(found bool, _ any, _ int) any { return found }))
	case "find", "findLast":
		return computed(elem.AsNullable(), p.find(true, func(_ bool, item any, _ int) any { return item }))
	case "findIndex", "findLastIndex":
		return computed(eval.IntegerType.AsNullable(), p.find(true, indexIfFound))
	case "one":
		return computed(eval.BoolType, p.count(2, func(n int) any { return n == 1 }))
	case "count":
		return computed(eval.IntegerType, p.count(-1, func(n int) any { return n }))
	case "sum":
		if body.Kind == schema.Integer {
			return computed(eval.IntegerType, p.sum)
		}
		return computed(eval.NumberType, p.sum)
	case "groupBy":
		return computed(&schema.Type{Kind: schema.Map, Elem: schema.ListOf(elem)}, p.groupBy(16, addToList))
	case "countBy":
		return computed(&schema.Type{Kind: schema.Map, Elem: eval.IntegerType}, p.groupBy(0, addToCount))
	case "sortBy":
		return computed(list.Type.NotNull(), p.sortBy(c.compileArgument(n, 2, schema.String)))
	}
	return computed(eval.AnyType, p.reduce(c.compileArgument(n, 2, schema.Any)))
}

// compileArgument compiles an argument after the predicate. It returns nil if there is none.
func (c *compiler) compileArgument(n *ast.BuiltinNode, i int, k schema.Kind) eval.Func {
	if len(n.Arguments) <= i {
		return nil
	}
	t := c.compile(n.Arguments[i])
	if k != schema.Any {
		c.checkKind(n.Arguments[i], t, k)
	}
	return t.Eval
}
