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
