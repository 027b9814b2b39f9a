package view

import (
	"cmp"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// field is one input in a form, or one part of an input.
type field struct {
	Name     string   `json:"name"`
	Label    string   `json:"label"`
	Hint     string   `json:"hint,omitempty"`
	Control  string   `json:"control"` // see controlOf; key is an idempotency key, which the script makes
	Required bool     `json:"required,omitempty"`
	Initial  any      `json:"initial,omitempty"`
	Min      any      `json:"min,omitempty"` // of a number, or of the characters of a text
	Max      any      `json:"max,omitempty"`
	Options  []option `json:"options,omitempty"`
	Fields   []*field `json:"fields,omitempty"`
	Elem     *field   `json:"elem,omitempty"`
}

// option is one value of an enumeration.
type option struct {
	Value any    `json:"value"`
	Label string `json:"label"`
}

// maxFieldDepth is the depth from which objects and lists are entered as JSON.
const maxFieldDepth = 4

// maxLine is the number of characters of a text that has one line.
const maxLine = 120

// fieldsOf returns the fields of the inputs of a tool. Files cannot be entered, and an idempotency key is made by the
// script.
func fieldsOf(input *schema.Type, idempotent bool) (fields []*field) {
	for _, m := range input.Members {
		switch {
		case m.Type.HoldsFile():
		case idempotent && m.Name == hcl.KeyInput:
			fields = append(fields, &field{Name: m.Name, Control: "key"})
		default:
			fields = append(fields, memberField(m, 0))
		}
	}
	return fields
}

func memberField(m *schema.Member, depth int) *field {
	f := newField(m.Type, depth)
	f.Name, f.Label, f.Required = m.Name, cmp.Or(m.Type.Title, labelOf(m.Name)), !m.Optional
	if m.HasDefault && f.Control != "password" {
		f.Initial = m.Default
	}
	return f
}

// newField returns the field of a type, without a name.
func newField(t *schema.Type, depth int) *field {
	t = t.Unfolded()
	f := &field{Hint: t.Description, Control: controlOf(t, depth)}
	switch f.Control {
	case "object":
		for _, m := range t.Members {
			f.Fields = append(f.Fields, memberField(m, depth+1))
		}
	case "list":
		f.Elem = newField(t.Elem, depth+1)
	case "integer", "number":
		f.Min, f.Max = t.Min, t.Max
	case "enum":
		for _, e := range t.Enum {
			text, err := value.Text(e.Value)
			if err == nil {
				f.Options = append(f.Options, option{e.Value, cmp.Or(e.Title, text)})
			}
		}
	case "text", "area", "password":
		if t.MinLength != nil {
			f.Min = *t.MinLength
		}
		if t.MaxLength != nil {
			f.Max = *t.MaxLength
		}
	}
	return f
}

// controlOf returns how a type is entered: the type of an input of HTML, or a word for another control.
func controlOf(t *schema.Type, depth int) string {
	switch {
	case t.OneOf != nil:
		return "json"
	case t.Sensitive && t.Kind == schema.String:
		return "password"
	case t.Kind == schema.Bool:
		return "bool"
	case len(t.Enum) > 0:
		return "enum"
	case t.Kind == schema.Integer:
		return "integer"
	case t.Kind == schema.Number:
		return "number"
	case t.Kind == schema.String:
		switch t.Format {
		case "date", "email":
			return t.Format
		case "uri":
			return "url"
		}
		if t.MaxLength != nil && *t.MaxLength <= maxLine || t.Format != "" || t.Pattern != nil {
			return "text"
		}
		return "area"
	case t.Kind == schema.Object && !t.Open && len(t.Members) > 0 && depth < maxFieldDepth:
		return "object"
	case (t.Kind == schema.List || t.Kind == schema.Set) && t.Elem != nil && depth < maxFieldDepth:
		return "list"
	}
	return "json"
}
