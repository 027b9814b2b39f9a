package schema

import (
	"strconv"

	"hatchel/hcl/value"
)

// AppendSchema appends the type's JSON Schema 2020-12. Members and keywords are in declared order,
// so the output is deterministic.
func (t *Type) AppendSchema(dst []byte) []byte {
	if t.verbatim != nil {
		return appendValue(dst, *t.verbatim)
	}
	return t.appendSchema(dst, nil)
}

// appendValue appends a constant of the configuration, which always has a JSON form.
func appendValue(dst []byte, v any) []byte {
	dst, err := value.AppendJSON(dst, v)
	if err != nil {
		panic("schema: " + err.Error())
	}
	return dst
}

// jsonWriter appends the members of one JSON object.
type jsonWriter struct {
	out   []byte
	comma bool
}

func (o *jsonWriter) key(name string) {
	if o.comma {
		o.out = append(o.out, ',')
	}
	o.comma = true
	o.out = append(value.AppendString(o.out, name), ':')
}

func (o *jsonWriter) text(name, v string) {
	if v != "" {
		o.key(name)
		o.out = value.AppendString(o.out, v)
	}
}

func (o *jsonWriter) any(name string, v any) {
	if v != nil {
		o.key(name)
		o.out = appendValue(o.out, v)
	}
}

func (o *jsonWriter) count(name string, n *int) {
	if n != nil {
		o.key(name)
		o.out = strconv.AppendInt(o.out, int64(*n), 10)
	}
}

func (o *jsonWriter) truth(name string, v bool) {
	o.key(name)
	o.out = strconv.AppendBool(o.out, v)
}

var jsonTypes = [...]string{String: "string", Number: "number", Integer: "integer", Bool: "boolean", List: "array",
	Set: "array", Map: "object", Object: "object", File: "object", Bytes: "string", Null: "null"}

// appendSchema appends the schema of t as that of member m, which may be nil.
func (t *Type) appendSchema(dst []byte, m *Member) []byte {
	o := &jsonWriter{out: append(dst, '{')}
	if t.Kind != Any {
		o.key("type")
		if t.Nullable && t.Kind != Null {
			o.out = append(append(append(o.out, `["`...), jsonTypes[t.Kind]...), `","null"]`...)
		} else {
			o.out = value.AppendString(o.out, jsonTypes[t.Kind])
		}
	}
	o.text("title", t.Title)
	o.text("description", t.descriptionWithUpload())
	t.appendContent(o)
	t.appendEnum(o)
	o.any("minimum", t.Min)
	o.any("maximum", t.Max)
	o.any("exclusiveMinimum", t.Above)
	o.any("exclusiveMaximum", t.Below)
	o.any("multipleOf", t.MultipleOf)
	o.count("minLength", t.MinLength)
	o.count("maxLength", t.MaxLength)
	if t.Pattern != nil {
		o.text("pattern", t.Pattern.Source)
	}
	o.text("format", t.Format)
	if m != nil && m.HasDefault {
		o.key("default")
		o.out = appendValue(o.out, m.Default)
	}
	if len(t.Examples) > 0 {
		o.any("examples", t.Examples)
	}
	o.text("x-mcp-header", t.Header)
	for _, k := range t.Extra {
		o.key(k.Name)
		o.out = appendValue(o.out, k.Value)
	}
	return append(o.out, '}')
}

func (t *Type) appendContent(o *jsonWriter) {
	switch t.Kind {
	case Bytes:
		o.text("contentEncoding", "base64")
	case List, Set:
		if t.Elem.Kind != Any || t.Elem.described() {
			o.key("items")
			o.out = t.Elem.AppendSchema(o.out)
		}
		if t.Kind == Set {
			o.truth("uniqueItems", true)
		}
		o.count("minItems", t.MinItems)
		o.count("maxItems", t.MaxItems)
	case Map:
		o.key("additionalProperties")
		o.out = t.Elem.AppendSchema(o.out)
		o.count("minProperties", t.MinItems)
		o.count("maxProperties", t.MaxItems)
	case Object:
		t.appendMembers(o)
	case File:
		fileForm.appendMembers(o)
	}
}

// described reports whether the schema of an Any is not empty.
func (t *Type) described() bool {
	return t.verbatim != nil || t.Title != "" || t.Description != "" || len(t.Examples) > 0 || len(t.Extra) > 0 ||
		len(t.Enum) > 0
}

func (t *Type) appendMembers(o *jsonWriter) {
	o.key("properties")
	properties := &jsonWriter{out: append(o.out, '{')}
	required := []any{}
	for _, m := range t.Members {
		properties.key(m.Name)
		if m.Type.verbatim != nil {
			properties.out = m.Type.AppendSchema(properties.out)
		} else {
			properties.out = m.Type.appendSchema(properties.out, m)
		}
		if !m.Optional {
			required = append(required, m.Name)
		}
	}
	o.out = append(properties.out, '}')
	if len(required) > 0 {
		o.any("required", required)
	}
	if !t.Open {
		o.truth("additionalProperties", false)
	}
}

// appendEnum writes titled values as oneOf with const and title, the form that clients of the
// protocol show to people.
func (t *Type) appendEnum(o *jsonWriter) {
	if len(t.Enum) == 0 {
		return
	}
	titled := false
	values := make([]any, 0, len(t.Enum)+1)
	for _, e := range t.Enum {
		titled = titled || e.Title != ""
		values = append(values, e.Value)
	}
	if !titled {
		if t.Nullable {
			values = append(values, nil)
		}
		o.any("enum", values)
		return
	}
	o.key("oneOf")
	o.out = append(o.out, '[')
	for i, e := range t.Enum {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		one := &jsonWriter{out: append(o.out, '{')}
		one.any("const", e.Value)
		one.text("title", e.Title)
		o.out = append(one.out, '}')
	}
	if t.Nullable {
		o.out = append(o.out, `,{"const":null}`...)
	}
	o.out = append(o.out, ']')
}
