package approval

import (
	"context"
	"errors"
	"time"

	"hatchel/runtime/state"
)

// Server is the approver of decisions that the server makes.
const Server = "server"

// Void ends a pending approval that no longer applies, and reports whether it did. It leaves an
// approval alone that somebody is deciding: a decision that is recorded must take effect.
func (b *Store) Void(ctx context.Context, a *Approval, reason string) (bool, error) {
	if a.Status != Pending {
		return false, nil
	}
	d := Decision{By: Server, At: time.Now().UTC(), Reason: reason}
	p, err := b.Propose(ctx, a.ID, Proposal{Decision: d}, Server) // keeps others from deciding meanwhile
	if errors.As(err, new(*DecidedError)) || errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	void := *p.Approval
	void.Decision = &d
	voided, err := b.setStatus(ctx, &void, Void)
	_, withdrawing := b.Withdraw(ctx, p)
	return voided, errors.Join(err, withdrawing)
}

// VoidFilter selects approvals to void.
type VoidFilter struct {
	Seal   string // of the approvals
	Reason string // reason to give
}

// VoidAll voids the pending approvals of some tools, given by name, and returns how many it has
// voided.
func (b *Store) VoidAll(ctx context.Context, tools map[string]VoidFilter) (voided int, err error) {
	q := state.Query{Kind: Kind, Group: string(Pending), Limit: expirePage}
	for {
		records, err := b.store.List(ctx, q)
		if err != nil {
			return voided, err
		}
		for _, r := range records {
			e, err := decodeEntry(r, time.Now())
			if err != nil {
				return voided, err
			}
			void, err := b.voidIfSelected(ctx, e, tools)
			if err != nil {
				return voided, err
			}
			if void {
				voided++
			}
		}
		if len(records) < q.Limit {
			return voided, nil
		}
		q.After = records[len(records)-1]
	}
}

func (b *Store) voidIfSelected(ctx context.Context, e *Entry, tools map[string]VoidFilter) (bool, error) {
	filter, ok := tools[e.Tool]
	if !ok || e.seal != filter.Seal {
		return false, nil
	}
	a, err := e.Approval()
	if err != nil {
		return false, err
	}
	return b.Void(ctx, a, filter.Reason)
}
