package sql

import (
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

const (
	plannedElements = 20
	plannedText     = 2000 // bytes of a value
)

// Plan is the text of the statements with the values that are bound to them.
func (a *action) Plan(call *adapters.Call) (string, error) {
	var out strings.Builder
	if a.Statement != nil {
		text, _, err := a.asked(call)
		if err != nil {
			return "", a.failure(call.Frame.Context, err)
		}
		return "a read-only statement on " + a.connection + "\n" + text + "\n", nil
	}
	kind := "a read-only query"
	if a.Exec != nil {
		kind = "one transaction"
	}
	fmt.Fprintf(&out, "%s on %s\n", kind, a.connection)
	write := func(f *hcl.Frame) error {
		for _, p := range a.programs() {
			text, args, err := p.Bind(f, nil)
			if err != nil {
				return refusal{err}
			}
			out.WriteString(strings.TrimSpace(text) + "\n")
			for i, v := range args {
				fmt.Fprintf(&out, "  %d: %s\n", i+1, planned(v))
			}
		}
		return nil
	}
	if a.Each == nil {
		err := write(call.Frame)
		return out.String(), a.planFailure(call, err)
	}
	n := 0
	err := a.elements(call.Frame.Context, call.Frame, func(f *hcl.Frame) error {
		if n++; n > plannedElements {
			return nil
		}
		fmt.Fprintf(&out, "for %v:\n", f.Each.Key)
		return write(f)
	})
	if n > plannedElements {
		fmt.Fprintf(&out, "%sthe same for %d elements more]\n", adapters.NotShown, n-plannedElements)
	}
	return out.String(), a.planFailure(call, err)
}

func (a *action) planFailure(call *adapters.Call, err error) error {
	if err == nil {
		return nil
	}
	return a.failure(call.Frame.Context, err)
}

// planned shows a bound value.
func planned(v any) string {
	if b, ok := v.([]byte); ok {
		return fmt.Sprintf("%s%d bytes]", adapters.NotShown, len(b))
	}
	switch list := v.(type) {
	case []string:
		v = anyList(list)
	case []int64:
		v = anyList(list)
	case []float64:
		v = anyList(list)
	case []bool:
		v = anyList(list)
	}
	b, err := value.AppendJSON(nil, v)
	if err != nil {
		return fmt.Sprintf("a value that cannot be shown (%s)", err)
	}
	if len(b) > plannedText {
		head := strings.ToValidUTF8(string(b[:plannedText]), "")
		return fmt.Sprintf("%s… %s%d bytes more]", head, adapters.NotShown, len(b)-len(head))
	}
	return string(b)
}

func anyList[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
		if n, ok := any(v).(int64); ok {
			out[i] = int(n)
		}
	}
	return out
}
