package eval

import (
	"errors"
	"fmt"
	"slices"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Not returns the opposite of a condition.
func Not(e TypedExpr) TypedExpr {
	inner := e.Eval
	out := Computed(BoolType, func(f *Frame) (any, error) {
		ok, err := Bool(inner(f))
		return !ok, err
	}, e)
	out.WhenTrue, out.WhenFalse = e.WhenFalse, e.NonNullWhenTrue()
	return out
}

// Logical combines two conditions by && or ||. The right one is computed only if the left one
// leaves the answer open, which is when it gives open. Before there is a call, a right one that decides
// whatever the left one gives decides, too.
func Logical(l, r TypedExpr, open bool) TypedExpr {
	first, second := l.Eval, r.Eval
	t := Computed(BoolType, func(f *Frame) (any, error) {
		ok, err := Bool(first(f))
		switch {
		case err != nil && f.NoCall && errors.Is(err, ErrNoCall):
			if decides, other := Bool(second(f)); other == nil && decides != open {
				return decides, nil // whatever the arguments are
			}
			return ok, err
		case ok != open || err != nil:
			return ok, err
		}
		return Bool(second(f))
	}, l, r)
	if open {
		t.WhenTrue = slices.Concat(l.NonNullWhenTrue(), r.NonNullWhenTrue())
		t.WhenFalse = intersect(l.WhenFalse, r.WhenFalse)
	} else {
		t.WhenTrue = intersect(l.NonNullWhenTrue(), r.NonNullWhenTrue())
		t.WhenFalse = slices.Concat(l.WhenFalse, r.WhenFalse)
	}
	return t
}

// Conditional returns an expression of type t that gives yes or no.
func Conditional(t *schema.Type, cond, yes, no TypedExpr) TypedExpr {
	holds, then, otherwise := cond.Eval, yes.Eval, no.Eval
	return TypedExpr{Type: t, Facts: Either(yes, no).By(cond), Eval: func(f *Frame) (any, error) {
		ok, err := Bool(holds(f))
		if err != nil {
			return nil, err
		}
		if ok {
			return then(f)
		}
		return otherwise(f)
	}}
}

// Equality compares two values by == or, if negate is set, by !=.
func Equality(l, r TypedExpr, negate bool, equal func(f *Frame, a, b any) (bool, error)) TypedExpr {
	t := Binary(BoolType, l, r, func(f *Frame, a, b any) (any, error) {
		ok, err := equal(f, a, b)
		return ok != negate, err
	})
	switch {
	case r.IsNull():
		t.WhenFalse = Prefixes(l.Path)
	case l.IsNull():
		t.WhenFalse = Prefixes(r.Path)
	case r.Known:
		t.WhenTrue = Prefixes(l.Path)
	case l.Known:
		t.WhenTrue = Prefixes(r.Path)
	}
	if negate {
		t.WhenTrue, t.WhenFalse = t.WhenFalse, t.WhenTrue
	}
	return t
}

// Binary returns an expression of type t that compute computes from two values.
func Binary(t *schema.Type, l, r TypedExpr, compute func(f *Frame, a, b any) (any, error)) TypedExpr {
	left, right := l.Eval, r.Eval
	return Computed(t, func(f *Frame) (any, error) {
		a, err := Resolved(left(f))
		if err != nil {
			return nil, err
		}
		b, err := Resolved(right(f))
		if err != nil {
			return nil, err
		}
		return compute(f, a, b)
	}, l, r)
}

// ListOf returns a list of elements.
func ListOf(elems []TypedExpr) TypedExpr {
	elem := AnyType
	for i, e := range elems {
		if i == 0 {
			elem = e.TypeWithNull()
		} else {
			elem = schema.Unify(elem, e.TypeWithNull())
		}
	}
	return TypedExpr{Type: schema.ListOf(elem), Facts: fromList(elems), Eval: func(f *Frame) (any, error) {
		if err := f.chargeProgram(24 + 16*len(elems)); err != nil {
			return nil, err
		}
		list := make([]any, len(elems))
		for i := range elems {
			v, err := elems[i].Eval(f)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	}}
}

// Entry is one member of an object. Its name is Name, or what NameOf makes of Key if that is set. A null value is left
// out if Absent is set and reports that it stands for an absent one.
type Entry struct {
	Name   string
	NameOf func(*Frame) (string, error)
	Key    TypedExpr
	Value  TypedExpr
	Absent func(*Frame) bool
}

// IsNamed reports whether an entry with this name is known.
func IsNamed(entries []Entry, name string) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.NameOf == nil && e.Name == name })
}

// ObjectOf returns an object. Its type is a map if a name is not known.
func ObjectOf(entries []Entry) TypedExpr {
	t := &schema.Type{Kind: schema.Object}
	for _, e := range entries {
		t.Members = append(t.Members, &schema.Member{Name: e.Name, Type: e.Value.TypeWithNull()})
		if e.NameOf != nil {
			t = &schema.Type{Kind: schema.Map, Elem: AnyType}
			break
		}
	}
	return TypedExpr{Type: t, Facts: fromMembers(entries), Eval: func(f *Frame) (any, error) {
		if err := f.chargeProgram(48 + 64*len(entries)); err != nil {
			return nil, err
		}
		m := make(map[string]any, len(entries))
		for i := range entries {
			e := &entries[i]
			name := e.Name
			if e.NameOf != nil {
				var err error
				if name, err = e.NameOf(f); err != nil {
					return nil, err
				}
			}
			v, err := e.Value.Eval(f)
			if err != nil {
				return nil, err
			}
			if v != nil || e.Absent == nil || !e.Absent(f) {
				m[name] = v
			}
		}
		return m, nil
	}}
}

// Call calls a function. If spread is set, the elements of the last argument are arguments.
func Call(t *schema.Type, fn *functions.Function, args []TypedExpr, spread bool) TypedExpr {
	evals := make([]Func, len(args))
	for i, a := range args {
		evals[i] = a.Eval
	}
	return TypedExpr{Type: t, Facts: fromCall(fn, args), Eval: func(f *Frame) (any, error) {
		if f.Scratch == nil {
			f.Scratch = new(Scratch)
		}
		base := len(f.args)
		err := f.pushArguments(fn, evals)
		if err == nil && spread {
			err = f.spreadArgument(fn)
		}
		var v any
		if err == nil {
			v, err = fn.Call(f.Budget(), f.args[base:])
		}
		f.args = f.args[:base]
		return v, err
	}}
}

// pushArguments computes the arguments of a function. In a program, large ones cost more steps.
func (f *Frame) pushArguments(fn *functions.Function, evals []Func) error {
	steps := 1
	for i, e := range evals {
		v, err := e(f)
		if err != nil {
			return err
		}
		switch x := v.(type) {
		case string:
			steps += len(x) / 64
		case []any:
			steps += len(x) / 4
		case value.Bytes:
			steps += len(x) / 64
		case value.File:
			if v, err = f.fileArgument(fn, i, x); err != nil {
				return err
			}
		}
		f.args = append(f.args, v)
	}
	if f.call == nil {
		return nil
	}
	return f.SpendSteps(steps)
}

// spreadArgument replaces the last argument of a function by its elements.
func (f *Frame) spreadArgument(fn *functions.Function) error {
	last := len(f.args) - 1
	list, ok := f.args[last].([]any)
	if !ok {
		return fmt.Errorf("%s: a list is expected before `...`", fn.Name)
	}
	f.args = append(f.args[:last], list...)
	return nil
}

// arithmetic are the operators that compute a number from two. They are exact: integers that leave
// the range of int, and decimals that a float64 does not hold, keep their digits.
var arithmetic = map[string]func(a, b any) (any, error){
	"+": functions.Add, "-": functions.Subtract, "*": functions.Multiply, "/": functions.Divide,
	"%": functions.Modulo, "^": functions.Power, "**": functions.Power,
}

// OnNumbers returns what an operator does with two values, which must be numbers: it computes another, or compares
// them.
func OnNumbers(op string) func(f *Frame, a, b any) (any, error) {
	holds, result := Ordering(op), arithmetic[op]
	return func(f *Frame, a, b any) (any, error) {
		if err := f.SpendDigits(a, b); err != nil {
			return nil, err
		}
		for _, v := range []any{a, b} {
			if !value.IsNumber(v) {
				return nil, fmt.Errorf("%s takes numbers, got %s", op, value.Kind(v))
			}
		}
		if holds != nil {
			return holds(value.Compare(a, b)), nil
		}
		return result(a, b)
	}
}

// ArithmeticType is the type of what an operator computes from numbers of two types.
func ArithmeticType(op string, a, b *schema.Type) *schema.Type {
	if a.Kind == schema.Integer && b.Kind == schema.Integer && (op == "+" || op == "-" || op == "*" || op == "%") {
		return IntegerType
	}
	return NumberType
}

var orderings = map[string]func(order int) bool{
	"<":  func(order int) bool { return order < 0 },
	"<=": func(order int) bool { return order <= 0 },
	">":  func(order int) bool { return order > 0 },
	">=": func(order int) bool { return order >= 0 },
}

// Ordering returns how an operator judges the order of two values, which is negative when the first
// is less, or nil if it is no ordering.
func Ordering(op string) func(order int) bool { return orderings[op] }
