package state

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hatchel/internal/backoff"
)

// Lease is how a Process works on records of one kind: at most one process holds a record at a
// time, and what a dead process held is found. The fields must not change after the first use; the
// methods may be called concurrently.
type Lease struct {
	Process *Process
	Kind    string

	// TTL is how long an orphaned record waits for its owner to come back. It is handled when the
	// record was orphaned, and of the same version, at two looks that are TTL apart.
	TTL time.Duration

	// OnOrphan handles a record whose owner is dead: it removes it, or replaces it by one without
	// an owner. Other processes may do the same at the same time. It is called again after an
	// error.
	OnOrphan func(context.Context, Store, *Record) error
}

// maxOrphans is how many orphans are handled at one look.
const maxOrphans = 1024

// Watch has orphans handled, now and after every TTL, until the Process is closed.
func (l *Lease) Watch() {
	l.Process.Go(func(ctx context.Context) {
		var seen map[string]int
		for range (backoff.Policy{First: l.TTL}).Attempts(ctx) {
			store, err := l.Process.open(ctx)
			if err == nil {
				seen, err = l.handleOrphans(ctx, store, seen)
			}
			l.Process.LogFailure("handling of orphaned records of the kind "+l.Kind, err)
		}
	})
}

// handleOrphans handles the orphans that were seen before, with the version that they had then. It
// returns those that are left, for the next look, and the first error.
func (l *Lease) handleOrphans(
	ctx context.Context, store Store, seen map[string]int,
) (left map[string]int, failed error) {
	orphans, err := store.List(ctx, Query{Kind: l.Kind, Orphaned: true, Limit: maxOrphans})
	if err != nil {
		return seen, err
	}
	left = map[string]int{}
	for _, r := range orphans {
		version, known := seen[r.Name]
		if known && version == r.Version {
			if err = l.OnOrphan(ctx, store, r); err == nil {
				continue
			}
			failed = cmp.Or(failed, err)
		}
		left[r.Name] = r.Version
	}
	return left, failed
}

// Hold is a record that this process holds. It belongs to one goroutine.
type Hold struct {
	Record   *Record
	process  *Process
	released bool
}

// Begin makes this process the owner of r: it adds r, or replaces the record before when that is
// not nil. Exactly one of any number of callers gets a Hold, and must end it with Finish or
// Release. The others get the record that is in their way: the one that has the name or the slot of
// r, or before when that was changed since it was read.
//
// After an error nothing was begun. Where the store cannot say so, because it became unavailable or
// ctx ended, Begin undoes in the background what may have been done.
func (l *Lease) Begin(ctx context.Context, r, before *Record) (h *Hold, existing *Record, err error) {
	store, err := l.Process.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	h = &Hold{Record: r, process: l.Process}
	l.Process.retain()
	if err = l.Process.heartbeat(ctx, store); err == nil {
		r.Kind, r.Owner = l.Kind, l.Process.name
		if before != nil {
			r.Name, r.Version = before.Name, before.Version
		}
		began := *r
		existing, err = put(ctx, store, r, before)
		if err != nil && !errors.Is(err, ErrFull) {
			l.Process.abandon(began, before)
		}
	}
	if existing != nil || err != nil {
		h.Release()
		return nil, existing, err
	}
	return h, nil, nil
}

// put adds r, or has it replace before. It returns the record that is in the way.
func put(ctx context.Context, store Store, r, before *Record) (existing *Record, err error) {
	if before == nil {
		return store.Add(ctx, r)
	}
	if replaced, err := store.Replace(ctx, r); err != nil || replaced {
		return nil, err
	}
	return before, nil
}

// Finish replaces the record by one without an owner and ends the hold. It reports false when the
// record is no longer this process's: it was removed, has expired, or was handled as an orphan. It
// may be called again after an error, such as ErrFull.
func (h *Hold) Finish(ctx context.Context) (bool, error) {
	defer h.Release()
	store, err := h.process.open(ctx)
	if err != nil {
		return false, err
	}
	h.Record.Owner = ""
	return store.Replace(ctx, h.Record)
}

// Release ends the hold and leaves the record as it is. Only the first call has an effect.
func (h *Hold) Release() {
	if !h.released {
		h.released = true
		h.process.release()
	}
}

// abandon undoes, in the background, a Begin whose outcome is unknown. It waits a moment first for
// a statement that may still reach the store.
func (p *Process) abandon(began Record, before *Record) {
	p.Go(func(ctx context.Context) {
		for n := range storeBackoff.Attempts(ctx) {
			if n > 1 && p.undo(ctx, began, before) == nil {
				return
			}
		}
	})
}

// undo removes a record as it was begun, or puts the one before it back. It does nothing when the
// store has another.
func (p *Process) undo(ctx context.Context, began Record, before *Record) error {
	store, err := p.open(ctx)
	if err != nil {
		return err
	}
	now, err := store.Record(ctx, began.Kind, began.Name)
	if err != nil || now == nil || now.Owner != began.Owner || now.Version != began.Version+1 {
		return err
	}
	now.NoNotify = began.NoNotify
	if before == nil {
		_, err = store.Remove(ctx, now)
		return err
	}
	now.Owner, now.UniqueKey, now.Group, now.Due = "", before.UniqueKey, before.Group, before.Due
	now.Expires, now.Body = before.Expires, before.Body
	_, err = store.Replace(ctx, now)
	return err
}
