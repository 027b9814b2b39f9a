package handover

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"time"

	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
)

// StateCourier is a Courier of the processes that share a state.
type StateCourier struct{ state.Courier }

// Send implements Courier.
func (c StateCourier) Send(ctx context.Context, to string, message []byte) error {
	err := c.Courier.Send(ctx, to, message)
	if errors.Is(err, state.ErrNoReceiver) {
		return ErrNoReceiver
	}
	return stateError(err)
}

// stateError returns an error as package mcp knows it.
func stateError(err error) error {
	switch {
	case errors.Is(err, state.ErrUnavailable):
		return mcp.ErrUnavailable
	case errors.Is(err, state.ErrFull):
		return &mcp.Error{Code: mcp.CodeBusy, Message: "The state store is full. Try again later"}
	}
	return err
}

// stateStore implements Store.
type stateStore struct{ records state.Records }

// NewStateStore returns a Store of the processes that share a state.
func NewStateStore(records state.Records) Store { return stateStore{records} }

const (
	kindSession        = "session"
	kindDeletedSession = "session_deleted"
	deletedPage        = 1000 // records read at once

	// maxSessionRecords is how many sessions of a caller have records. A new one replaces the oldest.
	maxSessionRecords = 10_000
)

// LoadSession implements Store.
func (s stateStore) LoadSession(ctx context.Context, name string) (body []byte, version int, err error) {
	r, err := s.records.Record(ctx, kindSession, name)
	if err != nil || r == nil {
		return nil, 0, stateError(err)
	}
	return r.Body, r.Version, nil
}

// SaveSession implements Store.
func (s stateStore) SaveSession(
	ctx context.Context, name, owner string, body []byte, version int, until time.Time,
) (saved bool, err error) {
	r := &state.Record{
		Kind: kindSession, Name: name, Group: digest.Of(owner).String(), Version: version, Due: until,
		Expires: until.Add(state.MaxClockSkew), Body: body, Priority: state.Low, NoNotify: true,
	}
	if version > 0 {
		saved, err = s.records.Replace(ctx, r)
		return saved, stateError(err)
	}
	if err := s.makeRoom(ctx, r.Group); err != nil {
		return false, stateError(err)
	}
	existing, err := s.records.Add(ctx, r)
	return existing == nil && err == nil, stateError(err)
}

// RemoveSession implements Store.
func (s stateStore) RemoveSession(ctx context.Context, name string) error {
	r, err := s.records.Record(ctx, kindSession, name)
	if err == nil && r != nil {
		err = s.remove(ctx, r)
	}
	return stateError(err)
}

func (s stateStore) remove(ctx context.Context, r *state.Record) error {
	r.NoNotify = true
	_, err := s.records.Remove(ctx, r)
	return err
}

// SaveDeleted implements Store. The latest record is the first one due.
func (s stateStore) SaveDeleted(ctx context.Context, names []byte, until time.Time) error {
	_, err := s.records.Add(ctx, &state.Record{
		Kind: kindDeletedSession, Name: rand.Text(), Due: time.UnixMilli(math.MaxInt64/2 - time.Now().UnixMilli()),
		Expires: until.Add(state.MaxClockSkew), Body: names, Priority: state.Low, NoNotify: true,
	})
	return stateError(err)
}

// LoadDeleted implements Store.
func (s stateStore) LoadDeleted(ctx context.Context, add func(names []byte) bool) error {
	page := state.Query{Kind: kindDeletedSession, Limit: deletedPage}
	for {
		records, err := s.records.List(ctx, page)
		if err != nil {
			return stateError(err)
		}
		for _, r := range records {
			if !add(r.Body) {
				return nil
			}
		}
		if len(records) < deletedPage {
			return nil
		}
		page.After = records[len(records)-1]
	}
}

// makeRoom removes the oldest record of a caller who has too many.
func (s stateStore) makeRoom(ctx context.Context, group string) error {
	n, err := s.records.Count(ctx, kindSession, group)
	if err != nil || n < maxSessionRecords {
		return err
	}
	oldest, err := s.records.List(ctx, state.Query{Kind: kindSession, Group: group, Limit: 1})
	if err == nil && len(oldest) > 0 {
		err = s.remove(ctx, oldest[0])
	}
	return err
}

const (
	kindSuspended     = "suspended"
	maxSuspendedCalls = 1000 // of a session, that are looked through for a question
)

// LoadCall implements CallStore.
func (s stateStore) LoadCall(ctx context.Context, name string) (StoredCall, error) {
	r, err := s.records.Record(ctx, kindSuspended, name)
	if err != nil || r == nil {
		return StoredCall{}, stateError(err)
	}
	return StoredCall{Name: r.Name, Body: r.Body, Version: r.Version}, nil
}

// ListCalls implements CallStore.
func (s stateStore) ListCalls(ctx context.Context, session string) (calls []StoredCall, err error) {
	query := state.Query{Kind: kindSuspended, Group: session, Limit: maxSuspendedCalls}
	records, err := s.records.List(ctx, query)
	for _, r := range records {
		calls = append(calls, StoredCall{Name: r.Name, Body: r.Body, Version: r.Version})
	}
	return calls, stateError(err)
}

// SaveCall implements CallStore.
func (s stateStore) SaveCall(
	ctx context.Context, session string, call StoredCall, until time.Time,
) (bool, error) {
	r := &state.Record{
		Kind: kindSuspended, Name: call.Name, Group: session, Version: call.Version, Due: time.Now(),
		Expires: until.Add(state.MaxClockSkew), Body: call.Body, Priority: state.FollowUp, NoNotify: true,
	}
	if r.Version > 0 {
		replaced, err := s.records.Replace(ctx, r)
		return replaced, stateError(err)
	}
	existing, err := s.records.Add(ctx, r)
	return existing == nil && err == nil, stateError(err)
}

// RemoveCall implements CallStore.
func (s stateStore) RemoveCall(ctx context.Context, call StoredCall) (bool, error) {
	removed, err := s.records.Remove(ctx, &state.Record{
		Kind: kindSuspended, Name: call.Name, Version: call.Version, NoNotify: true,
	})
	return removed, stateError(err)
}
