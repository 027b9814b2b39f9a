package sql

import (
	"encoding/json"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

const (
	maxPlannedElements = 20
	maxPlannedValue    = 2000 // bytes
)

// Plan implements adapters.Planner. It returns the statements with their bound values.
func (a *action) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	as, err := a.db.identityOf(call.Frame)
	if err != nil {
		return nil, err
	}
	plan, err := a.plan(call, a.shownIdentity(as).String())
	if err != nil {
		return nil, a.toFault(call.Frame.Context, as, err)
	}
	return plan, nil
}

// statementPlan is a plan that is being written. Lead is the text before the next statement.
type statementPlan struct {
	effects []adapters.Effect
	lead    strings.Builder
	target  string
}

// add adds a statement after the lead.
func (p *statementPlan) add(text string, bindings []string) {
	p.effects = append(p.effects,
		adapters.Effect{Kind: "sql", Target: p.target, Text: p.lead.String() + text, Bindings: bindings})
	p.lead.Reset()
}

// plan returns the statements. On says as whom they run on which connection.
func (a *action) plan(call *adapters.Call, on string) ([]adapters.Effect, error) {
	out := &statementPlan{target: a.connection}
	if a.Statement != nil {
		text, _, err := a.callerStatement(call)
		if err != nil {
			return nil, err
		}
		out.add("a read-only statement "+on+"\n"+text+"\n", nil)
		return out.effects, nil
	}
	kind := "a read-only query"
	if a.Exec != nil {
		kind = "one transaction"
	}
	fmt.Fprintf(&out.lead, "%s %s\n", kind, on)
	elements := 0
	err := a.forEachElement(call.Frame.Context, call.Frame, func(f *hcl.Frame) error {
		if elements++; elements > maxPlannedElements {
			return nil
		}
		if a.Each != nil {
			fmt.Fprintf(&out.lead, "for %v:\n", f.Each.Key)
		}
		return a.planStatements(out, f)
	})
	if elements > maxPlannedElements {
		more := elements - maxPlannedElements
		fmt.Fprintf(&out.lead, "%sthe same for %d more elements]\n", adapters.OmittedPrefix, more)
	}
	if out.lead.Len() > 0 {
		out.add("", nil)
	}
	return out.effects, err
}

func (a *action) planStatements(out *statementPlan, f *hcl.Frame) error {
	if a.Exec != nil && a.Exec.ReadsResults {
		out.lead.WriteString(adapters.OmittedPrefix + "results that later statements read; they are null here]\n")
		f = f.Fork(f.Context)
		f.Lenient, f.Output = true, map[string]any{}
	}
	for i, s := range a.statements() {
		var e execution
		err := e.bind(s, f)
		if err != nil && i > 0 && a.Exec.ReadsResults { // it computes something with a result
			out.add(fmt.Sprintf("%s\n  %sits values]", s.Samples()[0].Text, adapters.OmittedPrefix), nil)
			continue
		}
		if err != nil {
			return err
		}
		out.add(strings.TrimSpace(e.text), e.planBindings())
	}
	return nil
}

// planBindings returns the bound values of a statement for a plan.
func (e *execution) planBindings() []string {
	bindings := make([]string, len(e.args))
	for i, v := range e.args {
		bindings[i] = formatPlanned(v)
	}
	return bindings
}

// describe returns the statement and its values.
func (e *execution) describe() string {
	return adapters.RenderEffects([]adapters.Effect{{Text: strings.TrimSpace(e.text), Bindings: e.planBindings()}})
}

// formatPlanned formats a bound value for a plan.
func formatPlanned(v any) string {
	if b, ok := v.([]byte); ok {
		return fmt.Sprintf("%s%d bytes]", adapters.OmittedPrefix, len(b))
	}
	b, err := value.AppendJSON(nil, shownArgument(v))
	if err != nil {
		return fmt.Sprintf("a value that cannot be shown (%s)", err)
	}
	return adapters.PlanText(b, maxPlannedValue)
}

// shownArgument returns a bound value as plans, tapes and mocks have it: an object is its JSON, a long number its text.
func shownArgument(v any) any {
	switch v := v.(type) {
	case sqltext.AnyText:
		return string(v)
	case json.Number:
		return string(v)
	case map[string]any:
		text, _ := value.AppendJSON(nil, v) // sqltext binds only values that have a JSON form
		return string(text)
	case []any:
		return mapList(v, shownArgument)
	}
	return v
}

// plainArgument returns a bound value as a value of the language.
func plainArgument(v any) any {
	switch v := v.(type) {
	case sqltext.AnyText:
		return string(v)
	case []any:
		return mapList(v, plainArgument)
	}
	return v
}

func mapList(list []any, of func(any) any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = of(v)
	}
	return out
}
