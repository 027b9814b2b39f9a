package runtime

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"log/slog"
	"time"

	"hatchel/runtime/digest"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// Sessions are what the sessions of clients outlive a process with. The zero value lets them end with
// it.
type Sessions struct {
	Key   []byte // of their ids
	Store mcp.SessionStore
}

// Sessions opens the state for the sessions of clients. Where nobody has said where the state is, and
// it cannot be created, they end with the process, and the log says so. An error is a sentence.
func (s *State) Sessions(ctx context.Context, log *slog.Logger) (Sessions, error) {
	opened, err := s.open(ctx)
	if err != nil {
		if s.mayBeMissing() {
			log.Warn("state not kept, sessions of clients end with this process", "error", err)
			err = nil
		}
		return Sessions{}, err
	}
	secret, err := state.Secret(ctx, opened)
	if err != nil {
		return Sessions{}, err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "session", 32)
	return Sessions{key, sessionStore{opened}}, err
}

// mayBeMissing reports whether nobody has said where the state is, and it does not exist.
func (s *State) mayBeMissing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config == nil && s.exists != nil && !s.exists(nil)
}

// sessionStore implements mcp.SessionStore.
type sessionStore struct{ records state.Records }

const (
	kindSession = "session"

	// maxSessionRecords is how many sessions of a caller have records. The oldest gives way.
	maxSessionRecords = 10_000
)

// LoadSession implements mcp.SessionStore.
func (s sessionStore) LoadSession(ctx context.Context, name string) (body []byte, version int, err error) {
	r, err := s.records.Record(ctx, kindSession, name)
	if err != nil || r == nil {
		return nil, 0, failure.Unavailable(err)
	}
	return r.Body, r.Version, nil
}

// SaveSession implements mcp.SessionStore.
func (s sessionStore) SaveSession(
	ctx context.Context, name, owner string, body []byte, version int, until time.Time,
) (saved bool, err error) {
	r := &state.Record{
		Kind: kindSession, Name: name, Group: digest.Of(owner).String(), Version: version, Due: until,
		Expires: until.Add(state.MaxClockSkew), Body: body, Priority: state.Low, NoNotify: true,
	}
	if version > 0 {
		saved, err = s.records.Replace(ctx, r)
		return saved, failure.Unavailable(err)
	}
	if err := s.makeRoom(ctx, r.Group); err != nil {
		return false, failure.Unavailable(err)
	}
	existing, err := s.records.Add(ctx, r)
	return existing == nil && err == nil, failure.Unavailable(err)
}

// makeRoom removes the oldest record of a caller who has too many.
func (s sessionStore) makeRoom(ctx context.Context, group string) error {
	n, err := s.records.Count(ctx, kindSession, group)
	if err != nil || n < maxSessionRecords {
		return err
	}
	oldest, err := s.records.List(ctx, state.Query{Kind: kindSession, Group: group, Limit: 1})
	if err == nil && len(oldest) > 0 {
		oldest[0].NoNotify = true
		_, err = s.records.Remove(ctx, oldest[0])
	}
	return err
}
