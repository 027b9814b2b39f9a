package approval

import (
	"context"
	"time"

	"hatchel/runtime/durable/state"
)

// History is what became of the other approvals that a caller has requested for a tool.
type History struct {
	Approved, Rejected int  // in the last 7 days
	Expired            int  // without a decision, in the last hour
	Incomplete         bool // there were too many approvals to read all
}

// maxHistory is how many approvals History reads.
const maxHistory = 500

// History reads what became of the other approvals that the caller of an approval has requested for its tool. It
// returns nil for an unidentified caller.
func (b *Store) History(ctx context.Context, a *Approval) (*History, error) {
	if !a.Caller.identified() {
		return nil, nil
	}
	since := time.Now().Add(-decidedRetention)
	records, err := b.store.List(ctx, state.Query{
		Kind: Kind, After: &state.Record{Due: since}, Reverse: true, Limit: maxHistory,
	})
	if err != nil {
		return nil, err
	}
	h := &History{Incomplete: len(records) == maxHistory}
	for _, r := range records {
		e, err := decodeEntry(r)
		if err != nil {
			return nil, err
		}
		if e.ID == a.ID || e.Tool != a.Tool || e.Subject != a.Caller.Subject {
			continue
		}
		other, err := e.Approval()
		if err != nil {
			return nil, err
		}
		if other.Caller.Key == a.Caller.Key && !other.RequestedAt.Before(since) {
			h.add(other)
		}
	}
	return h, nil
}

func (h *History) add(a *Approval) {
	switch {
	case a.Status == Rejected:
		h.Rejected++
	case a.Status == Used, a.Status == Approved, a.Status == Expired && a.Decision != nil:
		h.Approved++
	case a.Status == Expired:
		h.Expired++
	}
}
