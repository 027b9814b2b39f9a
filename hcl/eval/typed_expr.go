// Package eval is what the two expression languages of a configuration have in common: compiled
// expressions and their types, the scope that they are compiled in, the values of a call that they
// are computed from, what is known of null, and the budget of a call. Package hclexpr compiles the
// expressions and templates of HCL, package exprlang programs of the expr language.
package eval

import (
	"errors"
	"fmt"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// NullPolicy says what a null value does to the text around it.
type NullPolicy int

const (
	RejectNull    NullPolicy = iota // it is an error, at load if the value may be null
	PropagateNull                   // the whole text is null
	PrintNull                       // it reads "null"
)

// Func computes a value of a call. It is safe for concurrent use with different Frames.
type Func = func(*Frame) (any, error)

// TypedExpr is a compiled expression: a function that computes its value, and what is known of the
// value at load.
type TypedExpr struct {
	Eval Func
	Type *schema.Type
	Facts
	Path   string // the traversal that the expression is, if it is nothing else
	Phrase string // what a sentence calls the value when it has no Path
	// The traversals that are certainly not null if the value is true, or false.
	WhenTrue, WhenFalse []string

	// Read is set while the expression is, or comes from, a traversal whose read is not recorded yet: in a program,
	// the part of it that is known at load; in HCL, its root.
	Read        string
	NullByChain bool // in a program, an optional step of the traversal may end it with null
}

// Computed returns an expression of type t that compute computes from parts.
func Computed(t *schema.Type, compute Func, parts ...TypedExpr) TypedExpr {
	return TypedExpr{Type: t, Facts: From(parts...), Eval: compute}
}

// TypeWithNull is the type of a place that holds the value, which may be null where the value may
// be.
func (e TypedExpr) TypeWithNull() *schema.Type {
	if e.NullReason != "" {
		return e.Type.AsNullable()
	}
	return e.Type
}

// IsNull reports whether the value is known to be null.
func (e TypedExpr) IsNull() bool { return e.Known && e.Value == nil }

// Constant returns an expression of a constant.
func Constant(v any) TypedExpr {
	e := TypedExpr{Type: TypeOf(v), Facts: Facts{Known: true, Value: v},
		Eval: func(*Frame) (any, error) { return v, nil }}
	if v == nil {
		e.NullReason = "it is null"
	}
	return e
}

// Broken stands for an expression that did not compile. Its type is any, so that no other mistake
// is reported because of it.
func Broken() TypedExpr {
	return TypedExpr{Type: AnyType, Facts: Facts{Marks: Marks{Call: true}},
		Eval: func(*Frame) (any, error) { return nil, nil }}
}

// UnifyTypes is the type of a value that is one of several. Null takes the type of the others.
func UnifyTypes(parts ...TypedExpr) *schema.Type {
	t := parts[0]
	for _, p := range parts[1:] {
		switch {
		case t.IsNull():
			t = TypedExpr{Type: p.Type}
		case !p.IsNull():
			t = TypedExpr{Type: schema.Unify(t.Type, p.Type)}
		}
	}
	return t.Type
}

// Bool is the result of a condition.
func Bool(v any, err error) (bool, error) {
	if b, ok := v.(bool); ok && err == nil {
		return b, nil
	}
	if v, err = Resolved(v, err); err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("true or false is expected, got %s", value.Kind(v))
	}
	return b, nil
}

// Resolved is the result of an expression, decoded if it is still JSON.
func Resolved(v any, err error) (any, error) {
	if _, deferred := v.(value.LazyJSON); !deferred || err != nil {
		return v, err
	}
	if v, err = value.Resolve(v); err != nil {
		if form, ok := errors.AsType[*value.FormError](err); ok {
			return nil, form
		}
		return nil, errors.New("a value of the answer is not valid JSON")
	}
	return v, nil
}

// Resolve decodes a value that is still JSON.
func Resolve(v any) (any, error) { return Resolved(v, nil) }
