package exprlang

import (
	"errors"
	"fmt"

	"github.com/expr-lang/expr/ast"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
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
	list := c.compileCollection(n.Arguments[0])
	if isKeyed(list.Type) {
		c.report(c.fullSpan(n.Arguments[0]), "Wrong type",
			"%s goes through a list, this is an object. values(...) or toPairs(...) makes one.", name)
	} else {
		c.checkKind(n.Arguments[0], list, schema.List)
	}
	p := &predicateCall{name: name, list: list.Eval, backward: n.Name == "findLast" || n.Name == "findLastIndex"}
	item := typedExpr{Type: elemType(list.Type), Facts: list.ElementFacts(true), Path: c.newPath(), Read: list.Read,
		Eval: func(f *eval.Frame) (any, error) { return f.Loops[len(f.Loops)-1].Item, nil }}
	elem, predicate := item.Type, item
	if len(n.Arguments) > 1 {
		predicate = c.compileInScope(scope{expr: item, acc: n.Name == "reduce"}, n.Arguments[1])
		p.body = predicate.Eval
		if gives != schema.Any {
			at := n.Arguments[1]
			if p, ok := at.(*ast.PredicateNode); ok {
				at = p.Node
			}
			c.checkKind(at, predicate, gives)
		}
	}
	if name == "map" {
		out := typedExpr{Type: schema.ListOf(predicate.Type), Facts: eval.EachOf(predicate).By(list), Eval: p.mapAll}
		out.AddCuts(list.Cuts)
		return out
	}
	if p.body != nil { // it judges the elements
		predicate = c.requireWhole(n.Arguments[1], predicate)
	}
	// some of the elements of the list
	some := func(t *schema.Type, facts eval.Facts, e eval.Func) typedExpr {
		return typedExpr{Type: t, Facts: facts.By(predicate), Read: list.Read, Eval: e}
	}
	if name == "filter" {
		return some(list.Type.NotNull(), list.Some(), p.filter)
	}
	list = c.requireOwn(list)
	computed := func(t *schema.Type, e eval.Func) typedExpr {
		return typedExpr{Type: t, Facts: eval.Facts{}.By(list, predicate), Eval: e}
	}
	switch name {
	case "all":
		return computed(eval.BoolType, p.find(false, func(found bool, _ any, _ int) any { return !found }))
	case "none":
		return computed(eval.BoolType, p.find(true, func(found bool, _ any, _ int) any { return !found }))
	case "any":
		return computed(eval.BoolType, p.find(true, func(found bool, _ any, _ int) any { return found }))
	case "find", "findLast":
		return some(elem.AsNullable(), list.ElementFacts(true),
			p.find(true, func(_ bool, item any, _ int) any { return item }))
	case "findIndex", "findLastIndex":
		return computed(eval.IntegerType.AsNullable(), p.find(true, indexIfFound))
	case "one":
		return computed(eval.BoolType, p.count(2, func(n int) any { return n == 1 }))
	case "count":
		return computed(eval.IntegerType, p.count(-1, func(n int) any { return n }))
	case "sum":
		if predicate.Type.Kind == schema.Integer {
			return computed(eval.IntegerType, p.sum)
		}
		return computed(eval.NumberType, p.sum)
	case "groupBy":
		group := typedExpr{Type: schema.ListOf(elem), Facts: list.Some()}
		return typedExpr{Type: &schema.Type{Kind: schema.Map, Elem: group.Type},
			Facts: eval.EachOf(group).By(predicate), Eval: p.groupBy(16, addToList)}
	case "countBy":
		return computed(&schema.Type{Kind: schema.Map, Elem: eval.IntegerType}, p.groupBy(0, addToCount))
	case "sortBy":
		order := c.compileArgument(n, 2, schema.String)
		out := some(list.Type.NotNull(), list.Some(), p.sortBy(order.Eval))
		out.Facts = out.By(order)
		return out
	}
	initial := c.compileArgument(n, 2, schema.Any)
	return typedExpr{Type: eval.AnyType, Facts: eval.From(predicate, initial).By(list), Eval: p.reduce(initial.Eval)}
}

// compileArgument compiles an argument after the predicate. Its Eval is nil if there is none.
func (c *compiler) compileArgument(n *ast.BuiltinNode, i int, k schema.Kind) typedExpr {
	if len(n.Arguments) <= i {
		return typedExpr{Type: eval.AnyType}
	}
	t := c.requireWhole(n.Arguments[i], c.compile(n.Arguments[i]))
	if k != schema.Any {
		c.checkKind(n.Arguments[i], t, k)
	}
	return t
}

func predicateResult(v any) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a predicate must give true or false, got %s", value.Kind(v))
	}
	return b, nil
}

func (p *predicateCall) filter(f *eval.Frame) (any, error) {
	out := []any{}
	err := p.forEach(f, func(item, v any, _ int) (bool, error) {
		ok, err := predicateResult(v)
		if !ok || err != nil {
			return err == nil, err
		}
		out = append(out, item)
		return true, f.Functions.Spend(16)
	})
	return out, err
}

func (p *predicateCall) mapAll(f *eval.Frame) (any, error) {
	out := []any{}
	err := p.forEach(f, func(_, v any, _ int) (bool, error) {
		out = append(out, v)
		return true, f.Functions.Spend(16)
	})
	return out, err
}

// find looks for the first element for which the predicate gives want. Result makes the value of
// the call of it; its item is nil if nothing was found.
func (p *predicateCall) find(want bool, result func(found bool, item any, index int) any) eval.Func {
	return func(f *eval.Frame) (any, error) {
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

// count counts the elements for which the predicate holds, and stops at enough.
func (p *predicateCall) count(enough int, result func(n int) any) eval.Func {
	return func(f *eval.Frame) (any, error) {
		n := 0
		err := p.forEach(f, func(_, v any, _ int) (bool, error) {
			ok, err := predicateResult(v)
			if ok {
				n++
			}
			return n != enough, err
		})
		return result(n), err
	}
}

func (p *predicateCall) sum(f *eval.Frame) (any, error) {
	var total any = 0
	err := p.forEach(f, func(_, v any, _ int) (_ bool, err error) {
		if err := f.SpendDigits(total, v); err != nil {
			return false, err
		}
		if !value.IsNumber(v) {
			return false, fmt.Errorf("sum adds numbers, got %s", value.Kind(v))
		}
		total, err = functions.Add(total, v)
		return true, err
	})
	return total, err
}

// groupKey is the text by which an element is grouped.
func groupKey(v any) (string, error) {
	v, err := eval.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v.(type) {
	case []any, map[string]any, value.Bytes:
		return "", fmt.Errorf("what is grouped by must be a string, a number, a bool or null, got %s", value.Kind(v))
	}
	return value.Text(v)
}

// groupBy groups the elements by what the predicate gives. Add returns a group, which is nil at
// first, with one more element, for which it allocates cost bytes.
func (p *predicateCall) groupBy(cost int, add func(group, item any) any) eval.Func {
	return func(f *eval.Frame) (any, error) {
		out := map[string]any{}
		err := p.forEach(f, func(item, v any, _ int) (bool, error) {
			k, err := groupKey(v)
			if err != nil {
				return false, err
			}
			group, there := out[k]
			out[k] = add(group, item)
			if there {
				return true, f.Functions.Spend(cost)
			}
			return true, f.Functions.Spend(cost + 64 + len(k))
		})
		return out, err
	}
}

func addToList(group, item any) any {
	list, _ := group.([]any)
	return append(list, item)
}

func addToCount(group, _ any) any {
	n, _ := group.(int)
	return n + 1
}

func (p *predicateCall) sortBy(order eval.Func) eval.Func {
	if order == nil {
		order = eval.Constant("asc").Eval
	}
	return func(f *eval.Frame) (any, error) {
		o, err := order(f)
		if err != nil {
			return nil, err
		}
		if o != "asc" && o != "desc" {
			return nil, errors.New(`sortBy: the order must be "asc" or "desc"`)
		}
		items, keys := []any{}, []any{}
		err = p.forEach(f, func(item, v any, _ int) (bool, error) {
			items, keys = append(items, item), append(keys, v)
			return true, f.Functions.Spend(64)
		})
		if err != nil {
			return nil, err
		}
		sorted, err := functions.SortBy(f.Budget(), items, keys, o == "desc")
		if err != nil {
			return nil, fmt.Errorf("sortBy: %w", err)
		}
		return sorted, nil
	}
}

// reduce computes one value from all elements. Without an initial value it starts with the first
// element.
func (p *predicateCall) reduce(initial eval.Func) eval.Func {
	return func(f *eval.Frame) (any, error) {
		list, err := p.elements(f)
		if err != nil {
			return nil, err
		}
		var acc any
		first := 0
		switch {
		case initial != nil:
			acc, err = initial(f)
		case len(list) > 0:
			first, acc = 1, list[0]
		default:
			err = errors.New("reduce has nothing to start from: the list is empty and there is no initial value")
		}
		depth := len(f.Loops)
		f.Loops = append(f.Loops, eval.Loop{})
		for i := first; i < len(list) && err == nil; i++ {
			if err = f.SpendSteps(1); err == nil {
				f.Loops[depth] = eval.Loop{Item: list[i], Index: i, Acc: acc}
				acc, err = p.body(f)
			}
		}
		f.Loops = f.Loops[:depth]
		return acc, err
	}
}
