// Package schema turns the type expressions of the language into types, types into JSON Schema
// 2020-12, and types into validators of call arguments.
//
// [Parse] reads a type, [Type.AppendSchema] writes the advertised schema, and Compile returns the
// Validator that enforces it. The enforced rules are the advertised ones, with one exception: a
// JSON null for an optional member counts as absent.
package schema

import (
	"slices"
	"strings"

	"hatchel/hcl/template"
	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// Kind is the kind of a type, without its keywords.
type Kind int

const (
	Any Kind = iota
	String
	Number
	Integer
	Bool
	List
	Set
	Map
	Object
	File  // for inputs only: an uploaded file
	Bytes // for outputs only; not in the language
	Null  // for outputs only
)

// kinds describes the kinds: the name in the language, the type in JSON Schema, the kind in a
// template, and the kind whose values include those of this one.
var kinds = [...]struct {
	name, json string
	template   template.Kind
	base       Kind
}{
	Any:     {"any", "", template.Any, Any},
	String:  {"string", "string", template.String, String},
	Number:  {"number", "number", template.Number, Number},
	Integer: {"integer", "integer", template.Integer, Number},
	Bool:    {"bool", "boolean", template.Bool, Bool},
	List:    {"list", "array", template.List, List},
	Set:     {"set", "array", template.List, List},
	Map:     {"map", "object", template.Object, Object},
	Object:  {"object", "object", template.Object, Object},
	File:    {"file", "object", template.File, File},
	Bytes:   {"bytes", "string", template.Bytes, Bytes},
	Null:    {"null", "null", template.Any, Null},
}

// String returns the kind's name in the language.
func (k Kind) String() string { return kinds[k].name }

func (k Kind) base() Kind { return kinds[k].base }

// Type is one type of the language. It is immutable; With returns a changed copy.
type Type struct {
	Kind      Kind
	Elem      *Type     // of a List, Set or Map
	Members   []*Member // of an Object, in declared order
	Nullable  bool      // null is a value of the type
	Sensitive bool      // its values, at every depth, are never shown
	Open      bool      // an Object that accepts unknown members without checks
	OneOf     []*Type   // alternatives, none of them nullable; the other fields describe the values of all
	Declared  []*Member // of a Map that stands for an Open object: its members, for editors

	Title, Description string
	Header             string // the HTTP header that mirrors the input, or ""
	Enum               []EnumValue
	Examples           []any

	Min, Max, Above, Below, MultipleOf any // numbers of package value, or nil
	MinLength, MaxLength               *int
	MinItems, MaxItems                 *int
	Pattern                            *Pattern
	Format                             string
	MaxSize                            int64    // bytes of a File; 0 for what the server takes
	MediaTypes                         []string // of a File, as in "image/*"; nil for every type
	// the upload URL of a File; its target is set during the load
	Upload   *string
	Extra    []Keyword // raw JSON Schema in addition to the fields above
	verbatim *any      // the complete schema as written, advertised instead of the fields
	library  *library
	// the type is invalid, which was reported: follow-up mistakes are suppressed
	broken bool
	fits   func() []*Validator // of OneOf
	def    *Definition         // the type block that it comes from, or nil
	isRef  bool                // it refers to def from within def, and has no parts: see Unfolded
}

// Member is one member of an object, or one input of a tool.
type Member struct {
	Name       string
	Type       *Type
	Optional   bool
	HasDefault bool
	Default    any // the value of an absent member, which fits Type
	Range      hclv2.Range
}

// EnumValue is one value that an enumeration allows.
type EnumValue struct {
	Value any    // a string or a number
	Title string // or ""
}

// Keyword is one raw keyword of JSON Schema.
type Keyword struct {
	Name  string
	Value any
}

// ObjectOf returns the type of an object with these members, such as the input of a tool.
func ObjectOf(members ...*Member) *Type { return &Type{Kind: Object, Members: members} }

// ListOf returns the type of a list.
func ListOf(elem *Type) *Type { return &Type{Kind: List, Elem: elem} }

// Lookup returns the member of an object by name.
func (t *Type) Lookup(name string) (*Member, bool) {
	for _, m := range t.Members {
		if m.Name == name {
			return m, true
		}
	}
	return nil, false
}

// MemberNames returns the names of an object's members in declared order.
func (t *Type) MemberNames() []string {
	names := make([]string, len(t.Members))
	for i, m := range t.Members {
		names[i] = m.Name
	}
	return names
}

// AllowsNull reports whether null is a value of the type.
func (t *Type) AllowsNull() bool { return t.Nullable || t.isAny() || t.Kind == Null }

// isAny reports whether every value is one of the type, as far as its kind goes.
func (t *Type) isAny() bool { return t.Kind == Any && t.OneOf == nil && !t.isRef }

// AsNullable returns the type that also allows null.
func (t *Type) AsNullable() *Type {
	if t.AllowsNull() {
		return t
	}
	c := *t
	c.Nullable = true
	return &c
}

// NotNull returns the type without null, for a value that was proven not null.
func (t *Type) NotNull() *Type {
	if !t.Nullable {
		return t
	}
	c := *t
	c.Nullable = false
	return &c
}

// Opened returns the type with unknown members allowed in every object, because responses of other
// services may gain members.
func (t *Type) Opened() *Type {
	if t.OneOf != nil {
		return t.openedUnion()
	}
	c := *t
	if c.Open = t.Kind == Object; t.def != nil {
		c.def = t.def.open()
	}
	if t.Elem != nil {
		c.Elem = t.Elem.Opened()
	}
	c.Members = make([]*Member, len(t.Members))
	for i, m := range t.Members {
		o := *m
		o.Type = m.Type.Opened()
		c.Members[i] = &o
	}
	return &c
}

// String returns the type as an author would write it, without descriptions and bounds.
func (t *Type) String() string {
	s := t.bare()
	if t.Nullable {
		return "nullable(" + s + ")"
	}
	return s
}

func (t *Type) bare() string {
	if t.isRef {
		return "type." + t.def.Name
	}
	if t.OneOf != nil {
		names := make([]string, len(t.OneOf))
		for i, a := range t.OneOf {
			names[i] = a.String()
		}
		return "one_of(" + strings.Join(names, ", ") + ")"
	}
	if len(t.Enum) > 0 {
		values := make([]string, len(t.Enum))
		for i, e := range t.Enum {
			values[i] = showJSON(e.Value)
		}
		return "enum(" + strings.Join(values, ", ") + ")"
	}
	switch t.Kind {
	case List, Set, Map:
		if t.Elem == nil {
			return t.Kind.String() + "(any)"
		}
		return t.Kind.String() + "(" + t.Elem.String() + ")"
	case Object:
		members := make([]string, len(t.Members))
		for i, m := range t.Members {
			members[i] = m.Name + " = " + m.text()
		}
		if len(members) == 0 {
			return "object({})"
		}
		return "object({ " + strings.Join(members, ", ") + " })"
	}
	return t.Kind.String()
}

func (m *Member) text() string {
	switch {
	case m.HasDefault:
		return "optional(" + m.Type.String() + ", " + showJSON(m.Default) + ")"
	case m.Optional:
		return "optional(" + m.Type.String() + ")"
	}
	return m.Type.String()
}

// TemplateType converts the type for the contextual compilers.
func (t *Type) TemplateType() template.Type { return t.Unfolded().templateType() }

func (t *Type) templateType() template.Type {
	out := template.Type{Kind: kinds[t.Kind].template, Nullable: t.AllowsNull()}
	out.Plain = t.Pattern != nil && t.Pattern.plain || slices.Contains(plainFormats, t.Format)
	out.Word = t.Pattern != nil && t.Pattern.word
	out.FileName = t.Pattern != nil && t.Pattern.name || slices.Contains(plainFormats, t.Format)
	if t.Kind == String && len(t.Enum) > 0 {
		out.Kind = template.Enum
		for _, e := range t.Enum {
			out.Values = append(out.Values, e.Value.(string))
		}
	}
	if out.Kind == template.List {
		elem := t.Elem.templateType()
		out.Elem = &elem
	}
	return out
}

// showJSON returns a value as shortened JSON for an author or a model.
func showJSON(v any) string {
	if s, ok := v.(string); ok {
		return quoteShort(s)
	}
	b, err := value.AppendJSON(nil, v)
	if err != nil {
		return "bytes"
	}
	return clip(string(b))
}

func hasEnum(values []EnumValue, v any) bool {
	return slices.ContainsFunc(values, func(e EnumValue) bool { return value.Equal(e.Value, v) })
}
