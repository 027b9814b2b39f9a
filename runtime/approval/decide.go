package approval

import (
	"context"
	"time"
)

// Decide approves or rejects a pending approval, and returns it with the decision. It fails with
// [ErrNotFound], or with an [DecidedError] when the approval was decided or has expired.
func (b *Store) Decide(ctx context.Context, id string, approved bool, d Decision) (*Approval, error) {
	a, err := b.findPending(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := b.checkNoProposal(ctx, a.ID); err != nil {
		return nil, err
	}
	return b.storeDecision(ctx, a, approved, d)
}

// storeDecision decides a pending approval, unless somebody has changed it since it was read.
func (b *Store) storeDecision(ctx context.Context, a *Approval, approved bool, d Decision) (*Approval, error) {
	decided := *a
	decided.Decision = &d
	status := Rejected
	if approved {
		status = Approved
	}
	stored, err := b.setStatus(ctx, &decided, status)
	switch {
	case err != nil:
		return nil, err
	case stored:
		return &decided, nil
	}
	if a, err = b.findPending(ctx, a.ID); err != nil {
		return nil, err
	}
	return nil, alreadyDecided(a) // no change leaves an approval pending
}

// findPending returns an approval that can be decided.
func (b *Store) findPending(ctx context.Context, id string) (*Approval, error) {
	a, err := b.Find(ctx, id)
	if err == nil && a != nil && a.Status == Expired {
		a, err = b.expire(ctx, a)
	}
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, ErrNotFound
	case a.Status != Pending:
		return nil, alreadyDecided(a)
	case time.Now().Before(a.record.Due):
		return a, nil
	}
	if err := b.checkNoProposal(ctx, a.ID); err != nil { // a decision proposed in time is still valid
		return nil, err
	}
	return nil, &DecidedError{Status: Expired}
}
