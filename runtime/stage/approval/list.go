package approval

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"hatchel/runtime/durable/state"
)

// ListQuery selects the approvals of a list.
type ListQuery struct {
	Status Status // empty for all
	After  string // cursor of the previous page; empty for the first page
	Limit  int    // maximum number of approvals; at least 1
}

// ErrCursor is returned for a cursor that List has not returned.
var ErrCursor = errors.New("invalid cursor")

// CountPending returns how many approvals are stored that nobody has decided. Some of them may have expired lately.
func (b *Store) CountPending(ctx context.Context) (int, error) {
	return b.store.Count(ctx, Kind, string(Pending))
}

// List returns a page of approvals, ordered by deadline, and the cursor of the next page; next is
// empty after the last page.
func (b *Store) List(ctx context.Context, q ListQuery) (list []*Entry, next string, err error) {
	now := time.Now()
	query := state.Query{Kind: Kind, Group: string(q.Status), Limit: q.Limit}
	switch {
	case q.After != "":
		if query.After, err = parseCursor(q.After); err != nil {
			return nil, "", err
		}
	case q.Status == Expired: // store first what has expired unnoticed
		for _, open := range []Status{Pending, Approved} {
			if _, err := b.expireOverdue(ctx, open); err != nil {
				return nil, "", err
			}
		}
	}
	open := q.Status == Pending || q.Status == Approved
	if open && (query.After == nil || query.After.Due.Before(now)) {
		query.After = &state.Record{Kind: Kind, Due: now.Truncate(time.Millisecond)} // skip expired ones
	}
	records, err := b.store.List(ctx, query)
	if err != nil {
		return nil, "", err
	}
	list = make([]*Entry, 0, len(records))
	for _, r := range records {
		e, err := decodeEntry(r)
		if err != nil {
			return nil, "", err
		}
		list = append(list, e)
	}
	if len(list) == q.Limit {
		next = list[len(list)-1].Cursor()
	}
	return list, next, nil
}

// ListAny returns a page of the approvals with one of several statuses, as List does for one. It ignores q.Status.
func (b *Store) ListAny(ctx context.Context, statuses []Status, q ListQuery) (list []*Entry, next string, err error) {
	for _, q.Status = range statuses {
		of, _, err := b.List(ctx, q)
		if err != nil {
			return nil, "", err
		}
		list = append(list, of...)
	}
	slices.SortFunc(list, func(a, b *Entry) int {
		return cmp.Or(a.record.Due.Compare(b.record.Due), cmp.Compare(a.ID, b.ID))
	})
	if len(list) >= q.Limit {
		list = list[:q.Limit]
		next = list[len(list)-1].Cursor()
	}
	return list, next, nil
}

// Cursor returns the cursor of the page after a page that ends with e.
func (e *Entry) Cursor() string {
	return strconv.FormatInt(e.record.Due.UnixMilli(), 36) + "-" + e.ID
}

func parseCursor(cursor string) (*state.Record, error) {
	due, name, ok := strings.Cut(cursor, "-")
	at, err := strconv.ParseInt(due, 36, 64)
	if !ok || err != nil || canonicalID(name) != name {
		return nil, ErrCursor
	}
	return &state.Record{Kind: Kind, Name: name, Due: time.UnixMilli(at)}, nil
}

// pageSize is how many records are read at once.
const pageSize = 256

// expireOverdue stores of one page of pending or approved approvals that they have expired, and
// returns how many it has found.
func (b *Store) expireOverdue(ctx context.Context, open Status) (int, error) {
	q := state.Query{Kind: Kind, Group: string(open), Until: time.Now(), Limit: pageSize}
	records, err := b.store.List(ctx, q)
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		a, err := decodeApproval(r)
		if err == nil {
			_, err = b.expire(ctx, a)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(records), nil
}

// eachPending calls do with every pending approval, until that returns an error.
func (b *Store) eachPending(ctx context.Context, do func(*Entry) error) error {
	q := state.Query{Kind: Kind, Group: string(Pending), Limit: pageSize}
	for {
		records, err := b.store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range records {
			e, err := decodeEntry(r)
			if err == nil {
				err = do(e)
			}
			if err != nil {
				return err
			}
		}
		if len(records) < q.Limit {
			return nil
		}
		q.After = records[len(records)-1]
	}
}

// OfCaller returns the approvals for which calls of an identified caller wait, and those that their next calls may use,
// ordered by deadline.
func (b *Store) OfCaller(ctx context.Context, w Requester) (list []*Approval, err error) {
	if !w.identified() {
		return nil, nil
	}
	records, err := b.store.List(ctx, state.Query{Kind: pendingKind, Group: callerGroup(w), Limit: MaxPendingPerCaller})
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		a, err := b.Find(ctx, r.Name)
		if err != nil {
			return nil, err
		}
		if a != nil && a.Status == Pending && a.isOf(w) {
			list = append(list, a)
		}
	}
	approved, _, err := b.List(ctx, ListQuery{Status: Approved, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	for _, e := range approved {
		if e.Subject != w.Subject {
			continue
		}
		a, err := e.Approval()
		if err != nil {
			return nil, err
		}
		if a.isOf(w) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(x, y *Approval) int {
		return cmp.Or(x.record.Due.Compare(y.record.Due), cmp.Compare(x.ID, y.ID))
	})
	return list, nil
}

// isOf reports whether an approval is of a call of a caller.
func (a *Approval) isOf(w Requester) bool {
	return a.Caller.Subject == w.Subject && a.Caller.Key == w.Key
}

// Expires returns until when the approval can be decided or used.
func (a *Approval) Expires() time.Time { return a.record.Due }
