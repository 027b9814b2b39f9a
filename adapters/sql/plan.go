package sql

import (
	"fmt"
	"reflect"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

const (
	maxPlannedElements = 20
	maxPlannedValue    = 2000 // bytes
)

// Plan implements adapters.Planner. It returns the text of the statements with their bound values.
func (a *action) Plan(call *adapters.Call) (string, error) {
	plan, err := a.plan(call)
	if err != nil {
		return plan, a.toFault(call.Frame.Context, err)
	}
	return plan, nil
}

func (a *action) plan(call *adapters.Call) (string, error) {
	if a.Statement != nil {
		text, _, err := a.callerStatement(call)
		if err != nil {
			return "", err
		}
		return "a read-only statement on " + a.connection + "\n" + text + "\n", nil
	}
	var out strings.Builder
	kind := "a read-only query"
	if a.Exec != nil {
		kind = "one transaction"
	}
	fmt.Fprintf(&out, "%s on %s\n", kind, a.connection)
	elements := 0
	err := a.forEachElement(call.Frame.Context, call.Frame, func(f *hcl.Frame) error {
		if elements++; elements > maxPlannedElements {
			return nil
		}
		if a.Each != nil {
			fmt.Fprintf(&out, "for %v:\n", f.Each.Key)
		}
		return a.planStatements(&out, f)
	})
	if elements > maxPlannedElements {
		fmt.Fprintf(&out, "%sthe same for %d more elements]\n", adapters.OmittedPrefix, elements-maxPlannedElements)
	}
	return out.String(), err
}

func (a *action) planStatements(out *strings.Builder, f *hcl.Frame) error {
	for _, s := range a.statements() {
		var e execution
		if err := e.bind(s, f); err != nil {
			return err
		}
		out.WriteString(strings.TrimSpace(e.text) + "\n")
		for i, v := range e.args {
			fmt.Fprintf(out, "  %d: %s\n", i+1, formatPlanned(v))
		}
	}
	return nil
}

// formatPlanned formats a bound value for a plan.
func formatPlanned(v any) string {
	if b, ok := v.([]byte); ok {
		return fmt.Sprintf("%s%d bytes]", adapters.OmittedPrefix, len(b))
	}
	b, err := value.AppendJSON(nil, untypedList(v))
	if err != nil {
		return fmt.Sprintf("a value that cannot be shown (%s)", err)
	}
	return adapters.PlanText(b, maxPlannedValue)
}

// untypedList converts the typed lists that sqltext binds, such as []int64, to []any.
func untypedList(v any) any {
	list := reflect.ValueOf(v)
	if list.Kind() != reflect.Slice {
		return v
	}
	out := make([]any, list.Len())
	for i := range out {
		out[i] = list.Index(i).Interface()
		if n, ok := out[i].(int64); ok {
			out[i] = int(n)
		}
	}
	return out
}
