package store

import (
	"context"
	"time"

	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
)

// ConsoleKey returns the key of the cookies of the console, which all processes with the state share. It is nil if no
// state is named and none can be created; then cookies end with the process.
func (s *State) ConsoleKey(ctx context.Context) ([]byte, error) {
	opened, err := s.Open(ctx)
	switch {
	case err == nil:
		return opened.Key(ctx, "console")
	case s.MayBeMissing():
		return nil, nil
	}
	return nil, err
}

// kindSignedOut are the records of sessions of the console that people have ended.
const kindSignedOut = "console_signed_out"

// EndConsoleSession stores that a session has ended before its cookie expires.
func (s *State) EndConsoleSession(ctx context.Context, id string, expires time.Time) error {
	opened, err := s.Open(ctx)
	if err == nil {
		_, err = opened.Add(ctx, &state.Record{
			Kind: kindSignedOut, Name: id, Expires: expires.Add(state.MaxClockSkew), Priority: state.FollowUp,
			NoNotify: true,
		})
	}
	return err
}

// ConsoleSessionEnded reports whether EndConsoleSession was called for a session, in any process with the state. It
// reports false while the state is unavailable, because the console shows people why.
func (s *State) ConsoleSessionEnded(ctx context.Context, id string) bool {
	opened := s.Current()
	if opened == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, signedOutTimeout)
	defer cancel()
	r, err := opened.Record(ctx, kindSignedOut, id)
	return err == nil && r != nil
}

const signedOutTimeout = 500 * time.Millisecond

// consoleTicket is the use for which the tickets of the console are sealed.
var consoleTicket = digest.Of("console ticket")

// SealTicket returns a text that OpenTicket opens once, in any process with the state, until a moment.
func (s *State) SealTicket(ctx context.Context, body []byte, until time.Time) (string, error) {
	opened, err := s.Open(ctx)
	if err != nil {
		return "", err
	}
	return opened.Sealer.Seal(ctx, body, consoleTicket, until)
}

// OpenTicket returns what was sealed in a ticket. The error of a ticket that is not valid is mcp.InvalidState.
func (s *State) OpenTicket(ctx context.Context, ticket string) ([]byte, error) {
	opened, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	return opened.Sealer.Open(ctx, ticket, consoleTicket)
}
