package program

import (
	"fmt"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/value"
)

// An iteration is a compiled call of a function that takes a predicate.
type iteration struct {
	name     string
	list     eval
	body     eval // the predicate; nil stands for the element itself
	backward bool
}

// run goes through the list until each says that there is no more to do. After an error the frame is not used again.
func (it *iteration) run(f *frame, each func(item, v any, index int) (more bool, err error)) error {
	v, err := resolved(f, it.list)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		return notList(it.name, v)
	}
	depth := len(f.loops)
	f.loops = append(f.loops, loop{})
	for i := range list {
		at := i
		if it.backward {
			at = len(list) - 1 - i
		}
		if err := f.tick(1); err != nil {
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

func notList(name string, v any) error {
	if _, ok := v.(map[string]any); ok {
		return fmt.Errorf("%s goes through a list, got object; values(...) or toPairs(...) makes one", name)
	}
	return fmt.Errorf("%s goes through a list, got %s", name, value.Kind(v))
}

// predicate compiles a call of one of the functions that take one.
func (c *compiler) predicate(n *ast.BuiltinNode) term {
	name := n.Name
	if at := c.at(n); c.src[at.from:at.to] == "countBy" { // callable renamed it
		name = "countBy"
	}
	list := c.expr(n.Arguments[0])
	switch {
	case list.shape.keyed():
		c.problem(c.extent(n.Arguments[0]), "Wrong type", "%s goes through a list, this is an object. values(...) or toPairs(...) makes one.", name)
	default:
		c.expect(n.Arguments[0], list, List)
	}
	it := &iteration{name: name, list: list.eval, backward: n.Name == "findLast" || n.Name == "findLastIndex"}
	elem := list.shape.elem()
	body := term{shape: elem}
	if len(n.Arguments) > 1 {
		c.scopes = append(c.scopes, scope{shape: elem, path: c.fresh(), acc: n.Name == "reduce"})
		body = c.expr(n.Arguments[1])
		c.scopes = c.scopes[:len(c.scopes)-1]
		it.body = body.eval
		c.predicateKind(n, body)
	}
	t := term{at: c.at(n)}
	switch name {
	case "filter":
		t.shape, t.eval = list.shape.notNull(), it.filter()
	case "map":
		t.shape, t.eval = listOf(body.shape), it.collect()
	case "all", "none", "any":
		t.shape, t.eval = boolean, it.decide(n.Name == "any", n.Name == "all")
	case "one":
		t.shape, t.eval = boolean, it.one()
	case "count":
		t.shape, t.eval = integer, it.count()
	case "sum":
		t.shape, t.eval = number, it.sum()
		if body.shape.Kind == Integer {
			t.shape = integer
		}
	case "find", "findLast":
		t.shape, t.eval = elem.orNull(), it.find(false)
	case "findIndex", "findLastIndex":
		t.shape, t.eval = integer.orNull(), it.find(true)
	case "groupBy":
		t.shape, t.eval = &Shape{Kind: Map, Elem: listOf(elem)}, it.group()
	case "countBy":
		t.shape, t.eval = &Shape{Kind: Map, Elem: integer}, it.countBy()
	case "sortBy":
		t.shape, t.eval = list.shape.notNull(), it.sort(c.argument(n, 2, String))
	case "reduce":
		t.shape, t.eval = anything, it.reduce(c.argument(n, 2, Any))
	}
	return t
}

// argument compiles an argument after the predicate, or gives nil.
func (c *compiler) argument(n *ast.BuiltinNode, i int, k Kind) eval {
	if len(n.Arguments) <= i {
		return nil
	}
	t := c.expr(n.Arguments[i])
	if k != Any {
		c.expect(n.Arguments[i], t, k)
	}
	return t.eval
}

func (c *compiler) predicateKind(n *ast.BuiltinNode, body term) {
	at := n.Arguments[1]
	if p, ok := at.(*ast.PredicateNode); ok {
		at = p.Node
	}
	switch n.Name {
	case "filter", "all", "none", "any", "one", "count", "find", "findLast", "findIndex", "findLastIndex":
		c.expect(at, body, Bool)
	case "sum":
		c.expect(at, body, Number)
	}
}

func condition(v any) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a predicate must give true or false, got %s", value.Kind(v))
	}
	return b, nil
}

func (it *iteration) filter() eval {
	return func(f *frame) (any, error) {
		out := []any{}
		err := it.run(f, func(item, v any, _ int) (bool, error) {
			ok, err := condition(v)
			if !ok || err != nil {
				return err == nil, err
			}
			out = append(out, item)
			return true, f.call.Spend(16)
		})
		return out, err
	}
}

func (it *iteration) collect() eval {
	return func(f *frame) (any, error) {
		out := []any{}
		err := it.run(f, func(_, v any, _ int) (bool, error) {
			out = append(out, v)
			return true, f.call.Spend(16)
		})
		return out, err
	}
}

// decide stops at the first element that decides: for any a true one, for all a false one, for none a true one.
func (it *iteration) decide(found, all bool) eval {
	return func(f *frame) (any, error) {
		out := !found
		err := it.run(f, func(_, v any, _ int) (bool, error) {
			ok, err := condition(v)
			if ok == !all {
				out = found
				return false, err
			}
			return true, err
		})
		return out, err
	}
}

func (it *iteration) one() eval {
	return func(f *frame) (any, error) {
		n, err := it.number(f, 2)
		return n == 1, err
	}
}

func (it *iteration) count() eval {
	return func(f *frame) (any, error) {
		n, err := it.number(f, -1)
		return n, err
	}
}

// number counts the elements for which the predicate holds, up to enough.
func (it *iteration) number(f *frame, enough int) (n int, err error) {
	err = it.run(f, func(_, v any, _ int) (bool, error) {
		ok, err := condition(v)
		if ok {
			n++
		}
		return n != enough, err
	})
	return n, err
}
