package runtime

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"time"

	"hatchel/runtime/digest"
	"hatchel/runtime/mcp"
	"hatchel/runtime/mcp/legacy"
	"hatchel/runtime/state"
)

// Sessions keep the sessions of clients when a process ends. With the zero value, sessions end with it.
type Sessions struct {
	Key     []byte // of their ids
	Store   legacy.Store
	Courier legacy.Courier // nil if no other process has the state

	state *State
}

// Sessions opens the state for the sessions of clients. If no flag names the state, and it cannot
// be created, they end with the process, and the log says so. An error is a sentence.
func (s *State) Sessions(ctx context.Context, log *slog.Logger) (Sessions, error) {
	opened, err := s.open(ctx)
	if err != nil {
		if s.mayBeMissing() {
			log.Warn("state not kept, sessions of clients end with this process", "error", err)
			err = nil
		}
		return Sessions{}, err
	}
	key, err := opened.key(ctx, "session")
	sessions := Sessions{Key: key, Store: sessionStore{opened}, state: s}
	if courier, ok := opened.Store.(state.Courier); ok {
		sessions.Courier = sessionCourier{courier}
	}
	return sessions, err
}

// key returns the key for a use, which all processes with the store have.
func (o *openState) key(ctx context.Context, use string) ([]byte, error) {
	secret, err := state.Secret(ctx, o.Store)
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, secret, nil, use, 32)
}

// Receiver handles the messages of other processes.
type Receiver interface {
	// Receive handles a message. The context ends when no more messages are received.
	Receive(ctx context.Context, from string, message []byte)

	// AwaitReceived waits until all messages are handled.
	AwaitReceived(ctx context.Context)
}

// receiveTimeout is how long the messages that were received last are handled when the state is closed.
const receiveTimeout = 10 * time.Second

// Listen gives r the messages of other processes until the state is closed, in the background.
func (s Sessions) Listen(r Receiver) {
	c, ok := s.Courier.(sessionCourier)
	if !ok {
		return
	}
	attempted := func(err error) { s.state.process.LogFailure("listening to other processes", err) }
	s.state.process.Go(func(ctx context.Context) {
		c.Hear(ctx, func(from string, message []byte) { r.Receive(ctx, from, message) }, attempted)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), receiveTimeout)
		defer cancel()
		r.AwaitReceived(ctx)
	})
}

// sessionCourier implements legacy.Courier.
type sessionCourier struct{ state.Courier }

// Send implements legacy.Courier.
func (c sessionCourier) Send(ctx context.Context, to string, message []byte) error {
	err := c.Courier.Send(ctx, to, message)
	if errors.Is(err, state.ErrGone) {
		return legacy.ErrNoReceiver
	}
	return sessionError(err)
}

// sessionError returns an error as package mcp knows it.
func sessionError(err error) error {
	switch {
	case errors.Is(err, state.ErrUnavailable):
		return mcp.ErrUnavailable
	case errors.Is(err, state.ErrFull):
		return &mcp.Error{Code: mcp.CodeBusy, Message: "The state store is full. Try again later"}
	}
	return err
}

// mayBeMissing reports whether the operator has not named a state, and none exists.
func (s *State) mayBeMissing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config == nil && s.exists != nil && !s.exists(nil)
}

// sessionStore implements legacy.Store.
type sessionStore struct{ records state.Records }

const (
	kindSession        = "session"
	kindDeletedSession = "session_deleted"
	deletedPage        = 1000 // records read at once

	// maxSessionRecords is how many sessions of a caller have records. A new one replaces the oldest.
	maxSessionRecords = 10_000
)

// LoadSession implements legacy.Store.
func (s sessionStore) LoadSession(ctx context.Context, name string) (body []byte, version int, err error) {
	r, err := s.records.Record(ctx, kindSession, name)
	if err != nil || r == nil {
		return nil, 0, sessionError(err)
	}
	return r.Body, r.Version, nil
}

// SaveSession implements legacy.Store.
func (s sessionStore) SaveSession(
	ctx context.Context, name, owner string, body []byte, version int, until time.Time,
) (saved bool, err error) {
	r := &state.Record{
		Kind: kindSession, Name: name, Group: digest.Of(owner).String(), Version: version, Due: until,
		Expires: until.Add(state.MaxClockSkew), Body: body, Priority: state.Low, NoNotify: true,
	}
	if version > 0 {
		saved, err = s.records.Replace(ctx, r)
		return saved, sessionError(err)
	}
	if err := s.makeRoom(ctx, r.Group); err != nil {
		return false, sessionError(err)
	}
	existing, err := s.records.Add(ctx, r)
	return existing == nil && err == nil, sessionError(err)
}

// RemoveSession implements legacy.Store.
func (s sessionStore) RemoveSession(ctx context.Context, name string) error {
	r, err := s.records.Record(ctx, kindSession, name)
	if err == nil && r != nil {
		err = s.remove(ctx, r)
	}
	return sessionError(err)
}

func (s sessionStore) remove(ctx context.Context, r *state.Record) error {
	r.NoNotify = true
	_, err := s.records.Remove(ctx, r)
	return err
}

// SaveDeleted implements legacy.Store. The latest record is the first one due.
func (s sessionStore) SaveDeleted(ctx context.Context, names []byte, until time.Time) error {
	_, err := s.records.Add(ctx, &state.Record{
		Kind: kindDeletedSession, Name: rand.Text(), Due: time.UnixMilli(math.MaxInt64/2 - time.Now().UnixMilli()),
		Expires: until.Add(state.MaxClockSkew), Body: names, Priority: state.Low, NoNotify: true,
	})
	return sessionError(err)
}

// LoadDeleted implements legacy.Store.
func (s sessionStore) LoadDeleted(ctx context.Context, add func(names []byte) bool) error {
	page := state.Query{Kind: kindDeletedSession, Limit: deletedPage}
	for {
		records, err := s.records.List(ctx, page)
		if err != nil {
			return sessionError(err)
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
func (s sessionStore) makeRoom(ctx context.Context, group string) error {
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

// LoadCall implements legacy.CallStore.
func (s sessionStore) LoadCall(ctx context.Context, name string) (legacy.StoredCall, error) {
	r, err := s.records.Record(ctx, kindSuspended, name)
	if err != nil || r == nil {
		return legacy.StoredCall{}, sessionError(err)
	}
	return legacy.StoredCall{Name: r.Name, Body: r.Body, Version: r.Version}, nil
}

// ListCalls implements legacy.CallStore.
func (s sessionStore) ListCalls(ctx context.Context, session string) (calls []legacy.StoredCall, err error) {
	query := state.Query{Kind: kindSuspended, Group: session, Limit: maxSuspendedCalls}
	records, err := s.records.List(ctx, query)
	for _, r := range records {
		calls = append(calls, legacy.StoredCall{Name: r.Name, Body: r.Body, Version: r.Version})
	}
	return calls, sessionError(err)
}

// SaveCall implements legacy.CallStore.
func (s sessionStore) SaveCall(
	ctx context.Context, session string, call legacy.StoredCall, until time.Time,
) (bool, error) {
	r := &state.Record{
		Kind: kindSuspended, Name: call.Name, Group: session, Version: call.Version, Due: time.Now(),
		Expires: until.Add(state.MaxClockSkew), Body: call.Body, Priority: state.FollowUp, NoNotify: true,
	}
	if r.Version > 0 {
		replaced, err := s.records.Replace(ctx, r)
		return replaced, sessionError(err)
	}
	existing, err := s.records.Add(ctx, r)
	return existing == nil && err == nil, sessionError(err)
}

// RemoveCall implements legacy.CallStore.
func (s sessionStore) RemoveCall(ctx context.Context, call legacy.StoredCall) (bool, error) {
	removed, err := s.records.Remove(ctx, &state.Record{
		Kind: kindSuspended, Name: call.Name, Version: call.Version, NoNotify: true,
	})
	return removed, sessionError(err)
}
