package schema

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// A FormMistake is a member that a form of the protocol cannot contain. A form is an object of
// scalars and choices, so that every client can show it.
type FormMistake struct {
	Range  hclv2.Range // of the member
	Detail string      // a sentence with what to write instead
}

// FormMistakes returns the members of an object that a form cannot contain.
func (t *Type) FormMistakes() (out []FormMistake) {
	for _, m := range t.Members {
		if detail := m.Type.formError(); detail != "" && !m.Type.broken {
			out = append(out, FormMistake{m.Range, fmt.Sprintf("%q cannot be filled in: %s", m.Name, detail)})
		}
	}
	return out
}

// formFormats are the formats that the protocol allows in a form.
var formFormats = []string{"date", "date-time", "email", "uri"}

func (t *Type) formError() string {
	if t.Nullable {
		return fmt.Sprintf("a form has no null. A field that may be left out is optional(%s).", t.NotNull())
	}
	if len(t.Examples) > 0 {
		return "a form has no examples. Put it into the description."
	}
	switch t.Kind {
	case String:
		return t.textFormError()
	case Number, Integer:
		return t.numberFormError()
	case Bool:
		return ""
	case List:
		return t.listFormError()
	case Set:
		return "a multiple choice is a list: list(enum(\"a\", \"b\"))."
	case Object, Map:
		return "a form is flat. Ask for each member separately, as in address_street = string."
	}
	return "a field of a form has one of the types string, number, integer, bool, enum(...) or list(enum(...))."
}

func (t *Type) textFormError() string {
	switch {
	case t.Pattern != nil:
		return "a form has no pattern. Describe the expected text in the description, and check the answer " +
			"in the step's expect."
	case t.Format != "" && !slices.Contains(formFormats, t.Format):
		return fmt.Sprintf("a form supports the formats %s, not %s.", strings.Join(formFormats, ", "), t.Format)
	}
	return ""
}

func (t *Type) numberFormError() string {
	switch {
	case len(t.Enum) > 0:
		return "the choices of a form are strings. Put them in quotes."
	case t.Above != nil, t.Below != nil:
		return "a form supports min and max, but not above or below."
	case t.MultipleOf != nil:
		return "a form supports min and max, but not multiple_of."
	}
	return ""
}

func (t *Type) listFormError() string {
	e := t.Elem
	switch {
	case e.broken:
		return ""
	case e.Kind != String || len(e.Enum) == 0 || e.Nullable:
		return "a list in a form is a multiple choice: list(enum(\"a\", \"b\")). Ask for free text as one string."
	case e.Title != "" || e.Description != "":
		return "put the title and the description on the list: list(enum(\"a\", \"b\"), \"What to choose\")."
	}
	return ""
}

// AppendForm appends the schema of a form: an object whose members, in declared order, use only the
// schemas that the protocol allows there. FormMistakes must have returned none.
func (t *Type) AppendForm(dst []byte) []byte {
	o := &jsonWriter{out: append(dst, `{"type":"object","properties":{`...)}
	required := []any{}
	for _, m := range t.Members {
		o.key(m.Name)
		o.out = m.appendField(o.out)
		if !m.Optional {
			required = append(required, m.Name)
		}
	}
	o.out = append(o.out, '}')
	if len(required) > 0 {
		o.comma = true
		o.any("required", required)
	}
	return append(o.out, '}')
}

// appendField appends one member of a form.
func (m *Member) appendField(dst []byte) []byte {
	t := m.Type
	o := &jsonWriter{out: append(dst, '{')}
	o.text("type", jsonTypes[t.Kind])
	o.text("title", t.Title)
	o.text("description", t.Description)
	if t.Kind == List {
		o.count("minItems", t.MinItems)
		o.count("maxItems", t.MaxItems)
		o.key("items")
		o.out = t.Elem.appendChoiceItems(o.out)
	} else if len(t.Enum) > 0 {
		t.appendChoices(o, "oneOf")
	} else {
		o.any("minimum", t.Min)
		o.any("maximum", t.Max)
		o.count("minLength", t.MinLength)
		o.count("maxLength", t.MaxLength)
		o.text("format", t.Format)
	}
	if m.HasDefault {
		o.key("default")
		o.out = appendValue(o.out, m.Default)
	}
	for _, k := range t.Extra {
		o.any(k.Name, k.Value)
	}
	return append(o.out, '}')
}

// appendChoiceItems appends the schema of the elements of a multiple choice.
func (t *Type) appendChoiceItems(dst []byte) []byte {
	o := &jsonWriter{out: append(dst, '{')}
	if !t.hasTitles() {
		o.text("type", "string")
	}
	t.appendChoices(o, "anyOf")
	for _, k := range t.Extra {
		o.any(k.Name, k.Value)
	}
	return append(o.out, '}')
}

// hasTitles reports whether the values of an enumeration have titles.
func (t *Type) hasTitles() bool {
	return slices.ContainsFunc(t.Enum, func(e EnumValue) bool { return e.Title != "" })
}

// appendChoices writes the values of an enumeration: as an enum, or with titles as a list of
// constants under the given keyword.
func (t *Type) appendChoices(o *jsonWriter, keyword string) {
	if !t.hasTitles() {
		values := make([]any, len(t.Enum))
		for i, e := range t.Enum {
			values[i] = e.Value
		}
		o.any("enum", values)
		return
	}
	o.key(keyword)
	o.out = append(o.out, '[')
	for i, e := range t.Enum {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		one := &jsonWriter{out: append(o.out, '{')}
		one.any("const", e.Value)
		title := e.Title
		if title == "" {
			title = e.Value.(string)
		}
		one.text("title", title)
		o.out = append(one.out, '}')
	}
	o.out = append(o.out, ']')
}
