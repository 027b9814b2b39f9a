package approval

import (
	"context"
	"errors"
	"time"

	"hatchel/runtime/state"
)

// Server is who voids approvals, where it is said who has decided.
const Server = "server"

// Void ends an approval that is pending and can count no more, and reports whether it did. What somebody is deciding at this moment it leaves alone: what is written down already must hold,
// and nobody uses it.
func (b *Book) Void(ctx context.Context, a *Approval, why string) (bool, error) {
	if a.Status != Pending {
		return false, nil
	}
	ending := Decision{By: Server, At: time.Now().UTC(), Reason: why}
	p, err := b.Propose(ctx, a.ID, Proposal{Decision: ending}, Server) // while it ends nobody begins to decide
	if errors.As(err, new(*AlreadyError)) || errors.Is(err, ErrUnknown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	void := *p.Approval
	void.Decision = &ending
	ended, err := b.change(ctx, &void, Void)
	return ended, errors.Join(err, b.drop(ctx, p))
}

// Ending says which of the approvals about calls of a tool are void.
type Ending struct {
	Seal string // that they have
	Why  string
}

// VoidAll ends what is pending about calls of some tools, which are given by name, and returns how many it has ended.
func (b *Book) VoidAll(ctx context.Context, tools map[string]Ending) (ended int, err error) {
	q := state.Query{Kind: Kind, Group: string(Pending), Limit: sweepAtOnce}
	for {
		records, err := b.store.List(ctx, q)
		if err != nil {
			return ended, err
		}
		for _, r := range records {
			e, err := entryOf(r, time.Now())
			if err != nil {
				return ended, err
			}
			void, err := b.voidIf(ctx, e, tools)
			if err != nil {
				return ended, err
			}
			if void {
				ended++
			}
		}
		if len(records) < q.Limit {
			return ended, nil
		}
		q.After = records[len(records)-1]
	}
}

func (b *Book) voidIf(ctx context.Context, e *Entry, tools map[string]Ending) (bool, error) {
	ending, about := tools[e.Tool]
	if !about || e.seal != ending.Seal {
		return false, nil
	}
	a, err := e.Approval()
	if err != nil {
		return false, err
	}
	return b.Void(ctx, a, ending.Why)
}
