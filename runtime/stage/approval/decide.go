package approval

import (
	"context"
	"errors"
	"time"
)

// Server is the approver of decisions that the server makes.
const Server = "server"

// Decide approves or rejects a pending approval, and returns it with the decision. It fails with
// [ErrNotFound], with [ErrChanged], or with a [DecidedError] when the approval was decided or has expired.
func (b *Store) Decide(ctx context.Context, id string, approved bool, d Decision) (*Approval, error) {
	return b.changePending(ctx, id, d.Digest, func(a *Approval) Status { return a.decide(approved, d) })
}

// decide makes a decision that of the approval, and returns the status that follows.
func (a *Approval) decide(approved bool, d Decision) Status {
	a.Decision, a.Proposal = &d, nil
	if approved {
		return Approved
	}
	return Rejected
}

// Propose begins a decision that must be recorded before it takes effect. A caller that claims it
// records it and calls Confirm or Withdraw; otherwise any process may become the one that does with
// Claim. It fails like Decide.
func (b *Store) Propose(ctx context.Context, id string, approved bool, d Decision, claim bool) (*Approval, error) {
	return b.changePending(ctx, id, d.Digest, func(a *Approval) Status {
		until := time.Now().Add(proposalTTL)
		if !claim {
			until = latest(until, a.Deadline) // no process that has the audit log may be running
		}
		a.Proposal = &Proposal{Approved: approved, Decision: d, Claimed: claim, Until: until}
		return Pending
	})
}

// Claim makes the caller the one that records the proposal for an approval, which it returns. Exactly
// one of any number of callers gets it; the others get nil, as they do when there is no proposal.
func (b *Store) Claim(ctx context.Context, id string) (*Approval, error) {
	a, err := b.Find(ctx, id)
	if err != nil || a == nil || a.Proposal == nil || a.Proposal.Claimed {
		return nil, err
	}
	a.Proposal.Claimed, a.Proposal.Until = true, time.Now().Add(proposalTTL)
	if claimed, err := b.setStatus(ctx, a, Pending); err != nil || !claimed {
		return nil, err
	}
	return a, nil
}

// Confirm makes a recorded proposal effective, and returns the decided approval. A is as Propose or
// Claim has returned it.
func (b *Store) Confirm(ctx context.Context, a *Approval) (*Approval, error) {
	decided, p := *a, a.Proposal
	confirmed, err := b.setStatus(ctx, &decided, decided.decide(p.Approved, p.Decision))
	if err != nil || confirmed {
		return &decided, err
	}
	return b.Decide(ctx, a.ID, p.Approved, p.Decision) // it was dropped in the meantime
}

// Withdraw drops a proposal that could not be recorded. A is as Propose or Claim has returned it.
func (b *Store) Withdraw(ctx context.Context, a *Approval) error {
	a.Proposal = nil
	_, err := b.setStatus(ctx, a, Pending)
	return err
}

// Unclaimed returns the IDs of the approvals that have a proposal which nobody records.
func (b *Store) Unclaimed(ctx context.Context) (ids []string, err error) {
	err = b.eachPending(ctx, func(e *Entry) error {
		a, err := e.Approval()
		if err == nil && a.Proposal != nil && !a.Proposal.Claimed {
			ids = append(ids, a.ID)
		}
		return err
	})
	return ids, err
}

// Void ends a pending approval that no longer applies, and reports whether it did. It leaves an
// approval alone that somebody is deciding: a decision that is recorded must take effect.
func (b *Store) Void(ctx context.Context, id, reason string) (bool, error) {
	_, err := b.changePending(ctx, id, "", func(a *Approval) Status {
		a.Decision = &Decision{By: Server, At: time.Now().UTC(), Reason: reason}
		return Void
	})
	if errors.As(err, new(*DecidedError)) || errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// VoidFilter selects approvals to void.
type VoidFilter struct {
	Seal   string // of the approvals
	Reason string // reason to give
}

// VoidAll voids the pending approvals of some tools, given by name, and returns how many it has
// voided.
func (b *Store) VoidAll(ctx context.Context, tools map[string]VoidFilter) (voided int, err error) {
	err = b.eachPending(ctx, func(e *Entry) error {
		filter, ok := tools[e.Tool]
		if !ok || e.seal != filter.Seal {
			return nil
		}
		void, err := b.Void(ctx, e.ID, filter.Reason)
		if void {
			voided++
		}
		return err
	})
	return voided, err
}

// changePending changes an approval that can be decided, and that has the digest unless this is empty. Change returns
// its new status, and is called again for an approval that somebody else has changed in the meantime.
func (b *Store) changePending(
	ctx context.Context, id, digest string, change func(*Approval) Status,
) (*Approval, error) {
	for {
		a, err := b.findPending(ctx, id)
		if err != nil {
			return nil, err
		}
		if digest != "" && digest != a.Digest {
			return nil, ErrChanged
		}
		if changed, err := b.setStatus(ctx, a, change(a)); err != nil || changed {
			return a, err
		}
	}
}

// findPending returns an approval that can be decided. A decision that was proposed in time is valid
// after the deadline.
func (b *Store) findPending(ctx context.Context, id string) (*Approval, error) {
	a, err := b.Find(ctx, id)
	if err == nil && a != nil {
		a, err = b.expire(ctx, a)
	}
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, ErrNotFound
	case a.Status != Pending:
		return nil, &DecidedError{Status: a.Status, Decision: a.Decision}
	case a.Proposal != nil:
		return nil, &DecidedError{Status: Pending, Decision: &a.Proposal.Decision}
	}
	return a, nil
}
