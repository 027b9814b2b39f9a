package approval

import (
	"context"
	"time"
)

// Decide approves or rejects what is pending, at once. It fails with ErrUnknown, or with an AlreadyError when it was decided before or its time has passed; then nothing has changed.
func (b *Book) Decide(ctx context.Context, id string, approved bool, d Decision) (*Approval, error) {
	a, err := b.pending(ctx, id)
	if err != nil {
		return nil, err
	}
	if there, err := b.proposed(ctx, a.ID); err != nil {
		return nil, err
	} else if there != nil {
		return nil, there
	}
	return b.settle(ctx, a, approved, d)
}

// settle decides what is pending, unless somebody else has decided since it was read.
func (b *Book) settle(ctx context.Context, a *Approval, approved bool, d Decision) (*Approval, error) {
	decided := *a
	decided.Decision = &d
	s := Rejected
	if approved {
		s = Approved
	}
	won, err := b.change(ctx, &decided, s)
	switch {
	case err != nil:
		return nil, err
	case won:
		return &decided, nil
	}
	if a, err = b.pending(ctx, a.ID); err != nil {
		return nil, err
	}
	return nil, already(a) // it was changed and is pending: nothing does that
}

// pending is an approval that can be decided.
func (b *Book) pending(ctx context.Context, id string) (*Approval, error) {
	a, err := b.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, ErrUnknown
	case a.Status == Expired:
		if a, err = b.expire(ctx, a); err != nil {
			return nil, err
		}
		if a == nil {
			return nil, ErrUnknown
		}
	}
	if a.Status != Pending {
		return nil, already(a)
	}
	if !time.Now().Before(a.record.Due) { // somebody who is deciding it still may
		if there, err := b.proposed(ctx, a.ID); err != nil || there != nil {
			return nil, firstOf(err, there)
		}
		return nil, &AlreadyError{Status: Expired}
	}
	return a, nil
}

func firstOf(err error, there *AlreadyError) error {
	if err != nil {
		return err
	}
	return there
}
