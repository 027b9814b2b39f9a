package hcl

import (
	"strings"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// PromptArgument is what clients are told of an argument of a prompt.
type PromptArgument struct {
	Name        string
	Title       string
	Description string
	Required    bool
}

// Arguments are the arguments in written order. A client is told no types, so that the descriptions say how a value is written.
func (p *Prompt) Arguments() []PromptArgument {
	out := make([]PromptArgument, len(p.Input.Members))
	for i, m := range p.Input.Members {
		out[i] = PromptArgument{Name: m.Name, Title: m.Type.Title, Description: describeArgument(m.Type), Required: !m.Optional}
	}
	return out
}

// describeArgument is the description of a type and how its values are written.
func describeArgument(t *schema.Type) string {
	form := ""
	switch {
	case len(t.Enum) > 0:
		form = "One of " + strings.Join(enumTexts(t), ", ") + "."
	case t.Kind == schema.Integer:
		form = "An integer."
	case t.Kind == schema.Number:
		form = "A number."
	case t.Kind == schema.Bool:
		form = "true or false."
	case t.Kind != schema.String:
		form = "Written as JSON: " + eval.TypePhrase(t) + "."
	}
	said := strings.TrimSpace(t.Description)
	if said != "" && form != "" && !strings.ContainsAny(said[len(said)-1:], ".!?") {
		said += "."
	}
	return strings.TrimSpace(said + " " + form)
}

// enumTexts are the values of an enumeration as texts.
func enumTexts(t *schema.Type) (texts []string) {
	for _, e := range t.Enum {
		text, err := value.Text(e.Value)
		if err == nil {
			texts = append(texts, text)
		}
	}
	return texts
}
