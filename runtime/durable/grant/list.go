package grant

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"hatchel/runtime/durable/state"
)

var (
	// ErrNotFound is returned for a sign-in that does not exist, or has ended.
	ErrNotFound = errors.New("there is no such sign-in")
	// ErrSealed is returned for sign-ins that another key of the state block has sealed.
	ErrSealed = errors.New("the sign-ins are sealed with another key")
	// ErrCursor is returned for a cursor that List has not returned.
	ErrCursor = errors.New("invalid cursor")
)

// Find returns the grant with an ID, and nil when it has ended.
func (s *Store) Find(ctx context.Context, id string) (*Grant, error) {
	h, err := s.read(ctx, id)
	if err != nil || h == nil || s.Revoked(id) {
		return nil, err
	}
	return &h.Grant, nil
}

// pageSize is how many grants are read at once.
const pageSize = 256

// List returns a page of the sign-ins that a query selects, the latest first, and the cursor of the next page; next is
// empty after the last page. A code that can be redeemed is one, so that who ends all sign-ins leaves none.
func (s *Store) List(ctx context.Context, q Query) (list []*SignIn, next string, err error) {
	query := state.Query{Kind: grantKind, Reverse: true, Limit: pageSize}
	if q.Owner != "" {
		query.Group = s.seals.group(q.Owner)
	}
	if q.After != "" {
		if query.Before, err = parseCursor(q.After); err != nil {
			return nil, "", err
		}
	}
	for {
		page, err := s.store.List(ctx, query)
		if err != nil {
			return nil, "", err
		}
		for n, r := range page {
			h := s.open(r)
			if h == nil || s.Revoked(h.ID) {
				continue
			}
			found := h.Grant.SignIn()
			if !q.Selects(found) {
				continue
			}
			list = append(list, found)
			if len(list) == max(q.Limit, 1) && (n < len(page)-1 || len(page) == query.Limit) {
				return list, cursorOf(r), nil
			}
		}
		if len(page) < query.Limit {
			return list, "", nil
		}
		query.Before = page[len(page)-1]
	}
}

// CheckKey returns ErrSealed if the latest sign-in cannot be opened, because the key of the state block is another one.
func (s *Store) CheckKey(ctx context.Context) error {
	latest, err := s.store.List(ctx, state.Query{Kind: grantKind, Reverse: true, Limit: 1})
	if err != nil || len(latest) == 0 {
		return err
	}
	if _, _, ok := s.seals.open(latest[0]); !ok {
		return ErrSealed
	}
	return nil
}

// cursorOf returns the cursor of the page after one that ends with a record.
func cursorOf(r *state.Record) string { return strconv.FormatInt(r.Due.UnixMilli(), 36) + "-" + r.Name }

func parseCursor(cursor string) (*state.Record, error) {
	due, name, ok := strings.Cut(cursor, "-")
	at, err := strconv.ParseInt(due, 36, 64)
	if !ok || err != nil || name == "" {
		return nil, ErrCursor
	}
	return &state.Record{Kind: grantKind, Name: name, Due: time.UnixMilli(at)}, nil
}
