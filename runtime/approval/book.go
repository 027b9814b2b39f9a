package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"hatchel/runtime/state"
)

// Book is the approvals in a store. It is safe for many goroutines. Those of this process who wait are told at once of what changes through it, and of what other processes
// change when the owner of the store passes on to Changed what Store.Watch tells.
type Book struct {
	store state.Store
	told  func(id string) // nil for nobody

	mu      sync.Mutex
	waiting map[string]map[chan struct{}]struct{} // who waits for the approval of an ID; guarded by mu
}

// NewBook returns the book of a store, which stays its owner's.
func NewBook(store state.Store) *Book {
	return &Book{store: store, waiting: map[string]map[chan struct{}]struct{}{}}
}

// Tell has somebody told the ID of every approval that may have changed, whoever has changed it. It is called before anything else; told must not block.
func (b *Book) Tell(told func(id string)) { b.told = told }

// Open returns the one approval for a purpose that is pending, or was given and not used; or it asks for a new one and reports that it is new. It fails with ErrCrowded or ErrShare, and then
// nothing was asked for.
func (b *Book) Open(ctx context.Context, purpose string, r Request) (a *Approval, isNew bool, err error) {
	r.clip()
	for {
		held, err := b.store.Holder(ctx, Kind, purpose)
		if err != nil {
			return nil, false, err
		}
		if held != nil {
			a, err := read(held, time.Now())
			if err != nil || a.Status != Expired {
				return a, false, err
			}
			if a, err = b.expire(ctx, a); err != nil || a != nil && a.Status == Pending {
				return a, false, err
			}
			continue
		}
		if err := b.room(ctx, r.Caller); err != nil {
			return nil, false, err
		}
		a, err := b.add(ctx, purpose, r)
		if err != nil || a != nil {
			return a, a != nil, err
		}
	}
}

// add asks for a new approval; nil when somebody else has asked for it in the meantime.
func (b *Book) add(ctx context.Context, purpose string, r Request) (*Approval, error) {
	body, err := encode(&content{Request: r})
	if err != nil {
		return nil, err
	}
	rec := &state.Record{
		Kind: Kind, Name: newID(time.Now()), Slot: purpose, Group: string(Pending), Version: 1,
		Due: r.Until.Truncate(time.Millisecond), Expires: r.Until.Add(unmet), Body: body,
	}
	if there, err := b.store.Add(ctx, rec); err != nil || there != nil {
		return nil, err
	}
	if r.Caller.known() {
		// Without it the caller is only counted too low.
		b.store.Add(ctx, &state.Record{Kind: askedKind, Name: rec.Name, Group: groupOf(r.Caller), Due: rec.Due, Expires: rec.Due, Quiet: true})
	}
	return &Approval{ID: rec.Name, Status: Pending, Request: r, record: rec}, nil
}

// known reports whether it is known who asks.
func (w *Who) known() bool { return w.Subject != "" || w.Key != "" }

// groupOf is the group of what a caller asks for: two are not the same because their issuers call them so.
func groupOf(w Who) string {
	sum := sha256.Sum256([]byte(w.Key + "\n" + w.Subject))
	return hex.EncodeToString(sum[:16])
}

// room is ErrCrowded when nothing more may be pending, and ErrShare when nothing more of this caller may.
func (b *Book) room(ctx context.Context, w Who) error {
	if w.known() {
		if n, err := b.store.Count(ctx, askedKind, groupOf(w)); err != nil {
			return err
		} else if n >= MostOfCaller {
			return ErrShare
		}
	}
	for swept := false; ; swept = true {
		n, err := b.store.Count(ctx, Kind, string(Pending))
		switch {
		case err != nil:
			return err
		case n < mostPending:
			return nil
		case swept:
			return ErrCrowded
		}
		for range mostPending / sweepAtOnce {
			if n, err := b.sweep(ctx, Pending); err != nil {
				return err
			} else if n < sweepAtOnce {
				break
			}
		}
	}
}

// Find returns an approval, by an ID that may be typed in small letters; nil when there is none.
func (b *Book) Find(ctx context.Context, id string) (*Approval, error) {
	name := canonical(id)
	if name == "" {
		return nil, nil
	}
	r, err := b.store.Record(ctx, Kind, name)
	if err != nil || r == nil {
		return nil, err
	}
	return read(r, time.Now())
}

// Use reports whether this approval may be used, now and this one time: of any number of callers exactly one is told true, and nobody when it was not approved or its time has passed.
func (b *Book) Use(ctx context.Context, a *Approval) (bool, error) {
	now, err := b.Find(ctx, a.ID)
	if err != nil || now == nil || now.Status != Approved {
		return false, err
	}
	used, err := b.change(ctx, now, Used)
	if used {
		a.record, a.Status = now.record, now.Status
	}
	return used, err
}

// Return undoes Use for who has done nothing with the approval: it may be used again for its purpose, until its time has passed. It reports false when the same was asked for afresh.
func (b *Book) Return(ctx context.Context, purpose string, a *Approval) (bool, error) {
	r := *a.record
	r.Slot, r.Group = purpose, string(Approved)
	won, err := b.store.Replace(ctx, &r)
	if errors.Is(err, state.ErrTaken) {
		return false, nil
	}
	if won {
		a.record, a.Status = &r, Approved
		b.wake(a.ID)
	}
	return won, err
}

// change replaces an approval by what has become of it, if nobody else has, and tells those who wait.
func (b *Book) change(ctx context.Context, a *Approval, s Status) (bool, error) {
	r := *a.record
	r.Group = string(s)
	if s != Approved && s != Pending {
		r.Slot = ""
	}
	if s == Approved {
		if later := a.Decision.At.Add(usable); later.After(r.Due) {
			r.Due = later
		}
	}
	if a.Decision != nil && s != Void {
		r.Expires = latest(r.Due, time.Now()).Add(kept)
	}
	var err error
	if r.Body, err = encode(&content{a.Request, a.Decision}); err != nil {
		return false, err
	}
	won, err := b.store.Replace(ctx, &r)
	if err != nil || !won {
		return false, err
	}
	a.record, a.Status = &r, s
	if s != Used && a.Caller.known() {
		b.store.Remove(ctx, &state.Record{Kind: askedKind, Name: a.ID, Version: 1, Quiet: true}) // otherwise it goes by itself
	}
	b.wake(a.ID)
	return true, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
