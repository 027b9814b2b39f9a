package adapters

import (
	"fmt"
	"strings"
)

// Effect is one thing that a call would do, as a plan shows it. Its texts hide the secrets that the backend knows.
type Effect struct {
	Step     string   `json:"step,omitempty"`     // name of the step; empty for the only backend
	Kind     string   `json:"kind,omitempty"`     // of the block, such as sql; empty for a remark about the step
	Target   string   `json:"target,omitempty"`   // connection, address or path; empty where there is none
	Text     string   `json:"text"`               // what is sent or done, without Bindings and After
	Bindings []string `json:"bindings,omitempty"` // the values that are sent apart from Text, as JSON
	Before   *string  `json:"before,omitempty"`   // content that is replaced; nil for none that is shown
	After    *string  `json:"after,omitempty"`    // content that is written; nil for none
}

// PlanEffects returns the plan of a backend that has one effect.
func PlanEffects(kind, target, text string) []Effect {
	return []Effect{{Kind: kind, Target: target, Text: text}}
}

// RenderEffects returns the text of effects, as an approver and a dry run show it.
func RenderEffects(effects []Effect) string {
	var out strings.Builder
	step := ""
	for _, e := range effects {
		if e.Step != step {
			fmt.Fprintf(&out, "step %q:\n", e.Step)
			step = e.Step
		}
		text := e.Text
		if e.After != nil {
			text += ":\n\n" + *e.After
		}
		out.WriteString(strings.TrimRight(text, "\n") + "\n")
		for i, value := range e.Bindings {
			fmt.Fprintf(&out, "  %d: %s\n", i+1, value)
		}
	}
	return out.String()
}

// Map returns the effect with change applied to its texts.
func (e Effect) Map(change func(string) string) Effect {
	e.Target, e.Text = change(e.Target), change(e.Text)
	bindings := make([]string, len(e.Bindings))
	for i, value := range e.Bindings {
		bindings[i] = change(value)
	}
	if e.Bindings = bindings; len(bindings) == 0 {
		e.Bindings = nil
	}
	for _, content := range []**string{&e.Before, &e.After} {
		if *content != nil {
			text := change(**content)
			*content = &text
		}
	}
	return e
}

// Size returns how many bytes the texts of the effect have.
func (e Effect) Size() int {
	n := len(e.Target) + len(e.Text)
	for _, value := range e.Bindings {
		n += len(value)
	}
	for _, content := range []*string{e.Before, e.After} {
		if content != nil {
			n += len(*content)
		}
	}
	return n
}
