package surface

import (
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

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

// condition returns a condition with the values that it reads. Own are the locals of its block; nil for none.
func (s *source) condition(c *hcl.Condition, own map[string]hclsyntax.Expression) string {
	text := conditionText(c)
	return text + s.values(text, own)
}

func (s *source) describeApproval(a *hcl.Approval, own map[string]hclsyntax.Expression) string {
	by := "operator"
	if a.ByCaller {
		by = "caller"
	}
	if when := s.condition(a.When, own); when != "" {
		return by + " when " + when
	}
	return by
}

func limitOf(l *hcl.Limit) *Limit {
	if l == nil {
		return nil
	}
	out := &Limit{Burst: l.Burst, Shared: l.Shared, Concurrency: l.Concurrency, Queue: l.Queue}
	if l.Queue > 0 {
		out.MaxWait = l.MaxWait.Seconds()
	}
	if l.Rate.Calls > 0 {
		out.Rate = float64(l.Rate.Calls) * float64(time.Hour) / float64(l.Rate.Per)
	}
	return out
}
