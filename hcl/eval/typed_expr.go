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

// Typed is a compiled expression: a function that computes its value from an F, and what is known
// of the value at load. Eval is safe for concurrent use with different Fs.
type Typed[F any] struct {
	Eval           func(F) (any, error)
	Type           *schema.Type
	NullReason     string // why the value may be null here; empty when it is not
	Known          bool   // the value does not depend on a call
	Value          any    // when Known
	Sensitive      bool   // it holds a secret
	CallerSpecific bool   // it depends on the caller's identity
	Path           string // the traversal that the expression is, if it is nothing else
	Phrase         string // what a sentence calls the value when it has no Path
}

// TypedExpr is an expression that is computed from the values of a call.
type TypedExpr = Typed[*Frame]

// TypeWithNull is the type of a place that holds the value, which may be null where the value may
// be.
func (e Typed[F]) TypeWithNull() *schema.Type {
	if e.NullReason != "" {
		return e.Type.AsNullable()
	}
	return e.Type
}

// ConstantOf returns an expression of a constant.
func ConstantOf[F any](v any, t *schema.Type) Typed[F] {
	e := Typed[F]{Type: t, Known: true, Value: v, Eval: func(F) (any, error) { return v, nil }}
	if v == nil {
		e.NullReason = "it is null"
	}
	return e
}

// BrokenOf stands for an expression that did not compile. Its type is any, so that no other mistake
// is reported because of it.
func BrokenOf[F any]() Typed[F] {
	return Typed[F]{Type: AnyType, Eval: func(F) (any, error) { return nil, nil }}
}

// Constant is ConstantOf for an expression of a call. The type follows from the value.
func Constant(v any) TypedExpr { return ConstantOf[*Frame](v, TypeOf(v)) }

// Broken is BrokenOf for an expression of a call.
func Broken() TypedExpr { return BrokenOf[*Frame]() }

// Combine returns an expression of which is known what follows from its parts. Its Eval is not set.
func Combine[F any](t *schema.Type, parts ...Typed[F]) Typed[F] {
	e := Typed[F]{Type: t, Known: true}
	for _, p := range parts {
		e.Known = e.Known && p.Known
		e.Sensitive = e.Sensitive || p.Sensitive
		e.CallerSpecific = e.CallerSpecific || p.CallerSpecific
	}
	return e
}

// UnifyTypes is the type of a value that is one of two. Null takes the type of the other.
func UnifyTypes(a, b TypedExpr) *schema.Type {
	switch {
	case a.Known && a.Value == nil:
		return b.Type
	case b.Known && b.Value == nil:
		return a.Type
	}
	return schema.Unify(a.Type, b.Type)
}

// EvalBool computes a condition.
func EvalBool[F any](f F, e func(F) (any, error)) (bool, error) {
	v, err := e(f)
	if b, ok := v.(bool); ok && err == nil {
		return b, nil
	}
	if err == nil {
		v, err = Resolve(v)
	}
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("true or false is expected, got %s", value.Kind(v))
	}
	return b, nil
}

// EvalPair computes two expressions, and decodes what they give.
func EvalPair[F any](f F, a, b func(F) (any, error)) (x, y any, err error) {
	if x, err = EvalResolved(f, a); err != nil {
		return nil, nil, err
	}
	y, err = EvalResolved(f, b)
	return x, y, err
}

// EvalResolved computes an expression, and decodes what it gives.
func EvalResolved[F any](f F, e func(F) (any, error)) (any, error) {
	v, err := e(f)
	if err != nil {
		return nil, err
	}
	if _, deferred := v.(value.LazyJSON); !deferred {
		return v, nil
	}
	return Resolve(v)
}

// Resolve decodes a value that is still JSON.
func Resolve(v any) (any, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return nil, errors.New("a value of the answer is not valid JSON")
	}
	return v, nil
}
