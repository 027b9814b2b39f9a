package schema

import (
	"errors"
	"slices"

	"hatchel/hcl/value"
)

// FromJSONSchema returns the type of a tool's arguments from a complete, decoded JSON Schema. The
// schema is advertised unchanged. It is converted to a type as far as the language allows, and the
// JSON Schema library enforces the rest. Values in raw are those of package value; the error is a
// sentence for an author.
func FromJSONSchema(raw any) (*Type, error) {
	open := &Type{Kind: Object, Open: true}
	if _, ok := raw.(map[string]any); !ok {
		return open, errors.New("a schema is an object, not " + describeValue(raw))
	}
	library, err := compileLibrary(raw)
	if err != nil {
		return open, err
	}
	r := schemaReader{root: raw, exact: true}
	t := r.read(raw)
	if t.Kind != Object && t.Kind != Map || t.OneOf != nil {
		t, r.exact = open, false
	}
	t.verbatim = &raw
	if !r.exact {
		t.library = library
	}
	return t, nil
}

// schemaReader turns raw schemas into types that accept at least what the schemas accept.
type schemaReader struct {
	root  any
	bare  bool     // the types have no texts
	exact bool     // the types so far accept no more than the schemas
	union int      // how many anyOf are around
	refs  []string // being resolved
	defs  map[string]*Definition
}

// annotationKeywords are keywords that restrict nothing.
var annotationKeywords = []string{"$schema", "$comment", "$defs", "definitions", "deprecated", "readOnly",
	"writeOnly", "default", "title", "description", "examples", "x-mcp-header", "contentEncoding", "contentMediaType",
	"contentSchema"}

// schemaNode is one raw schema, and which of its keywords were converted.
type schemaNode struct {
	*schemaReader
	raw  map[string]any
	seen []string
}

// take returns the value of a keyword, or nothing if it is absent or of another kind.
func take[T any](n *schemaNode, key string) T {
	v, _ := n.raw[key].(T)
	n.seen = append(n.seen, key)
	return v
}

func (n *schemaNode) count(key string) *int {
	v := take[any](n, key)
	if i, ok := value.Int(v); ok {
		return &i
	}
	n.exact = n.exact && v == nil
	return nil
}

func (r *schemaReader) markInexact() *Type {
	r.exact = false
	return &Type{}
}

func (r *schemaReader) read(raw any) *Type {
	m, ok := raw.(map[string]any)
	if !ok {
		if raw != true {
			r.exact = false
		}
		return &Type{}
	}
	n := &schemaNode{schemaReader: r, raw: m}
	if ref, ok := m["$ref"].(string); ok {
		return n.resolveRef(ref)
	}
	t := n.kind()
	t.Title, t.Description, t.Header = take[string](n, "title"), take[string](n, "description"),
		take[string](n, "x-mcp-header")
	t.Examples = take[[]any](n, "examples")
	if r.bare {
		t.Title, t.Description, t.Examples = "", "", nil
	}
	for key := range m {
		if !slices.Contains(n.seen, key) && !slices.Contains(annotationKeywords, key) {
			r.exact = false
		}
	}
	return t
}

func (n *schemaNode) kind() *Type {
	if t := n.alternatives(); t != nil {
		return t
	}
	declared := take[any](n, "type")
	nullable := false
	if list, ok := declared.([]any); ok {
		rest := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == "null" })
		if len(rest) != 1 || len(list)-len(rest) > 1 {
			return n.markInexact()
		}
		nullable, declared = len(rest) < len(list), rest[0]
	}
	t := &Type{Nullable: nullable}
	switch declared {
	case "string":
		t.Kind = String
		n.strings(t)
	case "number", "integer":
		t.Kind = Number
		if declared == "integer" {
			t.Kind = Integer
		}
		t.Min, t.Max, t.MultipleOf = take[any](n, "minimum"), take[any](n, "maximum"), take[any](n, "multipleOf")
		t.Above, t.Below = take[any](n, "exclusiveMinimum"), take[any](n, "exclusiveMaximum")
	case "boolean":
		t.Kind = Bool
	case "null":
		t.Kind = Null
	case "array":
		n.array(t)
	case "object":
		n.object(t)
	case nil:
		return n.untyped()
	default:
		return n.markInexact()
	}
	n.enum(t)
	return t
}

// untyped reads a schema without the keyword type. An enum of strings still has the type string.
func (n *schemaNode) untyped() *Type {
	values, _ := n.raw["enum"].([]any)
	if c, ok := n.raw["const"]; ok && values == nil {
		values = []any{c}
	}
	notText := func(v any) bool { _, ok := v.(string); return !ok }
	if len(values) == 0 || slices.ContainsFunc(values, notText) {
		return &Type{}
	}
	t := &Type{Kind: String}
	n.enum(t)
	return t
}

func (n *schemaNode) strings(t *Type) {
	t.MinLength, t.MaxLength = n.count("minLength"), n.count("maxLength")
	if source := take[string](n, "pattern"); source != "" {
		t.Pattern, _ = NewPattern(source)
		n.exact = n.exact && t.Pattern != nil
	}
	if name := take[string](n, "format"); name != "" {
		if _, ok := formats[name]; ok {
			t.Format = name
		}
	}
}

// enum reads enum, const, and oneOf with titled constants.
func (n *schemaNode) enum(t *Type) {
	var values []EnumValue
	if list := take[[]any](n, "enum"); list != nil {
		for _, v := range list {
			values = append(values, EnumValue{Value: v})
		}
	} else if c, ok := n.raw["const"]; ok {
		take[any](n, "const")
		values = []EnumValue{{Value: c}}
	} else if list, ok := n.raw["oneOf"].([]any); ok {
		for _, one := range list {
			m, _ := one.(map[string]any)
			c, ok := m["const"]
			title, titled := m["title"].(string)
			if !ok || len(m) > 2 || len(m) == 2 && !titled || hasEnum(values, c) {
				return // not a choice: left to the library
			}
			values = append(values, EnumValue{c, title})
		}
		take[any](n, "oneOf")
	}
	if len(values) == 0 {
		return
	}
	without := slices.DeleteFunc(slices.Clone(values), func(e EnumValue) bool { return e.Value == nil })
	t.Nullable = t.Nullable && len(without) < len(values)
	for _, e := range without {
		kind := value.Kind(e.Value)
		if kind != t.Kind.base().String() || kind != "string" && kind != "number" {
			n.exact = false
			return
		}
	}
	if t.Kind == String && (t.MinLength != nil || t.MaxLength != nil || t.Pattern != nil || t.Format != "") ||
		len(without) == 0 {
		n.exact = false
	}
	t.Enum = without
}

func (n *schemaNode) array(t *Type) {
	t.Kind, t.Elem = List, &Type{}
	if take[bool](n, "uniqueItems") {
		t.Kind = Set
	}
	if _, ok := n.raw["prefixItems"]; ok {
		n.exact = false
		return
	}
	if items := take[any](n, "items"); items != nil {
		t.Elem = n.read(items)
	}
	t.MinItems, t.MaxItems = n.count("minItems"), n.count("maxItems")
}

func (n *schemaNode) object(t *Type) {
	t.Kind = Object
	rest := take[any](n, "additionalProperties")
	properties, required := take[map[string]any](n, "properties"), take[[]any](n, "required")
	if _, ok := n.raw["patternProperties"]; ok {
		rest, n.exact = nil, false
	}
	if _, schema := rest.(map[string]any); schema && len(properties) == 0 && len(required) == 0 {
		t.Kind, t.Elem = Map, n.read(rest)
		t.MinItems, t.MaxItems = n.count("minProperties"), n.count("maxProperties")
		return
	} else if schema {
		n.exact = false
	}
	t.Open = rest != false
	for _, name := range value.Keys(properties) {
		m := &Member{Name: name, Type: n.read(properties[name]), Optional: !slices.Contains(required, any(name))}
		n.memberDefault(m, properties[name])
		t.Members = append(t.Members, m)
	}
	for _, name := range required {
		if s, ok := name.(string); ok && properties[s] == nil {
			if t.Open {
				t.Members = append(t.Members, &Member{Name: s, Type: &Type{}})
			} else {
				n.exact = false
			}
		}
	}
}

// memberDefault sets the default of an optional member if it fits the type.
func (n *schemaNode) memberDefault(m *Member, raw any) {
	property, _ := raw.(map[string]any)
	v, ok := property["default"]
	if !ok || !m.Optional || n.union > 0 {
		return
	}
	if out, violations, _ := m.Type.Compile().Check(v, Unlimited); len(violations) == 0 {
		m.Default, m.HasDefault = out, true
	}
}
