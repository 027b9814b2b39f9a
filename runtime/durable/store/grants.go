package store

import (
	"context"
	"time"

	"hatchel/internal/backoff"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// openGrants are the sign-ins of people, opened with the keys of a state block.
type openGrants struct {
	*grant.Store
	keys grantKeys
	stop context.CancelFunc
}

// grantKeys are the keys of a state block; empty for none.
type grantKeys struct{ current, previous string }

// Grants returns the sign-ins of people, and opens them when they are not open with the keys of the configuration. From
// the first call on, what other processes do with them is noticed.
func (s *State) Grants(ctx context.Context) (*grant.Store, error) {
	last, keys := s.openedGrants()
	if last != nil && last.keys == keys {
		return last.Store, nil
	}
	if err := s.Watch(ctx); err != nil {
		return nil, err
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if last, keys = s.openedGrants(); last != nil && last.keys == keys {
		return last.Store, nil
	}
	opened := s.Current()
	if opened == nil {
		return nil, state.ErrUnavailable // it was closed
	}
	g, err := grant.Open(ctx, opened.Store, grant.Options{
		Key: keyOf(keys.current), PreviousKey: keyOf(keys.previous), Log: s.Process.Log(),
		Attempted: s.Process.LogFailure, Revoked: s.onRevocation,
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(s.Process.Context())
	s.mu.Lock()
	s.grants = &openGrants{g, keys, stop}
	s.mu.Unlock()
	if last != nil {
		last.stop()
	}
	g.Notify("", "") // what has changed since it was read
	s.Process.Go(func(context.Context) { g.Run(running) })
	s.Process.Go(func(context.Context) { s.recordRevocations(running, g) })
	s.RecordRevocations()
	return g, nil
}

// openedGrants returns the open sign-ins, nil for none, and the keys of the configuration.
func (s *State) openedGrants() (*openGrants, grantKeys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config == nil {
		return s.grants, grantKeys{}
	}
	return s.grants, grantKeys{s.config.Key.Reveal(), s.config.PreviousKey.Reveal()}
}

// keyOf returns a key; nil for an empty one.
func keyOf(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// CurrentGrants returns the sign-ins of people; nil before Grants has opened them.
func (s *State) CurrentGrants() *grant.Store {
	if current, _ := s.openedGrants(); current != nil {
		return current.Store
	}
	return nil
}

// OnRevocation sets what is called after a sign-in was revoked, in any process. It must not wait.
func (s *State) OnRevocation(revoked func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = revoked
}

func (s *State) onRevocation() {
	s.mu.Lock()
	revoked := s.revoked
	s.mu.Unlock()
	if revoked != nil {
		revoked()
	}
}

// SignInEnded reports whether the sign-in of a session of the console was revoked or has ended. It reports false while
// the state is unavailable, unless this process knows of the revocation, because the console shows people why.
func (s *State) SignInEnded(ctx context.Context, id string) bool {
	grants := s.CurrentGrants()
	if grants == nil {
		return false
	}
	if grants.Revoked(id) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, signedOutTimeout)
	defer cancel()
	g, err := grants.Find(ctx, id)
	return err == nil && g == nil
}

// RecordRevocations has the sign-ins recorded that a process without the audit log has ended, as soon as the sign-ins
// are open. It does not wait.
func (s *State) RecordRevocations() { s.revocations.Send() }

// recordPauses are those between attempts to record revocations.
var recordPauses = backoff.Policy{First: time.Second, Max: time.Minute}

// recordRevocations does what RecordRevocations asks for until ctx ends.
func (s *State) recordRevocations(ctx context.Context, grants *grant.Store) {
	var again <-chan time.Time
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.revocations:
		case <-again:
		}
		if o := s.currentObserver(); o != nil && o.RecordRevocations(ctx, grants) {
			failures++
			again = time.After(recordPauses.Pause(failures))
		} else {
			failures, again = 0, nil
		}
	}
}
