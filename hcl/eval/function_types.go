package eval

import (
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

var kindTypes = map[functions.Kind]*schema.Type{
	functions.Any:     AnyType,
	functions.String:  StringType,
	functions.Number:  NumberType,
	functions.Integer: IntegerType,
	functions.Bool:    BoolType,
	functions.List:    {Kind: schema.List, Elem: AnyType},
	functions.Object:  {Kind: schema.Map, Elem: AnyType},
	functions.Data:    AnyType,
	functions.Bytes:   {Kind: schema.Bytes},
}

// Accepts reports whether a value of type t can be an argument of kind k, as far as that is known
// at load. Whether the value may be null is not asked.
func Accepts(k functions.Kind, t *schema.Type) bool {
	switch {
	case k == functions.Any || t.Kind == schema.Any:
		return true
	case k == functions.Data:
		return t.Kind == schema.String || t.Kind == schema.Bytes || t.Kind == schema.File
	case k == functions.Bytes && t.Kind == schema.File:
		return true
	}
	return CanBe(t, kindTypes[k].Kind)
}

// ResultType is the type of what fn returns for arguments of these types. Unify gives the common
// type of two arguments. The result may be null where fn says so, and where an argument that it
// returns may be; the latter is not a part of the type if the types of args have no null.
func ResultType(fn *functions.Function, args []*schema.Type,
	unify func(a, b *schema.Type) *schema.Type) *schema.Type {
	t := kindTypes[fn.Result.Kind]
	if fn.Result.Kind == functions.List {
		t = schema.ListOf(kindTypes[fn.Result.Elem])
	}
	if len(args) > 0 {
		switch fn.Result.Follow {
		case functions.SameAsFirst:
			t = args[0]
		case functions.ElemOfFirst:
			t = ElemType(args[0])
		case functions.ListOfFirst:
			t = schema.ListOf(args[0])
		case functions.Unify:
			t = args[0]
			for _, a := range args[1:] {
				t = unify(t, a)
			}
		}
	}
	return t
}
