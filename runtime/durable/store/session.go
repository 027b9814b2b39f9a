package store

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"log/slog"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// Sessions keep the sessions of clients when a process ends. With the zero value, sessions end with it.
type Sessions struct {
	Key     []byte // of their ids
	Store   handover.Store
	Courier handover.Courier // nil if no other process has the state

	state *State
}

// Sessions opens the state for the sessions of clients. If no flag names the state, and it cannot
// be created, they end with the process, and the log says so. An error is a sentence.
func (s *State) Sessions(ctx context.Context, log *slog.Logger) (Sessions, error) {
	opened, err := s.Open(ctx)
	if err != nil {
		if s.MayBeMissing() {
			log.Warn("state not kept, sessions of clients end with this process", "error", err)
			err = nil
		}
		return Sessions{}, err
	}
	key, err := opened.Key(ctx, "session")
	sessions := Sessions{Key: key, Store: handover.NewStateStore(opened), state: s}
	if courier, ok := opened.Store.(state.Courier); ok {
		sessions.Courier = handover.StateCourier{Courier: courier}
	}
	return sessions, err
}

// Key returns the key for a use, which all processes with the store have.
func (o *Opened) Key(ctx context.Context, use string) ([]byte, error) {
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
	c, ok := s.Courier.(handover.StateCourier)
	if !ok {
		return
	}
	attempted := func(err error) { s.state.Process.LogFailure("listening to other processes", err) }
	s.state.Process.Go(func(ctx context.Context) {
		receive := func(from string, message []byte) {
			if !s.state.OpenCalls.Receive(from, message) {
				r.Receive(ctx, from, message)
			}
		}
		c.Receive(ctx, receive, attempted)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), receiveTimeout)
		defer cancel()
		r.AwaitReceived(ctx)
	})
}

// MayBeMissing reports whether the operator has not named a state, and none exists.
func (s *State) MayBeMissing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config == nil && s.exists != nil && !s.exists(nil)
}
