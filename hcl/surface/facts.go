package surface

import (
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// decodeSchema returns a type as a decoded JSON Schema; nil for none.
func decodeSchema(t *schema.Type) any {
	if t == nil {
		return nil
	}
	v, err := value.Decode(t.AppendReviewSchema(nil))
	if err != nil {
		panic("surface: " + err.Error())
	}
	return v
}

func conditionText(c *hcl.Condition) string {
	if c == nil {
		return ""
	}
	return strings.Join(strings.Fields(c.Source()), " ")
}

func describeApproval(a *hcl.Approval) string {
	by := "operator"
	if a.ByCaller {
		by = "caller"
	}
	if when := conditionText(a.When); when != "" {
		return by + " when " + when
	}
	return by
}

func limitOf(l *hcl.Limit) *Limit {
	if l == nil {
		return nil
	}
	out := &Limit{Burst: l.Burst, Shared: l.Shared, Concurrency: l.Concurrency, Queue: l.Queue}
	if l.Rate.Calls > 0 {
		out.Rate = float64(l.Rate.Calls) * float64(time.Hour) / float64(l.Rate.Per)
	}
	return out
}
