package eval

import (
	"fmt"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// NullPolicy says what a null inside a text does.
type NullPolicy int

const (
	RejectNull    NullPolicy = iota // it is a mistake: at load where it may be null, at call where it is
	PropagateNull                   // the whole text is null
	PrintNull                       // it reads "null"
)

// TypedExpr is one compiled expression.
type TypedExpr struct {
	Eval           func(*Frame) (any, error)
	Type           *schema.Type
	NullReason     string // why it may be null here, or empty when it is not
	Known          bool
	Value          any // when known
	Sensitive      bool
	CallerSpecific bool   // it depends on the caller's identity
	Path           string // the traversal that it is, if it is nothing else: what narrowing is about
	Phrase         string // what a sentence calls it, where that is not the path
}

// TypeWithNull is the type of a place that holds the value: null passes where the value may be null.
func (n TypedExpr) TypeWithNull() *schema.Type {
	if n.NullReason != "" {
		return n.Type.AsNullable()
	}
	return n.Type
}

func Constant(v any) TypedExpr {
	n := TypedExpr{Known: true, Value: v, Type: TypeOf(v), Eval: func(*Frame) (any, error) { return v, nil }}
	if v == nil {
		n.NullReason = "it is null"
	}
	return n
}

// Dynamic is a node of which nothing is known; it also stands for what did not compile.
func Dynamic(eval func(*Frame) (any, error)) TypedExpr {
	return TypedExpr{Type: AnyType, Eval: eval}
}

func Broken() TypedExpr {
	return Dynamic(func(*Frame) (any, error) { return nil, nil })
}

// UnifyTypes is the type of a value that is one of two; null takes the other's type.
func UnifyTypes(a, b TypedExpr) *schema.Type {
	switch {
	case a.Known && a.Value == nil:
		return b.Type
	case b.Known && b.Value == nil:
		return a.Type
	}
	return schema.Unify(a.Type, b.Type)
}

func EvalBool(n TypedExpr, f *Frame) (bool, error) {
	v, err := n.Eval(f)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a condition must be true or false, got %s", value.Kind(v))
	}
	return b, nil
}
