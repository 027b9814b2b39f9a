package surface

import (
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

func (s *source) approval(a *hcl.Approval) *Approval {
	return &Approval{By: approver(a), When: s.condition(a.When)}
}

// approver says who decides.
func approver(a *hcl.Approval) string {
	if a.ByCaller {
		return "caller"
	}
	return "operator"
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
