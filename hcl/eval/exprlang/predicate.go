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

// forEach goes through the list until each says that there is no more to do. After an error the frame is not used again.
func (it *predicateCall) forEach(f *frame, each func(item, v any, index int) (more bool, err error)) error {
	v, err := evalResolved(f, it.list)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		return notListError(it.name, v)
	}
	depth := len(f.loops)
	f.loops = append(f.loops, loop{})
	for i := range list {
		at := i
		if it.backward {
			at = len(list) - 1 - i
		}
		if err := f.spendSteps(1); err != nil {
			return err
		}
		here := &f.loops[depth]
		here.item, here.index = list[at], at
		v := list[at]
		if it.body != nil {
			if v, err = it.body(f); err != nil {
				return err
			}
		}
		more, err := each(list[at], v, at)
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

func notListError(name string, v any) error {
	if _, ok := v.(map[string]any); ok {
		return fmt.Errorf("%s goes through a list, got object; values(...) or toPairs(...) makes one", name)
	}
	return fmt.Errorf("%s goes through a list, got %s", name, value.Kind(v))
}

// compilePredicateCall compiles a call of one of the functions that take one.
func (c *compiler) compilePredicateCall(n *ast.BuiltinNode) typedExpr {
	name := n.Name
	if at := c.spanOf(n); c.src[at.from:at.to] == "countBy" { // callable renamed it
		name = "countBy"
	}
	list := c.compile(n.Arguments[0])
	switch {
	case isKeyed(list.typ):
		c.report(c.fullSpan(n.Arguments[0]), "Wrong type", "%s goes through a list, this is an object. values(...) or toPairs(...) makes one.", name)
	default:
		c.checkKind(n.Arguments[0], list, schema.List)
	}
	it := &predicateCall{name: name, list: list.eval, backward: n.Name == "findLast" || n.Name == "findLastIndex"}
	elem := elemType(list.typ)
	body := typedExpr{typ: elem}
	if len(n.Arguments) > 1 {
		c.scopes = append(c.scopes, scope{typ: elem, path: c.newPath(), acc: n.Name == "reduce"})
		body = c.compile(n.Arguments[1])
		c.scopes = c.scopes[:len(c.scopes)-1]
		it.body = body.eval
		c.checkPredicate(n, body)
	}
	t := typedExpr{at: c.spanOf(n)}
	switch name {
	case "filter":
		t.typ, t.eval = list.typ.NotNull(), it.filter()
	case "map":
		t.typ, t.eval = schema.ListOf(body.typ), it.mapAll()
	case "all", "none", "any":
		t.typ, t.eval = eval.BoolType, it.anyAll(n.Name == "any", n.Name == "all")
	case "one":
		t.typ, t.eval = eval.BoolType, it.exactlyOne()
	case "count":
		t.typ, t.eval = eval.IntegerType, it.count()
	case "sum":
		t.typ, t.eval = eval.NumberType, it.sum()
		if body.typ.Kind == schema.Integer {
			t.typ = eval.IntegerType
		}
	case "find", "findLast":
		t.typ, t.eval = elem.AsNullable(), it.find(false)
	case "findIndex", "findLastIndex":
		t.typ, t.eval = eval.IntegerType.AsNullable(), it.find(true)
	case "groupBy":
		t.typ, t.eval = &schema.Type{Kind: schema.Map, Elem: schema.ListOf(elem)}, it.groupBy()
	case "countBy":
		t.typ, t.eval = &schema.Type{Kind: schema.Map, Elem: eval.IntegerType}, it.countBy()
	case "sortBy":
		t.typ, t.eval = list.typ.NotNull(), it.sortBy(c.compileArgument(n, 2, schema.String))
	case "reduce":
		t.typ, t.eval = eval.AnyType, it.reduce(c.compileArgument(n, 2, schema.Any))
	}
	return t
}

// compileArgument compiles an argument after the predicate, or gives nil.
func (c *compiler) compileArgument(n *ast.BuiltinNode, i int, k schema.Kind) evalFunc {
	if len(n.Arguments) <= i {
		return nil
	}
	t := c.compile(n.Arguments[i])
	if k != schema.Any {
		c.checkKind(n.Arguments[i], t, k)
	}
	return t.eval
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

func (it *predicateCall) filter() evalFunc {
	return func(f *frame) (any, error) {
		out := []any{}
		err := it.forEach(f, func(item, v any, _ int) (bool, error) {
			ok, err := predicateResult(v)
			if !ok || err != nil {
				return err == nil, err
			}
			out = append(out, item)
			return true, f.call.Spend(16)
		})
		return out, err
	}
}

func (it *predicateCall) mapAll() evalFunc {
	return func(f *frame) (any, error) {
		out := []any{}
		err := it.forEach(f, func(_, v any, _ int) (bool, error) {
			out = append(out, v)
			return true, f.call.Spend(16)
		})
		return out, err
	}
}

// anyAll stops at the first element that decides: for any a true one, for all a false one, for none a true one.
func (it *predicateCall) anyAll(found, all bool) evalFunc {
	return func(f *frame) (any, error) {
		out := !found
		err := it.forEach(f, func(_, v any, _ int) (bool, error) {
			ok, err := predicateResult(v)
			if ok == !all {
				out = found
				return false, err
			}
			return true, err
		})
		return out, err
	}
}

func (it *predicateCall) exactlyOne() evalFunc {
	return func(f *frame) (any, error) {
		n, err := it.countUntil(f, 2)
		return n == 1, err
	}
}

func (it *predicateCall) count() evalFunc {
	return func(f *frame) (any, error) {
		n, err := it.countUntil(f, -1)
		return n, err
	}
}

// countUntil counts the elements for which the predicate holds, up to enough.
func (it *predicateCall) countUntil(f *frame, enough int) (n int, err error) {
	err = it.forEach(f, func(_, v any, _ int) (bool, error) {
		ok, err := predicateResult(v)
		if ok {
			n++
		}
		return n != enough, err
	})
	return n, err
}
