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
	list     evalFunc
	body     evalFunc // the predicate; nil stands for the element itself
	backward bool
}

// forEach calls do for every element, with what the predicate gives for it, until do reports that
// there is no more to do.
func (p *predicateCall) forEach(f *frame, do func(item, v any, index int) (more bool, err error)) error {
	list, err := p.elements(f)
	if err != nil {
		return err
	}
	depth := len(f.loops)
	f.loops = append(f.loops, loop{})
	for i := range list {
		at := i
		if p.backward {
			at = len(list) - 1 - i
		}
		if err := f.spendSteps(1); err != nil {
			return err
		}
		round := &f.loops[depth]
		round.item, round.index = list[at], at
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
	f.loops = f.loops[:depth]
	return nil
}

// elements computes the list.
func (p *predicateCall) elements(f *frame) ([]any, error) {
	v, err := eval.EvalResolved(f, p.list)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		return v, nil
	case map[string]any:
		return nil, fmt.Errorf("%s goes through a list, got object; values(...) or toPairs(...) makes one", p.name)
	}
	return nil, fmt.Errorf("%s goes through a list, got %s", p.name, value.Kind(v))
}

// compilePredicateCall compiles a call of a function that takes a predicate.
func (c *compiler) compilePredicateCall(n *ast.BuiltinNode) typedExpr {
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
		c.checkPredicate(n, predicate)
	}
	var t *schema.Type
	var run evalFunc
	switch name {
	case "filter":
		t, run = list.Type.NotNull(), p.filter
	case "map":
		t, run = schema.ListOf(body), p.mapAll
	case "all":
		t, run = eval.BoolType, p.find(false, func(found bool, _ any, _ int) any { return !found })
	case "none":
		t, run = eval.BoolType, p.find(true, func(found bool, _ any, _ int) any { return !found })
	case "any":
		t, run = eval.BoolType, p.find(true, func(found bool, _ any, _ int) any { return found })
	case "find", "findLast":
		t, run = elem.AsNullable(), p.find(true, func(_ bool, item any, _ int) any { return item })
	case "findIndex", "findLastIndex":
		t, run = eval.IntegerType.AsNullable(), p.find(true, indexIfFound)
	case "one":
		t, run = eval.BoolType, p.exactlyOne
	case "count":
		t, run = eval.IntegerType, p.count
	case "sum":
		t, run = eval.NumberType, p.sum
		if body.Kind == schema.Integer {
			t = eval.IntegerType
		}
	case "groupBy":
		t, run = &schema.Type{Kind: schema.Map, Elem: schema.ListOf(elem)}, p.groupBy
	case "countBy":
		t, run = &schema.Type{Kind: schema.Map, Elem: eval.IntegerType}, p.countBy
	case "sortBy":
		t, run = list.Type.NotNull(), p.sortBy(c.compileArgument(n, 2, schema.String))
	case "reduce":
		t, run = eval.AnyType, p.reduce(c.compileArgument(n, 2, schema.Any))
	}
	return computed(t, c.spanOf(n), run)
}

// compileArgument compiles an argument after the predicate. It returns nil if there is none.
func (c *compiler) compileArgument(n *ast.BuiltinNode, i int, k schema.Kind) evalFunc {
	if len(n.Arguments) <= i {
		return nil
	}
	t := c.compile(n.Arguments[i])
	if k != schema.Any {
		c.checkKind(n.Arguments[i], t, k)
	}
	return t.Eval
}

func (c *compiler) checkPredicate(n *ast.BuiltinNode, body typedExpr) {
	at := n.Arguments[1]
	if p, ok := at.(*ast.PredicateNode); ok {
		at = p.Node
	}
	switch n.Name {
	case "filter", "all", "none", "any", "one", "count", "find", "findLast", "findIndex", "findLastIndex":
		c.checkKind(at, body, schema.Bool)
	case "sum":
		c.checkKind(at, body, schema.Number)
	}
}

func predicateResult(v any) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a predicate must give true or false, got %s", value.Kind(v))
	}
	return b, nil
}

func (p *predicateCall) filter(f *frame) (any, error) {
	out := []any{}
	err := p.forEach(f, func(item, v any, _ int) (bool, error) {
		ok, err := predicateResult(v)
		if !ok || err != nil {
			return err == nil, err
		}
		out = append(out, item)
		return true, f.call.Spend(16)
	})
	return out, err
}

func (p *predicateCall) mapAll(f *frame) (any, error) {
	out := []any{}
	err := p.forEach(f, func(_, v any, _ int) (bool, error) {
		out = append(out, v)
		return true, f.call.Spend(16)
	})
	return out, err
}

// find looks for the first element for which the predicate gives want. Result makes the value of
// the call of it; its item is nil if nothing was found.
func (p *predicateCall) find(want bool, result func(found bool, item any, index int) any) evalFunc {
	return func(f *frame) (any, error) {
		found, at := false, 0
		var element any
		err := p.forEach(f, func(item, v any, i int) (bool, error) {
			ok, err := predicateResult(v)
			if err == nil && ok == want {
				found, element, at = true, item, i
			}
			return !found, err
		})
		return result(found, element, at), err
	}
}

func indexIfFound(found bool, _ any, index int) any {
	if !found {
		return nil
	}
	return index
}

func (p *predicateCall) exactlyOne(f *frame) (any, error) {
	n, err := p.countUntil(f, 2)
	return n == 1, err
}

func (p *predicateCall) count(f *frame) (any, error) {
	n, err := p.countUntil(f, -1)
	return n, err
}

// countUntil counts the elements for which the predicate holds, and stops at enough.
func (p *predicateCall) countUntil(f *frame, enough int) (n int, err error) {
	err = p.forEach(f, func(_, v any, _ int) (bool, error) {
		ok, err := predicateResult(v)
		if ok {
			n++
		}
		return n != enough, err
	})
	return n, err
}
