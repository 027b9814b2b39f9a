package surface

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

// schemaDiff compares two schemas as types: which values of the one are no values of the other.
// Keywords that it does not know are equal, or the schemas cannot be compared.
type schemaDiff struct {
	oldRoot, newRoot any
	sameDefs         bool
	output           bool // of a result, which its readers must understand, instead of an input
	refs             [][2]string
	report           func(path string, class Class, kind, text string)
	reaches          func(path, kind string) string // what an input reaches; empty for nothing, nil for a result
	quiet            bool                           // nothing is reported
	note             func(Difference)               // is called in place of report; nil for none
	narrowed         bool                           // a value of the old schema is none of the new one
	relaxed          bool                           // a value of the new schema is none of the old one
	steps            *int                           // how many pairs of schemas may yet be compared
	isTold           bool                           // it is reported that they are too many
}

// maxSchemaSteps bounds how many pairs of schemas are compared: alternatives within alternatives are compared each with
// each, so that the pairs of a small text may be without number.
const maxSchemaSteps = 20_000

func newSchemaDiff(old, new any, output bool) *schemaDiff {
	steps := maxSchemaSteps
	sameDefs := value.Equal(definitions(old), definitions(new))
	return &schemaDiff{oldRoot: old, newRoot: new, output: output, sameDefs: sameDefs, steps: &steps}
}

// compareInputs compares two decoded schemas of inputs. A looser one is widening if its value reaches an effect,
// which reaches says of an input.
func compareInputs(
	old, new any, reaches func(input, kind string) string, report func(path string, class Class, kind, text string),
) {
	d := newSchemaDiff(old, new, false)
	d.report = report
	d.reaches = func(path, kind string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "."), ".")
		return reaches(strings.TrimRight(name, "[]{}"), kind)
	}
	d.compare("", old, new, 0)
}

// compareSchemas compares two decoded schemas and reports every difference with its path.
func compareSchemas(old, new any, output bool, report func(path string, class Class, kind, text string)) {
	d := newSchemaDiff(old, new, output)
	d.report = report
	d.compare("", old, new, 0)
}

// Difference is a difference of two JSON Schemas.
type Difference struct {
	Path string // of the part, as in ".rows[].id"

	// Kind is "added", "removed", "required", "default", "text" for what only people and models read, or another word.
	Kind     string
	Text     string // what changed, as in "optional → required"; "" for the kind "text"
	Narrowed bool   // the old schema accepts a value that the new one may refuse
	Relaxed  bool   // the new schema accepts a value that the old one may refuse
}

// Differences compares two decoded JSON Schemas. Of results, whose readers ignore members that they do not know, output
// is set. If no difference is narrowed, every value that the old schema accepts is one that the new one accepts; what
// cannot be compared is both narrowed and relaxed. The texts have values of the schemas, cut, with hidden characters
// made visible.
func Differences(old, new any, output bool) (all []Difference) {
	d := newSchemaDiff(old, new, output)
	d.note = func(one Difference) { all = append(all, one) }
	d.compare("", old, new, 0)
	return all
}

func definitions(v any) any {
	m, _ := v.(map[string]any)
	return []any{m["$defs"], m["definitions"]}
}

// maxSchemaDepth bounds the depth of compared schemas.
const maxSchemaDepth = 100

// change records a difference of the accepted values.
func (d *schemaDiff) change(path, kind string, narrowed, relaxed bool, text string) {
	d.narrowed, d.relaxed = d.narrowed || narrowed, d.relaxed || relaxed
	if d.quiet || !narrowed && !relaxed {
		return
	}
	if d.note != nil {
		d.note(Difference{path, kind, text, narrowed, relaxed})
		return
	}
	class := Compatible
	if narrowed && !d.output || relaxed && d.output {
		class = Breaking
	}
	to := ""
	if relaxed && d.reaches != nil && kind != "added" {
		to = d.reaches(path, kind)
	}
	if to != "" {
		d.report(path, Widening, d.noun()+"-"+kind, text+", which reaches "+to)
	}
	if to == "" || class != Compatible {
		d.report(path, class, d.noun()+"-"+kind, text)
	}
}

func (d *schemaDiff) noun() string {
	if d.output {
		return "output"
	}
	return "input"
}

// text records a difference of what a model reads.
func (d *schemaDiff) text(path, name string, old, new any) {
	if d.quiet || value.Equal(old, new) {
		return
	}
	if d.note != nil {
		d.note(Difference{Path: path + "." + name, Kind: "text"})
	} else {
		d.report(path+"."+name, Behaviour, "text", wordDiff(asText(old), asText(new)))
	}
}

func asText(v any) string {
	if s, ok := v.(string); ok || v == nil {
		return s
	}
	return string(value.AppendCanonical(nil, v))
}

// schemaOf returns a schema as an object.
func schemaOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case bool:
		if !v {
			return map[string]any{"not": map[string]any{}}
		}
	}
	return map[string]any{}
}

// pointerEscapes are those of a JSON pointer (RFC 6901, section 3).
var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// resolve follows a reference into the document.
func resolve(root any, m map[string]any) (map[string]any, string) {
	ref, _ := m["$ref"].(string)
	path, inside := strings.CutPrefix(ref, "#/")
	if !inside {
		return m, ""
	}
	for key := range m {
		if key != "$ref" && !slices.Contains(annotations, key) {
			return m, ""
		}
	}
	target := root
	for _, token := range strings.Split(path, "/") {
		parent, _ := target.(map[string]any)
		target = parent[pointerEscapes.Replace(token)]
	}
	if out, ok := target.(map[string]any); ok {
		return out, ref
	}
	return m, ""
}

// annotations are keywords that say nothing about values. The texts among them are compared as texts.
var annotations = []string{"$schema", "$comment", "$id", "$defs", "definitions", "deprecated", "readOnly", "writeOnly",
	"title", "description", "examples", "default"}

// compared are the keywords that compare knows.
var compared = append([]string{"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "minLength", "maxLength", "pattern", "format", "items", "uniqueItems", "minItems", "maxItems",
	"properties", "required", "additionalProperties", "minProperties", "maxProperties", "x-file"}, annotations...)

func (d *schemaDiff) compare(path string, oldRaw, newRaw any, depth int) {
	if value.Equal(oldRaw, newRaw) && (d.sameDefs || !value.Contains(oldRaw, hasRef)) {
		return
	}
	if *d.steps--; *d.steps < 0 || depth > maxSchemaDepth {
		d.tooLarge(path, depth)
		return
	}
	old, oldRef := resolve(d.oldRoot, schemaOf(oldRaw))
	new, newRef := resolve(d.newRoot, schemaOf(newRaw))
	if pair := [2]string{oldRef, newRef}; oldRef != "" && newRef != "" {
		if slices.Contains(d.refs, pair) {
			return
		}
		d.refs = append(d.refs, pair)
		defer func() { d.refs = d.refs[:len(d.refs)-1] }()
	}
	for _, name := range []string{"title", "description", "examples"} {
		d.text(path, name, old[name], new[name])
	}
	if d.alternatives(path, old, new, depth) || !d.types(path, old, new) {
		return
	}
	d.enums(path, old, new)
	d.bounds(path, old, new)
	d.members(path, old, new, depth)
	if old["items"] != nil || new["items"] != nil {
		d.compare(path+"[]", orTrue(old["items"]), orTrue(new["items"]), depth+1)
	}
	d.others(path, old, new)
}

// hasRef reports whether an object refers to another part of its document.
func hasRef(v any) bool {
	m, _ := v.(map[string]any)
	return m["$ref"] != nil
}

// tooLarge records that a part is not compared. That the schemas have too many parts is said once.
func (d *schemaDiff) tooLarge(path string, depth int) {
	text := "cannot be compared: the schema is too deep"
	if depth <= maxSchemaDepth {
		text = "cannot be compared: the schema has too many alternatives"
		if d.isTold {
			d.narrowed, d.relaxed = true, true
			return
		}
		d.isTold = !d.quiet
	}
	d.change(path, "incomparable", true, true, text)
}

// orTrue returns the schema that a missing one stands for.
func orTrue(v any) any {
	if v == nil {
		return true
	}
	return v
}

// accepts reports whether every value of the schema sub, in the old or the new document, is known to be
// one of super in the other.
func (d *schemaDiff) accepts(old, new any, depth int, oldInNew bool) bool {
	probe := *d
	probe.quiet, probe.narrowed, probe.relaxed = true, false, false
	probe.compare("", old, new, depth+1)
	if oldInNew {
		return !probe.narrowed
	}
	return !probe.relaxed
}

// alternatives compares anyOf, and a schema with the alternatives that replace it. It reports whether
// there were any.
func (d *schemaDiff) alternatives(path string, old, new map[string]any, depth int) bool {
	from, oldOnly := anyOf(old)
	to, newOnly := anyOf(new)
	if !oldOnly && !newOnly || len(from) > 64 || len(to) > 64 {
		return false
	}
	covered := func(x any, among []any, oldInNew bool) bool {
		return slices.ContainsFunc(among, func(y any) bool {
			if oldInNew {
				return d.accepts(x, y, depth, true)
			}
			return d.accepts(y, x, depth, false)
		})
	}
	narrowed := slices.ContainsFunc(from, func(x any) bool { return !covered(x, to, true) })
	relaxed := slices.ContainsFunc(to, func(x any) bool { return !covered(x, from, false) })
	d.change(path, "type", narrowed, relaxed, d.replaced(old, new))
	return true
}

// replaced returns the words for a schema in place of another one; nothing if they are not reported.
func (d *schemaDiff) replaced(old, new map[string]any) string {
	if d.quiet {
		return ""
	}
	return describe(old) + " → " + describe(new)
}

// anyOf returns the alternatives of a schema that has only these, or else the schema itself.
func anyOf(m map[string]any) ([]any, bool) {
	list, ok := m["anyOf"].([]any)
	for key := range m {
		ok = ok && (key == "anyOf" || slices.Contains(annotations, key))
	}
	if !ok {
		return []any{m}, false
	}
	return list, true
}

// types compares the kinds of values and reports whether both schemas have a kind in common.
func (d *schemaDiff) types(path string, old, new map[string]any) bool {
	from, to := kindsOf(old), kindsOf(new)
	lost := slices.ContainsFunc(from, func(k string) bool { return !hasKind(to, k) })
	gained := slices.ContainsFunc(to, func(k string) bool { return !hasKind(from, k) })
	if lost || gained {
		d.change(path, "type", lost, gained, d.replaced(old, new))
	}
	return slices.ContainsFunc(from, func(k string) bool { return hasKind(to, k) }) ||
		slices.ContainsFunc(to, func(k string) bool { return hasKind(from, k) })
}

var allKinds = []string{"array", "boolean", "null", "number", "object", "string"}

// kindsOf returns the kinds of values of a schema.
func kindsOf(m map[string]any) (kinds []string) {
	switch t := m["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, k := range t {
			kinds = append(kinds, fmt.Sprint(k))
		}
		return kinds
	}
	if values, ok := enumOf(m); ok {
		for _, e := range values {
			if k := value.Kind(e.value); !slices.Contains(kinds, k) {
				kinds = append(kinds, jsonKind(k))
			}
		}
		return kinds
	}
	return allKinds
}

// jsonKind returns the name in JSON Schema of a kind of package value.
func jsonKind(kind string) string {
	switch kind {
	case "bool":
		return "boolean"
	case "list":
		return "array"
	case "map":
		return "object"
	}
	return kind
}

func hasKind(kinds []string, k string) bool {
	return slices.Contains(kinds, k) || k == "integer" && slices.Contains(kinds, "number")
}

// enumValue is one value of an enumeration.
type enumValue struct {
	value any
	title any
}

// enumOf returns the values that a schema lists: enum, const, or oneOf with constants.
func enumOf(m map[string]any) (values []enumValue, ok bool) {
	if list, ok := m["enum"].([]any); ok {
		for _, v := range list {
			values = append(values, enumValue{v, nil})
		}
		return values, true
	}
	if v, ok := m["const"]; ok {
		return []enumValue{{v, nil}}, true
	}
	list, _ := m["oneOf"].([]any)
	for _, one := range list {
		choice, _ := one.(map[string]any)
		v, ok := choice["const"]
		_, titled := choice["title"]
		if !ok || len(choice) > 2 || len(choice) == 2 && !titled {
			return nil, false
		}
		values = append(values, enumValue{v, choice["title"]})
	}
	return values, len(values) > 0
}

// enums compares enumerations.
func (d *schemaDiff) enums(path string, old, new map[string]any) {
	from, was := enumOf(old)
	to, is := enumOf(new)
	switch {
	case was && is:
		for _, e := range from {
			if i := indexOf(to, e.value); i < 0 {
				d.change(path, "enum", true, false, "value removed: "+show(e.value))
			} else {
				d.text(path, "enum title of "+show(e.value), e.title, to[i].title)
			}
		}
		for _, e := range to {
			if indexOf(from, e.value) < 0 {
				d.change(path, "enum", false, true, "value added: "+show(e.value))
			}
		}
	case was:
		d.change(path, "enum", false, true, d.replaced(old, new))
	case is:
		d.change(path, "enum", true, false, d.replaced(old, new))
	}
}

func indexOf(values []enumValue, v any) int {
	return slices.IndexFunc(values, func(e enumValue) bool { return value.Equal(e.value, v) })
}

// others compares keywords without a rule of their own.
func (d *schemaDiff) others(path string, old, new map[string]any) {
	names := map[string]any{}
	for _, m := range []map[string]any{old, new} {
		_, listed := enumOf(m)
		for name := range m {
			if !slices.Contains(compared, name) && !(name == "oneOf" && listed) {
				names[name] = nil
			}
		}
	}
	for _, name := range value.CanonicalKeys(names) {
		if !value.Equal(old[name], new[name]) || !d.sameDefs && value.Contains(old[name], hasRef) {
			d.change(path, "incomparable", true, true, fmt.Sprintf("cannot be compared: the keyword %s changed", name))
		}
	}
}
