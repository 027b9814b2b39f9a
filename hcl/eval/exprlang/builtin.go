package exprlang

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/functions"
	"hatchel/hcl/value"
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
	"trimPrefix": "write trimprefix(text, prefix).", "trimSuffix": "write trimsuffix(text, suffix).",
	"hasPrefix": "write startswith(text, prefix).", "hasSuffix": "write endswith(text, suffix).",
	"splitAfter": "write split(separator, text).",
	"ident":      "it binds a value inside ${...} of a template.", "raw": "it binds a value inside ${...} of a " +
		"template.",
	"path": "it binds a value inside ${...} of a template.", "under": "it binds a value inside ${...} of a template.",
	"try": "write ?. and ??.", "can": "write ?. and compare with null.",
	"nonsensitive": "a program never sees a secret.",
	"now":          "write timestamp().", "date": "times are RFC 3339 text; write timeadd, timecmp or formatdate.",
	"duration": "durations are text such as \"24h\", for timeadd.", "timezone": "times keep the offset that they " +
		"are written with.",
}

var builtins = func() map[string]builtin {
	all := map[string]builtin{}
	for _, b := range []Builtin{
		{"all", "all(list, predicate)", "Tells whether the predicate holds for every element."},
		{"any", "any(list, predicate)", "Tells whether the predicate holds for some element."},
		{"none", "none(list, predicate)", "Tells whether the predicate holds for no element."},
		{"one", "one(list, predicate)", "Tells whether the predicate holds for exactly one element."},
		{"filter", "filter(list, predicate)", "Keeps the elements for which the predicate holds."},
		{"map", "map(list, predicate)", "Makes a list of what the predicate gives for each element."},
		{"count", "count(list, predicate?)", "Counts the elements for which the predicate holds, or that are true."},
		{"sum", "sum(list, predicate?)", "Adds the numbers of a list, or what the predicate gives for each element."},
		{"find", "find(list, predicate)", "Gives the first element for which the predicate holds, or null."},
		{"findIndex", "findIndex(list, predicate)",
			"Gives the index of the first element for which the predicate holds, or null."},
		{"findLast", "findLast(list, predicate)", "Gives the last element for which the predicate holds, or null."},
		{"findLastIndex", "findLastIndex(list, predicate)",
			"Gives the index of the last element for which the predicate holds, or null."},
		{"groupBy", "groupBy(list, predicate)",
			"Makes an object of lists: the elements by what the predicate gives, as text."},
		{"countBy", "countBy(list, predicate)",
			"Makes an object of numbers: how many elements there are by what the predicate gives, as text."},
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
	elem := functions.Result{Follow: functions.ElemOfFirst, Nullable: true}
	same := functions.Result{Follow: functions.SameAsFirst}
	out := []functions.Function{
		functions.New("first", "Gives the first element, or null.", one("list", functions.List), elem, atEnd(true)),
		functions.New("last", "Gives the last element, or null.", one("list", functions.List), elem, atEnd(false)),
		functions.New("take", "Gives the first elements, as many as there are at most.",
			two("list", functions.List, "count", functions.Integer), same, take),
		functions.New("get", "Gives a member or an element, or null where there is none.",
			two("value", functions.Any, "key", functions.Any), fixed(functions.Any), get),
		functions.New("mean", "Gives the average of numbers; an empty list gives 0.", one("list", functions.List),
			fixed(functions.Number), mean),
		functions.New("median", "Gives the number in the middle of the sorted numbers; an empty list gives 0.",
			one("list", functions.List), fixed(functions.Number), median),
		functions.New("toPairs", "Makes a list of [key, value] of an object, sorted by key.",
			one("object", functions.Object), functions.Result{Kind: functions.List, Elem: functions.List}, toPairs),
		functions.New("fromPairs", "Makes an object of a list of [key, value].", one("list", functions.List),
			fixed(functions.Object), fromPairs),
		functions.New("type", "Names the kind of a value: null, bool, number, string, list or object.",
			one("value", functions.Any), fixed(functions.String), typeName),
		functions.New("int", "Makes an integer of a number, without its fraction, or of a text.",
			one("value", functions.Any), fixed(functions.Integer), toInt),
		functions.New("indexOf", "Gives how many characters stand before a part of a text, or -1.", two("text",
			functions.String, "part", functions.String), fixed(functions.Integer), position(strings.Index)),
		functions.New("lastIndexOf", "Gives how many characters stand before the last occurrence of a part, or -1.",
			two("text", functions.String, "part",
				functions.String), fixed(functions.Integer), position(strings.LastIndex)),
		functions.New("string", "Writes any value as text, lists and objects as JSON.", one("value", functions.Any),
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

type bitOperation struct {
	doc string
	of  func(a, b int) int
}

func (o bitOperation) call(_ *functions.Context, a []any) (any, error) {
	if b := a[1].(int); b < 0 && strings.Contains(o.doc, "Shifts") {
		return nil, errors.New("a shift must not be negative")
	}
	return o.of(a[0].(int), a[1].(int)), nil
}

var bitwise = map[string]bitOperation{
	"bitand":  {"Gives the bits that are set in both.", func(a, b int) int { return a & b }},
	"bitor":   {"Gives the bits that are set in one or the other.", func(a, b int) int { return a | b }},
	"bitxor":  {"Gives the bits that are set in one alone.", func(a, b int) int { return a ^ b }},
	"bitnand": {"Clears the bits of the second in the first.", func(a, b int) int { return a &^ b }},
	"bitshl":  {"Shifts bits up.", func(a, b int) int { return a << b }},
	"bitshr":  {"Shifts bits down, keeping the sign.", func(a, b int) int { return a >> b }},
	"bitushr": {"Shifts bits down.", func(a, b int) int { return int(uint(a) >> b) }},
}

func atEnd(first bool) func(*functions.Context, []any) (any, error) {
	return func(_ *functions.Context, a []any) (any, error) {
		list := a[0].([]any)
		switch {
		case len(list) == 0:
			return nil, nil
		case first:
			return list[0], nil
		}
		return list[len(list)-1], nil
	}
}

func take(_ *functions.Context, a []any) (any, error) {
	list, n := a[0].([]any), a[1].(int)
	if n < 0 {
		return nil, errors.New("the count must not be negative")
	}
	n = min(n, len(list))
	return list[:n:n], nil
}

func get(_ *functions.Context, a []any) (any, error) {
	v, err := elementOf(a[0], a[1], false)
	if err != nil {
		return nil, nil // get gives null for what is missing
	}
	return v, nil
}

func mean(_ *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	if len(list) == 0 {
		return 0, nil
	}
	var total any = 0
	for _, e := range list {
		if !value.IsNumber(e) {
			return nil, fmt.Errorf("every element must be a number, got %s", value.Kind(e))
		}
		var err error
		if total, err = functions.Add(total, e); err != nil {
			return nil, err
		}
	}
	return functions.Divide(total, len(list))
}

func median(c *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	if len(list) == 0 {
		return 0, nil
	}
	for _, e := range list {
		if !value.IsNumber(e) {
			return nil, fmt.Errorf("every element must be a number, got %s", value.Kind(e))
		}
	}
	if err := c.Spend(16 * len(list)); err != nil {
		return nil, err
	}
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, value.Compare)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle], nil
	}
	total, err := functions.Add(sorted[middle-1], sorted[middle])
	if err != nil {
		return nil, err
	}
	return functions.Divide(total, 2)
}

func toPairs(c *functions.Context, a []any) (any, error) {
	m := a[0].(map[string]any)
	if err := c.Spend(96 * len(m)); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(m))
	for _, k := range value.Keys(m) {
		out = append(out, []any{k, m[k]})
	}
	return out, nil
}

func fromPairs(c *functions.Context, a []any) (any, error) {
	list := a[0].([]any)
	if err := c.Spend(96 * len(list)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(list))
	for i, e := range list {
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("element %d must be a list of a key and a value", i)
		}
		k, ok := pair[0].(string)
		if !ok {
			return nil, fmt.Errorf("the key of element %d must be a string, got %s", i, value.Kind(pair[0]))
		}
		out[k] = pair[1]
	}
	return out, nil
}

func typeName(_ *functions.Context, a []any) (any, error) { return value.Kind(a[0]), nil }

func toInt(c *functions.Context, a []any) (any, error) {
	v := a[0]
	if _, ok := v.(string); ok {
		fn, _ := functions.Lookup("tonumber")
		var err error
		if v, err = fn.Call(c, a); err != nil {
			return nil, err
		}
	}
	if i, ok := value.Int(v); ok {
		return i, nil
	}
	f, ok := value.Float(v)
	if !ok || math.Abs(f) >= 1<<63 {
		return nil, fmt.Errorf("a number or its text is expected, got %s", value.Kind(a[0]))
	}
	return int(f), nil
}

func position(find func(s, part string) int) func(*functions.Context, []any) (any, error) {
	return func(_ *functions.Context, a []any) (any, error) {
		s := a[0].(string)
		i := find(s, a[1].(string))
		if i > 0 {
			i = utf8.RuneCountInString(s[:i])
		}
		return i, nil
	}
}

func toText(c *functions.Context, a []any) (any, error) {
	n, err := functions.Size(a[0], c.Memory)
	if err != nil {
		return nil, err
	}
	if err := c.Spend(n); err != nil {
		return nil, err
	}
	return value.Text(a[0])
}
