package approval

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"hatchel/runtime/state"
)

// ListQuery says which approvals are listed.
type ListQuery struct {
	Status Status // only those; empty for all
	After  string // what the list before has returned as next; empty for the first
	Limit  int    // how many at most; at least 1
}

// ErrCursor is why a list cannot go on: there was none that ended there.
var ErrCursor = errors.New("no list has ended there")

// List returns approvals in the order in which their time ends, and where the next list goes on; next is empty when there are no more.
func (b *Book) List(ctx context.Context, q ListQuery) (list []*Entry, next string, err error) {
	now := time.Now()
	query := state.Query{Kind: Kind, Group: string(q.Status), Limit: q.Limit}
	switch {
	case q.After != "":
		if query.After, err = position(q.After); err != nil {
			return nil, "", err
		}
	case q.Status == Expired: // also what nobody has noted yet
		for _, open := range []Status{Pending, Approved} {
			if _, err := b.sweep(ctx, open); err != nil {
				return nil, "", err
			}
		}
	}
	if open := q.Status == Pending || q.Status == Approved; open && (query.After == nil || query.After.Due.Before(now)) {
		query.After = &state.Record{Kind: Kind, Due: now.Truncate(time.Millisecond)} // not what has expired
	}
	records, err := b.store.List(ctx, query)
	if err != nil {
		return nil, "", err
	}
	list = make([]*Entry, 0, len(records))
	for _, r := range records {
		e, err := entryOf(r, now)
		if err != nil {
			return nil, "", err
		}
		list = append(list, e)
	}
	if len(records) == q.Limit {
		next = cursor(records[len(records)-1])
	}
	return list, next, nil
}

// Cursor is where a list goes on that ended with e.
func (e *Entry) Cursor() string { return cursor(e.record) }

func cursor(r *state.Record) string {
	return strconv.FormatInt(r.Due.UnixMilli(), 36) + "-" + r.Name
}

func position(cursor string) (*state.Record, error) {
	due, name, ok := strings.Cut(cursor, "-")
	at, err := strconv.ParseInt(due, 36, 64)
	if !ok || err != nil || canonical(name) != name {
		return nil, ErrCursor
	}
	return &state.Record{Kind: Kind, Name: name, Due: time.UnixMilli(at)}, nil
}

const sweepAtOnce = 256

// sweep notes of some approvals that are open that their time has passed, and returns how many were found.
func (b *Book) sweep(ctx context.Context, open Status) (int, error) {
	records, err := b.store.List(ctx, state.Query{Kind: Kind, Group: string(open), Until: time.Now(), Limit: sweepAtOnce})
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		a, err := read(r, time.Now())
		if err != nil {
			return 0, err
		}
		if _, err := b.expire(ctx, a); err != nil {
			return 0, err
		}
	}
	return len(records), nil
}
