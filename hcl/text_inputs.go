package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// textInputs says how inputs arrive that are not JSON: the arguments of a prompt, and the variables of a URI.
type textInputs struct {
	phrase string // as a sentence calls one: "an argument of a prompt"
	json   bool   // a list or an object may be written as JSON
}

// checkTextType reports an input that no text can be.
func (in *inputs) checkTextType(d *decode.Decoder, m *schema.Member, b *hclsyntax.Block) {
	if in.texts == nil {
		return
	}
	fit := "string, integer, number, bool or an enum"
	switch m.Type.Kind {
	case schema.String, schema.Integer, schema.Number, schema.Bool:
		return
	case schema.List, schema.Set, schema.Map, schema.Object:
		if in.texts.json {
			return
		}
	default:
		fit = "string"
	}
	d.Errorf(b.Body.Attributes["type"].Expr.Range(), "Type that cannot travel", "%s arrives as a text, and this is %s. Its type is %s.", diag.ToSentence(in.texts.phrase), eval.TypePhrase(m.Type), fit)
}

// ParseTexts validates inputs that arrived as texts: those of a prompt, and those of a URI. A text becomes what the declared type says: a string is taken as
// it is, everything else is read as JSON. A text that is empty counts as absent where it can be nothing else. It returns the inputs with
// defaults applied, or every violation.
func (w *Operation) ParseTexts(given map[string]string) (map[string]any, []schema.Violation) {
	values := make(map[string]any, len(given))
	for name, text := range given {
		m, known := w.Input.Lookup(name)
		switch {
		case !known:
			values[name] = text // which the validator refuses
		case text != "" || !m.Optional || takesEmpty(m.Type):
			values[name] = parseText(m.Type, text)
		}
	}
	return w.Validator.Values(values)
}

// ParsePartial is FromTexts of who has not filled in everything yet: an input that is missing, or not valid, is null.
func (w *Operation) ParsePartial(given map[string]string) map[string]any {
	values := make(map[string]any, len(w.Input.Members))
	for _, m := range w.Input.Members {
		values[m.Name] = nil
		text, there := given[m.Name]
		if !there {
			continue
		}
		if v, violations := m.Type.Compile().Check(parseText(m.Type, text)); len(violations) == 0 {
			values[m.Name] = v
		}
	}
	return values
}

// takesEmpty reports whether an empty text can be a value of the type.
func takesEmpty(t *schema.Type) bool { return t.Kind == schema.String && len(t.Enum) == 0 }

// parseText reads a text as a type wants it. One that cannot be read stays a text, and the validator says what is wrong with it.
func parseText(t *schema.Type, text string) any {
	if t.Kind == schema.String {
		return text
	}
	v, err := value.Decode([]byte(text))
	if err != nil || v == nil {
		return text
	}
	return v
}
