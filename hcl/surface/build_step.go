package surface

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// step returns what a step does. Its name is for what has none in the configuration.
func (s *source) step(step *hcl.Step, block operationBlock, name string) *Step {
	backend := step.Backend
	out := &Step{Name: name, Kind: backend.Kind, Writes: !backend.Effects.ReadOnly, Code: s.code[backend],
		When: s.condition(step.When), Args: map[string]string{}, traits: s.kinds.Traits(backend.Kind)}
	out.Upstream = upstreamOf(backend.Effects.Pinned)
	if backend.Connection != nil {
		out.Connection = backend.Connection.Kind + " " + backend.Connection.Name
	}
	for _, e := range step.Expects {
		out.Expect = append(out.Expect, s.condition(e.That))
	}
	if step.Repeat != nil {
		out.Until = s.condition(step.Repeat.Until)
	}
	if step.ContinueOnError {
		out.OnError = "continue"
	}
	inner := block.nested[backend.Range]
	own := *s
	own.types, own.inline = map[string]any{}, out.traits.Request
	if lister, ok := backend.Config.(hcl.EffectLister); ok {
		own.layouts = layoutsOf(lister.Effects(backend.Connection), backend.SourceOf)
	}
	if inner != nil {
		out.Does = own.stepDoes(step, inner)
		own.arguments(out.Args, "", inner)
		out.Reads = s.readsOf(inner.Range())
	}
	if around := block.nested[step.Range]; around != nil && around.Type == "step" {
		out.Each = s.form(attribute(around, "each"))
		if key := attribute(around, "key"); key != nil {
			out.Each += " by " + s.form(key)
		}
		own.arguments(out.Args, "step.", around, backend.Kind, "when", "each", "key", "on_error")
		out.Reads = append(out.Reads, s.readsOf(around.Range())...)
		slices.Sort(out.Reads)
		out.Reads = slices.Compact(out.Reads)
	}
	if len(own.types) > 0 {
		out.Types = own.types
	}
	return out
}

// decides returns a line for each part of a step that decides whether it changes something, such as "WHEN pay:
// input.amount < 10".
func (s *Step) decides() (lines []string) {
	if !s.Writes {
		return nil
	}
	add := func(verb, text string) {
		if text != "" {
			lines = append(lines, strings.TrimSpace(verb+" "+s.Name)+": "+text)
		}
	}
	add("WHEN", s.When.String())
	add("EACH", s.Each)
	add("ON_ERROR", s.OnError)
	add("UNTIL", s.Until.String())
	for _, e := range s.Expect {
		add("EXPECT", e.String())
	}
	return lines
}

// stepDoes returns what a step does, whose backend is a block.
func (s *source) stepDoes(step *hcl.Step, block *hclsyntax.Block) (lines []string) {
	backend, kind, name := step.Backend, "", ""
	if backend.Connection != nil {
		kind, name = backend.Connection.Kind, backend.Connection.Name
	}
	switch config := backend.Config.(type) {
	case *hcl.ToolCall:
		lines = []string{"CALL " + config.Name}
		for _, name := range diag.SortedNames(block.Body.Attributes) {
			for _, line := range s.sentValues(name, attribute(block, name), false) {
				lines = append(lines, "CALL "+config.Name+" "+line)
			}
		}
		return lines
	case *hcl.AskGroup:
		for _, a := range config.Asks {
			lines = append(lines, askLine(a))
		}
		return lines
	case hcl.EffectLister:
		lines = s.does(config.Effects(backend.Connection), kind, name, backend.SourceOf)
	}
	for _, name := range diag.SortedNames(s.code[backend]) {
		lines = append(lines, "CODE "+name+" "+s.code[backend][name])
	}
	lines = append(lines, s.sent("HEADER", block, "headers")...)
	return append(lines, s.sent("ENV", block, "env")...)
}

// sent returns a line for each value of an argument of a block; none if it does not have it.
func (s *source) sent(verb string, block *hclsyntax.Block, argument string) []string {
	if e := attribute(block, argument); e != nil {
		return s.sentValues(verb, e, true)
	}
	return nil
}

func askLine(a *hcl.Ask) string {
	switch {
	case a.Sample != nil:
		return "ASK the model of the client"
	case a.Roots != nil:
		return "ASK for the folders of the user"
	case a.Elicit != nil && a.Elicit.URL != nil:
		return "ASK the user to open a page"
	}
	return "ASK the user"
}

// secretReads returns the secrets in the backend of a step, and where they go, as in "secret.x→shop".
func (s *source) secretReads(step *hcl.Step, block *hclsyntax.Block, does []string) (lines []string) {
	if len(s.secrets) == 0 || block == nil {
		return nil
	}
	to := block.Type
	if step.Backend.Connection != nil {
		to = step.Backend.Connection.Name
	} else if len(does) > 0 {
		to = does[0]
	}
	for _, secret := range s.secretsIn(block.Range()) {
		lines = append(lines, secret+"→"+to)
	}
	return lines
}
