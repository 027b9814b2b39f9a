package exprlang

import (
	"sort"
	"strings"

	"hatchel/hcl/functions"
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
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

type builtin struct {
	Builtin
	predicate bool                // compiled by compilePredicateCall
	fn        *functions.Function // otherwise
}

func isBuiltin(name string) bool { _, ok := builtins[name]; return ok }

// removedBuiltins are functions of expr that programs do not have, with what to write instead.
var removedBuiltins = map[string]string{
	"trimPrefix": "write trimprefix(text, prefix).",
	"trimSuffix": "write trimsuffix(text, suffix).",
	"hasPrefix":  "write startswith(text, prefix).",
	"hasSuffix":  "write endswith(text, suffix).",
	"splitAfter": "write split(separator, text).",

	"ident": onlyInTemplates,
	"raw":   onlyInTemplates,
	"path":  onlyInTemplates,
	"under": onlyInTemplates,

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
	for _, b := range []Builtin{
		{"all", "all(list, predicate)", "Reports whether the predicate holds for every element."},
		{"any", "any(list, predicate)", "Reports whether the predicate holds for some element."},
		{"none", "none(list, predicate)", "Reports whether the predicate holds for no element."},
		{"one", "one(list, predicate)", "Reports whether the predicate holds for exactly one element."},
		{"filter", "filter(list, predicate)", "Returns the elements for which the predicate holds."},
		{"map", "map(list, predicate)", "Returns what the predicate gives for each element."},
		{"count", "count(list, predicate?)", "Counts the elements for which the predicate holds, or that are true."},
		{"sum", "sum(list, predicate?)", "Adds the numbers of a list, or what the predicate gives for each element."},
		{"find", "find(list, predicate)", "Returns the first element for which the predicate holds, or null."},
		{"findIndex", "findIndex(list, predicate)",
			"Returns the index of the first element for which the predicate holds, or null."},
		{"findLast", "findLast(list, predicate)", "Returns the last element for which the predicate holds, or null."},
		{"findLastIndex", "findLastIndex(list, predicate)",
			"Returns the index of the last element for which the predicate holds, or null."},
		{"groupBy", "groupBy(list, predicate)",
			"Returns an object of lists: the elements by what the predicate gives, as text."},
		{"countBy", "countBy(list, predicate)",
			"Returns an object of numbers: how many elements there are by what the predicate gives, as text."},
		{"sortBy", "sortBy(list, predicate, order?)",
			"Sorts by what the predicate gives, \"asc\" or \"desc\"; equal elements keep their order."},
		{"reduce", "reduce(list, predicate, initial?)",
			"Computes one value from all elements; #acc is the value so far."},
	} {
		all[b.Name] = builtin{Builtin: b, predicate: true}
	}
	for _, fn := range plainBuiltins() {
		all[fn.Name] = builtin{Builtin: Builtin{fn.Name, signature(&fn), fn.Doc}, fn: &fn}
	}
	return all
}()

func plainBuiltins() []functions.Function {
	one := func(name string, k functions.Kind) []functions.Param { return []functions.Param{{Name: name, Kind: k}} }
	two := func(a string, k functions.Kind, b string, l functions.Kind) []functions.Param {
		return []functions.Param{{Name: a, Kind: k}, {Name: b, Kind: l}}
	}
	fixed := func(k functions.Kind) functions.Result { return functions.Result{Kind: k} }
	elem := functions.Result{Rule: functions.ElemOfFirst, Nullable: true}
	same := functions.Result{Rule: functions.SameAsFirst}
	out := []functions.Function{
		functions.New("first", "Returns the first element, or null.", one("list", functions.List), elem, atEnd(true)),
		functions.New("last", "Returns the last element, or null.", one("list", functions.List), elem, atEnd(false)),
		functions.New("take", "Returns the first elements, as many as there are at most.",
			two("list", functions.List, "count", functions.Integer), same, take),
		functions.New("get", "Returns a member or an element, or null where there is none.",
			two("value", functions.Any, "key", functions.Any), fixed(functions.Any), get),
		functions.New("mean", "Returns the average of numbers; an empty list gives 0.", one("list", functions.List),
			fixed(functions.Number), mean),
		functions.New("median", "Returns the number in the middle of the sorted numbers; an empty list gives 0.",
			one("list", functions.List), fixed(functions.Number), median),
		functions.New("toPairs", "Returns a list of [key, value] of an object, sorted by key.",
			one("object", functions.Object), functions.Result{Kind: functions.List, Elem: functions.List}, toPairs),
		functions.New("fromPairs", "Returns an object of a list of [key, value].", one("list", functions.List),
			fixed(functions.Object), fromPairs),
		functions.New("type", "Returns the kind of a value: null, bool, number, string, list or object.",
			one("value", functions.Any), fixed(functions.String), typeName),
		functions.New("int", "Returns an integer of a number, without its fraction, or of a text.",
			one("value", functions.Any), fixed(functions.Integer), toInt),
		functions.New("indexOf", "Returns how many characters stand before a part of a text, or -1.", two("text",
			functions.String, "part", functions.String), fixed(functions.Integer), position(strings.Index)),
		functions.New("lastIndexOf", "Returns how many characters stand before the last occurrence of a part, or -1.",
			two("text", functions.String, "part",
				functions.String), fixed(functions.Integer), position(strings.LastIndex)),
		functions.New("string", "Converts any value to text, lists and objects to JSON.", one("value", functions.Any),
			fixed(functions.String), toText),
	}
	for name, twin := range map[string]string{"len": "length", "uniq": "distinct", "toJSON": "jsonencode",
		"fromJSON": "jsondecode", "toBase64": "base64encode", "fromBase64": "base64decode", "float": "tonumber"} {
		fn, ok := functions.Lookup(twin)
		if ok {
			alias := *fn
			alias.Name, alias.Doc = name, "The same as "+twin+"."
			out = append(out, alias)
		}
	}
	for name, op := range bitwise {
		out = append(out, functions.New(name, op.doc, two("a", functions.Integer, "b", functions.Integer),
			fixed(functions.Integer), op.call))
	}
	return append(out, functions.New("bitnot", "Inverts every bit.", one("a", functions.Integer),
		fixed(functions.Integer),
		func(_ *functions.Context, a []any) (any, error) { return ^a[0].(int), nil }))
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
