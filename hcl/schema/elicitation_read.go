package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// maxFormFields is how many fields a form has that is read.
const maxFormFields = 64

// ReadForm returns the type of a form from a requestedSchema of the protocol, such as AppendForm writes: an object
// whose members, in the order of the text, have no FormError. It accepts the schemas of all revisions of the protocol,
// and no others, so that what it does not know is never shown to a person. The error says what is wrong, without the
// texts of the schema.
func ReadForm(text []byte) (*Type, error) {
	raw, err := value.Decode(text)
	if err != nil {
		return nil, err
	}
	r := formReader{}
	m := r.object(raw, "the form")
	properties, _ := m["properties"].(map[string]any)
	if kind, _ := m["type"].(string); kind != "object" || m["properties"] != nil && properties == nil {
		r.fail("the form is no object with properties")
	}
	if len(properties) > maxFormFields {
		r.fail(fmt.Sprintf("the form has %d fields, and at most %d are shown", len(properties), maxFormFields))
	}
	required, _ := m["required"].([]any)
	form := ObjectOf()
	ordered, _ := jsonscan.Lookup(text, "properties")
	if len(properties) > 0 && r.err == nil {
		err = jsonscan.Members(ordered, value.MaxDepth, func(name, _ []byte) bool {
			field := properties[string(name)]
			isRequired := slices.Contains(required, any(string(name)))
			form.Members = append(form.Members, r.member(string(name), field, isRequired))
			return true
		})
	}
	for _, name := range required {
		if text, _ := name.(string); properties[text] == nil {
			r.fail("the form requires a field that it does not have")
		}
	}
	return form, cmp.Or(r.err, err)
}

// formReader reads the fields of a form. It keeps the first mistake.
type formReader struct{ err error }

func (r *formReader) fail(text string) { r.err = cmp.Or(r.err, errors.New(text)) }

func (r *formReader) object(raw any, what string) map[string]any {
	m, ok := raw.(map[string]any)
	if !ok {
		r.fail(what + " is no object")
	}
	return m
}

// text returns a member that is a text; empty without it.
func (r *formReader) text(m map[string]any, name string) string {
	text, ok := m[name].(string)
	if !ok && m[name] != nil {
		r.fail("the " + name + " of a field is no text")
	}
	return text
}

func (r *formReader) count(m map[string]any, name string) *int {
	if m[name] == nil {
		return nil
	}
	n, ok := value.Int(m[name])
	if !ok || n < 0 {
		r.fail("the " + name + " of a field is no count")
	}
	return &n
}

func (r *formReader) number(m map[string]any, name string) any {
	if m[name] != nil && value.Kind(m[name]) != "number" {
		r.fail("the " + name + " of a field is no number")
	}
	return m[name]
}

// fieldKeywords are the keywords of the schema of a field.
var fieldKeywords = []string{
	"type", "title", "description", "default", "minLength", "maxLength", "format", "minimum", "maximum", "enum",
	"enumNames", "oneOf", "items", "minItems", "maxItems", "uniqueItems", "$comment",
}

// member reads one field.
func (r *formReader) member(name string, raw any, required bool) *Member {
	m := r.object(raw, "a field")
	for _, keyword := range value.Keys(m) {
		if !slices.Contains(fieldKeywords, keyword) {
			r.fail("a field has the keyword " + keyword + ", which the protocol does not have in a form")
		}
	}
	t := &Type{Title: r.text(m, "title"), Description: r.text(m, "description")}
	member := &Member{Name: name, Type: t, Optional: !required}
	switch kind := r.text(m, "type"); kind {
	case "string":
		t.Kind, t.Enum = String, r.choices(m)
		if t.Enum == nil {
			t.MinLength, t.MaxLength = r.count(m, "minLength"), r.count(m, "maxLength")
			t.Format = r.text(m, "format")
		}
	case "number", "integer":
		t.Kind, t.Min, t.Max = Number, r.number(m, "minimum"), r.number(m, "maximum")
		if kind == "integer" {
			t.Kind = Integer
		}
	case "boolean":
		t.Kind = Bool
	case "array":
		t.Kind, t.MinItems, t.MaxItems = List, r.count(m, "minItems"), r.count(m, "maxItems")
		t.Elem = &Type{Kind: String, Enum: r.choices(r.object(m["items"], "the list of a field"))}
	default:
		r.fail("a field is no text, number, bool or choice")
	}
	if problem := member.FormError(); problem != "" && r.err == nil {
		r.fail("a field has a type that a form cannot have")
	}
	if v := m["default"]; v != nil && r.err == nil {
		converted, violations, err := t.Compile().Check(v, Unlimited)
		if len(violations) > 0 || err != nil {
			r.fail("the default of a field is no value of it")
		}
		member.HasDefault, member.Default, member.Optional = true, converted, true
	}
	return member
}

// choices reads the values of a choice, which all revisions of the protocol write in other ways; nil for free text.
func (r *formReader) choices(m map[string]any) (values []EnumValue) {
	titled, _ := m["oneOf"].([]any)
	if titled == nil {
		titled, _ = m["anyOf"].([]any)
	}
	for _, one := range titled {
		choice := r.object(one, "a choice")
		if choice["const"] == nil {
			r.fail("a choice has no value")
		}
		values = append(values, EnumValue{r.text(choice, "const"), r.text(choice, "title")})
	}
	plain, _ := m["enum"].([]any)
	names, _ := m["enumNames"].([]any)
	for i, v := range plain {
		text, ok := v.(string)
		if !ok {
			r.fail("a choice is no text")
		}
		e := EnumValue{Value: text}
		if i < len(names) {
			e.Title, _ = names[i].(string)
		}
		values = append(values, e)
	}
	for i, e := range values {
		if hasEnum(values[:i], e.Value) {
			r.fail("a form has the same choice twice")
		}
	}
	return values
}
