package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"hatchel/internal/queue"
	"hatchel/runtime/durable/state"
)

// Store is the approvals in a state store. Its methods may be called concurrently. Waiting calls of
// this process notice what changes through it at once, and what other processes change when the owner
// of the state store passes that on to [Store.NotifyChange].
type Store struct {
	store    state.Store
	onChange func(id string) // may be nil

	mu      sync.Mutex
	waiters map[string]map[queue.Signal]int // by approval ID, with the version that each has read; guarded by mu
}

// NewStore returns the approvals in a state store. The caller closes the state store.
func NewStore(store state.Store) *Store {
	return &Store{store: store, waiters: map[string]map[queue.Signal]int{}}
}

// OnChange sets a function that is called with the ID of every approval that may have changed, also in
// another process. It must be called before all other methods; the function must not block.
func (b *Store) OnChange(onChange func(id string)) { b.onChange = onChange }

// Open returns the approval for a purpose that is pending, or approved and not used. If there is
// none, it requests a new one and reports that it is new. It fails with [ErrTooManyPending] or
// [ErrTooManyOfCaller] when too many are pending; then nothing was requested.
func (b *Store) Open(ctx context.Context, purpose string, r Request) (a *Approval, isNew bool, err error) {
	for {
		existing, err := b.store.ByUniqueKey(ctx, Kind, purpose)
		if err != nil {
			return nil, false, err
		}
		if existing != nil {
			a, err := decodeApproval(existing)
			if err == nil {
				a, err = b.expire(ctx, a)
			}
			if err != nil || a != nil && (a.Status == Pending || a.Status == Approved) {
				return a, false, err
			}
			continue
		}
		if err := b.checkLimits(ctx, r.Caller); err != nil {
			return nil, false, err
		}
		if r.Observe != nil {
			r.Before = r.Observe()
		}
		a, err := b.add(ctx, purpose, r)
		if err != nil || a != nil {
			return a, a != nil, err
		}
	}
}

// add stores a new approval. It returns nil when another caller has done so for the same purpose.
func (b *Store) add(ctx context.Context, purpose string, r Request) (*Approval, error) {
	a := &Approval{ID: newID(time.Now()), Status: Pending, Request: r}
	body, err := a.encodeBody()
	if err != nil {
		return nil, err
	}
	record := &state.Record{
		Kind: Kind, Name: a.ID, UniqueKey: purpose, Group: string(Pending), Version: 1,
		Due: r.Deadline.Truncate(time.Millisecond), Expires: r.Deadline.Add(undecidedRetention), Body: body,
	}
	if existing, err := b.store.Add(ctx, record); err != nil || existing != nil {
		return nil, err
	}
	if r.Caller.identified() {
		// After a failure the caller is counted too low, which does no harm.
		b.store.Add(ctx, &state.Record{
			Kind: pendingKind, Name: record.Name, Group: callerGroup(r.Caller),
			Due: record.Due, Expires: record.Due, NoNotify: true,
		})
	}
	a.record = record
	return a, nil
}

func (w *Requester) identified() bool { return w.Subject != "" || w.Key != "" }

// callerGroup returns the group of the pending approvals of a caller. It includes the key, because
// two issuers may use the same subject for different people.
func callerGroup(w Requester) string {
	sum := sha256.Sum256([]byte(w.Key + "\n" + w.Subject))
	return hex.EncodeToString(sum[:16])
}

// checkLimits returns [ErrTooManyOfCaller] or [ErrTooManyPending] when a caller may request no more approvals.
func (b *Store) checkLimits(ctx context.Context, w Requester) error {
	if w.identified() {
		n, err := b.store.Count(ctx, pendingKind, callerGroup(w))
		if err != nil {
			return err
		}
		if n >= MaxPendingPerCaller {
			return ErrTooManyOfCaller
		}
	}
	for expired := false; ; expired = true {
		n, err := b.store.Count(ctx, Kind, string(Pending))
		switch {
		case err != nil:
			return err
		case n < maxPending:
			return nil
		case expired:
			return ErrTooManyPending
		}
		for range maxPending / pageSize {
			if n, err := b.expireOverdue(ctx, Pending); err != nil {
				return err
			} else if n < pageSize {
				break
			}
		}
	}
}

// Find returns an approval, or nil when there is none. The ID may be typed in lower case.
func (b *Store) Find(ctx context.Context, id string) (*Approval, error) {
	name := canonicalID(id)
	if name == "" {
		return nil, nil
	}
	r, err := b.store.Record(ctx, Kind, name)
	if err != nil || r == nil {
		return nil, err
	}
	return decodeApproval(r)
}

// Use uses up an approval, and reports whether the caller may act on it: exactly one of any number of
// callers may, and nobody may when it was not approved or has expired.
func (b *Store) Use(ctx context.Context, a *Approval) (bool, error) {
	current, err := b.Find(ctx, a.ID)
	if err != nil || current == nil || current.Status != Approved {
		return false, err
	}
	used, err := b.setStatus(ctx, current, Used)
	if used {
		a.record, a.Status = current.record, current.Status
	}
	return used, err
}

// RecordCall stores what the call came to that has used an approval. It does nothing for one that is not used.
func (b *Store) RecordCall(ctx context.Context, id string, call Call) error {
	for {
		a, err := b.Find(ctx, id)
		if err != nil || a == nil || a.Status != Used {
			return err
		}
		a.Call = &call
		r := *a.record
		r.NoNotify = true // the decision is the same
		if r.Body, err = a.encodeBody(); err != nil {
			return err
		}
		if replaced, err := b.store.Replace(ctx, &r); err != nil || replaced {
			return err
		}
	}
}

// Return undoes Use for a caller that has done nothing with the approval, so that it can be used
// again until it expires. It reports false when another approval for the purpose was requested
// meanwhile.
func (b *Store) Return(ctx context.Context, purpose string, a *Approval) (bool, error) {
	r := *a.record
	r.UniqueKey, r.Group = purpose, string(Approved)
	replaced, err := b.store.Replace(ctx, &r)
	if errors.Is(err, state.ErrKeyTaken) {
		return false, nil
	}
	if replaced {
		a.record, a.Status = &r, Approved
		b.announce(a.ID)
	}
	return replaced, err
}

// setStatus stores an approval with a new status and announces it. It reports false when somebody
// else has changed the approval since it was read.
func (b *Store) setStatus(ctx context.Context, a *Approval, s Status) (bool, error) {
	r := *a.record
	r.Group = string(s)
	if s != Approved && s != Pending {
		r.UniqueKey = ""
	}
	if s == Approved {
		r.Due = latest(r.Due, a.Decision.At.Add(usableFor))
	}
	if a.Decision != nil && s != Void {
		r.Expires = latest(r.Due, time.Now()).Add(decidedRetention)
	}
	var err error
	if r.Body, err = a.encodeBody(); err != nil {
		return false, err
	}
	replaced, err := b.store.Replace(ctx, &r)
	if err != nil || !replaced {
		return false, err
	}
	a.record, a.Status = &r, s
	if s != Used && s != Pending && a.Caller.identified() {
		// After a failure it expires by itself.
		b.store.Remove(ctx, &state.Record{Kind: pendingKind, Name: a.ID, Version: 1, NoNotify: true})
	}
	b.announce(a.ID)
	return true, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
