package schema

import (
	"fmt"
	"slices"
	"strings"
)

// FormError returns why a form of the protocol cannot contain the member, with what to write instead,
// or "". A form is an object of scalars and choices, so that every client can show it.
func (m *Member) FormError() string {
	detail := m.Type.formError()
	if detail == "" || m.Type.broken {
		return ""
	}
	return fmt.Sprintf("%q cannot be filled in: %s", m.Name, detail)
}

// formFormats are the formats that the protocol allows in a form.
var formFormats = []string{"date", "date-time", "email", "uri"}

// formError returns why a form cannot contain the type, or "".
func (t *Type) formError() string {
	isNumber := t.Kind == Number || t.Kind == Integer
	switch {
	case t.OneOf != nil:
		return "a field of a form has one type. Ask for each alternative in a field of its own."
	case t.Nullable:
		return fmt.Sprintf("a form has no null. A field that may be left out is optional(%s).", t.NotNull())
	case len(t.Examples) > 0:
		return "a form has no examples. Put it into the description."
	case t.Pattern != nil:
		return "a form has no pattern. Describe the expected text in the description, and check the answer " +
			"in the step's expect."
	case t.Format != "" && !slices.Contains(formFormats, t.Format):
		return fmt.Sprintf("a form supports the formats %s, not %s.", strings.Join(formFormats, ", "), t.Format)
	case isNumber && len(t.Enum) > 0:
		return "the choices of a form are strings. Put them in quotes."
	case t.Above != nil, t.Below != nil:
		return "a form supports min and max, but not above or below."
	case t.MultipleOf != nil:
		return "a form supports min and max, but not multiple_of."
	case isNumber, t.Kind == String, t.Kind == Bool:
		return ""
	case t.Kind == List:
		return t.Elem.choiceError()
	case t.Kind == Set:
		return "a multiple choice is a list: list(enum(\"a\", \"b\"))."
	case t.Kind.base() == Object:
		return "a form is flat. Ask for each member separately, as in address_street = string."
	}
	return "a field of a form has one of the types string, number, integer, bool, enum(...) or list(enum(...))."
}

// choiceError returns why the type cannot be that of the elements of a multiple choice, or "".
func (t *Type) choiceError() string {
	switch {
	case t.broken:
		return ""
	case t.Kind != String || len(t.Enum) == 0 || t.Nullable:
		return "a list in a form is a multiple choice: list(enum(\"a\", \"b\")). Ask for free text as one string."
	case t.Title != "" || t.Description != "":
		return "put the title and the description on the list: list(enum(\"a\", \"b\"), \"What to choose\")."
	}
	return ""
}
