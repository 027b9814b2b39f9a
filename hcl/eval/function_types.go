package eval

import (
	"slices"

	"hatchel/hcl/diag"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

// typeOfKind is the type of which nothing but the kind is known.
func typeOfKind(k functions.Kind) *schema.Type {
	switch k {
	case functions.List:
		return schema.ListOf(AnyType)
	case functions.Object:
		return &schema.Type{Kind: schema.Map, Elem: AnyType}
	}
	return &schema.Type{Kind: k}
}

// Accepts reports whether a value of type t can be an argument for p, as far as that is known at
// load. Whether the value may be null is not asked.
func Accepts(p functions.Param, t *schema.Type) bool {
	isBytes := t.Kind == schema.Bytes || t.Kind == schema.File
	return p.Kind == functions.Any || CanBe(t, p.Kind) || isBytes && (p.OrBytes || p.Kind == functions.Bytes)
}

// countHints are what a call with the wrong number of arguments may have meant.
var countHints = map[string]string{"trim": " White space is removed by trimspace(text)."}

// CheckCall reports the arguments that a function does not take, by their index; -1 stands for all. It asks checkNull
// about those that must not be null. If spread is set, the elements of the last argument are arguments. It returns
// whether the number of arguments is right.
func CheckCall(fn *functions.Function, args []TypedExpr, spread bool,
	report func(arg int, summary, format string, args ...any), checkNull func(arg int, p functions.Param)) bool {
	if err := fn.CheckCount(len(args)); err != nil && !spread {
		report(-1, "Wrong number of arguments", "%v: %s.%s", err, fn.Usage(), countHints[fn.Name])
		return false
	}
	for i, a := range args {
		switch p, has := fn.Param(i); {
		case !has || spread && i == len(args)-1:
		case !Accepts(p, a.Type):
			report(i, "Wrong argument type", "%s: the %s must be %s, this is %s.", fn.Name, p.Name, p.Expected(),
				TypePhrase(a.Type))
		case a.Known && !p.Takes(a.Value):
			report(i, "Wrong argument", "%s: the %s must be %s, not %q.", fn.Name, p.Name, p.Expected(), a.Value)
		case p.Kind != functions.Any || p.NotNull:
			checkNull(i, p)
		}
	}
	return true
}

// ResultType is the type of what fn returns for these arguments. The result may be null where fn says so, and where an
// argument that it returns may be; neither is a part of the type.
func ResultType(fn *functions.Function, args []TypedExpr) *schema.Type {
	if len(args) > 0 {
		t := args[0].Type.NotNull()
		switch fn.Result.Rule {
		case functions.SameAsFirst:
			return t
		case functions.ElemOfFirst:
			return ElemType(t)
		case functions.ListOfFirst:
			return schema.ListOf(t)
		case functions.Unify:
			for _, a := range args[1:] {
				t = schema.Unify(t, a.Type.NotNull())
			}
			return t
		}
	}
	if fn.Result.Kind == functions.List {
		return schema.ListOf(typeOfKind(fn.Result.Elem))
	}
	return typeOfKind(fn.Result.Kind)
}

// SuggestFunction suggests what to write instead of a function that does not exist. More are the
// names of functions that are not in the table.
func SuggestFunction(name string, more []string) diag.Suggestion {
	if instead := functions.Equivalent(name); instead != "" {
		return diag.Suggestion{}.Says(" Write " + instead + ".")
	}
	names := slices.Clone(more)
	for _, f := range functions.Table() {
		names = append(names, f.Name)
	}
	return diag.DidYouMean(name, names)
}
