package exprlang

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

// Builtin is a function that only programs have, in addition to the table of package functions.
type Builtin struct {
	Name  string
	Usage string // how a call is written
	Doc   string // one sentence
}

// Builtins returns every builtin, sorted by name. The caller owns the slice.
func Builtins() []Builtin {
	out := make([]Builtin, 0, len(builtins))
	for _, b := range builtins {
		out = append(out, b.Builtin)
	}
	slices.SortFunc(out, func(a, b Builtin) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

type builtin struct {
	Builtin
	gives schema.Kind         // what the predicate must give; any for every value
	fn    *functions.Function // nil for a function with a predicate
}

// removedBuiltins are functions of expr that programs do not have, with what to write instead.
var removedBuiltins = map[string]string{
	"trimPrefix": "write trimprefix(text, prefix).",
	"trimSuffix": "write trimsuffix(text, suffix).",
	"hasPrefix":  "write startswith(text, prefix).",
	"hasSuffix":  "write endswith(text, suffix).",
	"splitAfter": "write split(separator, text).",

	"ident":    onlyInTemplates,
	"raw":      onlyInTemplates,
	"path":     onlyInTemplates,
	"segment":  onlyInTemplates,
	"under":    onlyInTemplates,
	"filename": onlyInTemplates,

	"try":          "write ?. and ??.",
	"can":          "write ?. and compare with null.",
	"nonsensitive": "a program cannot read secrets.",
	"now":          "write timestamp().",
	"date":         "times are RFC 3339 text; write timeadd, timecmp or formatdate.",
	"duration":     `durations are text such as "24h", for timeadd.`,
	"timezone":     "times keep the offset that they are written with.",
}

const onlyInTemplates = "it binds a value inside ${...} of a template."

var builtins = func() map[string]builtin {
	all := map[string]builtin{}
	for _, p := range []struct {
		gives      schema.Kind
		usage, doc string
	}{
		{schema.Bool, "all(list, predicate)", "Reports whether the predicate holds for every element."},
		{schema.Bool, "any(list, predicate)", "Reports whether the predicate holds for some element."},
		{schema.Bool, "none(list, predicate)", "Reports whether the predicate holds for no element."},
		{schema.Bool, "one(list, predicate)", "Reports whether the predicate holds for exactly one element."},
		{schema.Bool, "filter(list, predicate)", "Returns the elements for which the predicate holds."},
		{schema.Any, "map(list, predicate)", "Returns what the predicate gives for each element."},
		{schema.Bool, "count(list, predicate?)",
			"Counts the elements for which the predicate holds, or that are true."},
		{schema.Number, "sum(list, predicate?)",
			"Adds the numbers of a list, or what the predicate gives for each element."},
		{schema.Bool, "find(list, predicate)", "Returns the first element for which the predicate holds, or null."},
		{schema.Bool, "findIndex(list, predicate)",
			"Returns the index of the first element for which the predicate holds, or null."},
		{schema.Bool, "findLast(list, predicate)",
			"Returns the last element for which the predicate holds, or null."},
		{schema.Bool, "findLastIndex(list, predicate)",
			"Returns the index of the last element for which the predicate holds, or null."},
		{schema.Any, "groupBy(list, predicate)",
			"Returns an object of lists: the elements by what the predicate gives, as text."},
		{schema.Any, "countBy(list, predicate)",
			"Returns an object of numbers: how many elements there are by what the predicate gives, as text."},
		{schema.Any, "sortBy(list, predicate, order?)",
			"Sorts by what the predicate gives, \"asc\" or \"desc\"; equal elements keep their order."},
		{schema.Any, "reduce(list, predicate, initial?)",
			"Computes one value from all elements; #acc is the value so far."},
	} {
		name, _, _ := strings.Cut(p.usage, "(")
		all[name] = builtin{Builtin{name, p.usage, p.doc}, p.gives, nil}
	}
	for _, fn := range plainBuiltins() {
		all[fn.Name] = builtin{Builtin{fn.Name, fn.Usage(), fn.Doc}, schema.Any, &fn}
	}
	return all
}()

func plainBuiltins() []functions.Function {
	type params = []functions.Param
	list := params{{Name: "list", Kind: functions.List}}
	anything := params{{Name: "value", Kind: functions.Any}}
	texts := params{{Name: "text", Kind: functions.String}, {Name: "part", Kind: functions.String}}
	integers := params{{Name: "a", Kind: functions.Integer}, {Name: "b", Kind: functions.Integer}}
	elem := functions.Result{Rule: functions.ElemOfFirst, Nullable: true}
	same := functions.Result{Rule: functions.SameAsFirst}
	fixed := func(k functions.Kind) functions.Result { return functions.Result{Kind: k} }
	out := []functions.Function{
		functions.New("first", "Returns the first element, or null.", list, elem, first).
			Keeping(functions.Parts | functions.Beginning).Choosing(functions.FirstElement),
		functions.New("last", "Returns the last element, or null.", list, elem, last).
			Keeping(functions.Beginning).Choosing(functions.AnElement),
		functions.New("take", "Returns the first elements, as many as there are at most.",
			append(list[:1:1], functions.Param{Name: "count", Kind: functions.Integer}), same, take).
			Keeping(functions.Parts | functions.Beginning),
		functions.New("get", "Returns a member or an element, or null where there is none.",
			append(anything[:1:1], functions.Param{Name: "key", Kind: functions.Any}), fixed(functions.Any), get).
			Keeping(functions.Beginning).Choosing(functions.AnElement),
		functions.New("mean", "Returns the average of numbers; an empty list gives 0.", list, fixed(functions.Number),
			mean),
		functions.New("median", "Returns the number in the middle of the sorted numbers; an empty list gives 0.", list,
			fixed(functions.Number), median),
		functions.New("toPairs", "Returns a list of [key, value] of an object, sorted by key.",
			params{{Name: "object", Kind: functions.Object}},
			functions.Result{Kind: functions.List, Elem: functions.List}, toPairs).Keeping(functions.Unnamed),
		functions.New("fromPairs", "Returns an object of a list of [key, value].", list, fixed(functions.Object),
			fromPairs),
		functions.New("type", "Returns the kind of a value: null, bool, number, string, list or object.", anything,
			fixed(functions.String), typeName),
		functions.New("int", "Returns an integer of a number, without its fraction, or of a text.", anything,
			fixed(functions.Integer), toInt),
		functions.New("indexOf", "Returns how many characters stand before a part of a text, or -1.", texts,
			fixed(functions.Integer), position((*functions.Context).Find)),
		functions.New("lastIndexOf", "Returns how many characters stand before the last occurrence of a part, or -1.",
			texts, fixed(functions.Integer), position((*functions.Context).FindLast)),
		functions.New("string", "Converts any value to text, lists and objects to JSON.", anything,
			fixed(functions.String), toText).Keeping(functions.Parts | functions.Beginning),
		functions.New("bitnot", "Inverts every bit.", integers[:1], fixed(functions.Integer),
			func(_ *functions.Context, a []any) (any, error) { return ^a[0].(int), nil }),
	}
	for name, twin := range map[string]string{"len": "length", "uniq": "distinct", "toJSON": "jsonencode",
		"fromJSON": "jsondecode", "toBase64": "base64encode", "fromBase64": "base64decode", "float": "tonumber"} {
		fn, _ := functions.Lookup(twin)
		alias := *fn
		alias.Name, alias.Doc = name, "The same as "+twin+"."
		out = append(out, alias)
	}
	for name, op := range bitwise {
		out = append(out, functions.New(name, op.doc, integers, fixed(functions.Integer), op.call))
	}
	return out
}

var bitwise = map[string]bitOperation{
	"bitand":  {"Returns the bits that are set in both.", func(a, b int) int { return a & b }},
	"bitor":   {"Returns the bits that are set in one or the other.", func(a, b int) int { return a | b }},
	"bitxor":  {"Returns the bits that are set in one alone.", func(a, b int) int { return a ^ b }},
	"bitnand": {"Clears the bits of the second in the first.", func(a, b int) int { return a &^ b }},
	"bitshl":  {"Shifts bits up.", func(a, b int) int { return a << b }},
	"bitshr":  {"Shifts bits down, keeping the sign.", func(a, b int) int { return a >> b }},
	"bitushr": {"Shifts bits down.", func(a, b int) int { return int(uint(a) >> b) }},
}
