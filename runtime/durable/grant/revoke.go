package grant

import (
	"context"
	"maps"
	"time"

	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
)

// revokedLife is how long a revoked sign-in is remembered: until all of its access tokens have ended, by all clocks.
const revokedLife = TokenLife + state.MaxClockSkew

// Revoked reports whether a sign-in was revoked within the life of its access tokens. It reads no state.
func (s *Store) Revoked(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, revoked := s.revoked[id]
	return revoked
}

// remember has a sign-in revoked in this process.
func (s *Store) remember(id string, until time.Time) {
	s.mu.Lock()
	_, known := s.revoked[id]
	s.revoked[id] = until
	if !known {
		s.unfinished = append(s.unfinished, id)
	}
	s.mu.Unlock()
	if !known {
		s.o.Revoked()
	}
}

// finish removes the grants that were revoked by a process that died before it removed them.
func (s *Store) finish(ctx context.Context) error {
	s.mu.Lock()
	ids := s.unfinished
	s.unfinished = nil
	s.mu.Unlock()
	for n, id := range ids {
		r, err := s.store.Record(ctx, grantKind, id)
		if err == nil && r != nil {
			r.NoNotify = true
			_, err = s.store.Remove(ctx, r)
		}
		if err != nil {
			s.mu.Lock()
			s.unfinished = append(s.unfinished, ids[n:]...)
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

// revokedPage is how many records of revocations are read at once.
const revokedPage = 100

// readRevoked reads what was revoked: all, or what is newer than what is known.
func (s *Store) readRevoked(ctx context.Context, all bool) error {
	now := s.o.Now()
	s.mu.Lock()
	all = all || s.stale
	s.stale = false
	maps.DeleteFunc(s.revoked, func(_ string, until time.Time) bool { return now.After(until) })
	s.mu.Unlock()
	q := state.Query{Kind: revokedKind, Reverse: true, Limit: revokedPage}
	for {
		page, err := s.store.List(ctx, q)
		if err != nil {
			s.mu.Lock()
			s.stale = s.stale || all
			s.mu.Unlock()
			return err
		}
		known := false
		for _, r := range page {
			known = known || s.Revoked(r.Name)
			s.remember(r.Name, r.Expires)
		}
		if len(page) < revokedPage || known && !all {
			return nil
		}
		q.Before = page[len(page)-1]
	}
}

// Revoke ends a sign-in: its access tokens are refused from now on, in every process, and it has no refresh token any
// more. It reports false for one that does not exist.
func (s *Store) Revoke(ctx context.Context, id string) (bool, error) {
	h, err := s.read(ctx, id)
	if err != nil || h == nil {
		return false, err
	}
	return true, s.end(ctx, h)
}

// RevokeTokens ends the access tokens of a sign-in that is not stored, such as that of an assertion.
func (s *Store) RevokeTokens(ctx context.Context, id string) error { return s.announce(ctx, id) }

// IDOf returns the ID of the grant of a refresh token, also of an old one. It reads no state.
func (s *Store) IDOf(token string) (id string, ok bool) {
	id, _, ok = s.seals.readToken(token)
	return id, ok
}

// Issued reports whether a text is a code or a refresh token of this store, also an old one. It reads no state.
func (s *Store) Issued(text string) bool {
	_, isCode := s.seals.readCode(text)
	_, isToken := s.IDOf(text)
	return isCode || isToken
}

// end revokes a grant and removes it. The revocation comes first: while the grant exists, its next use completes what
// was interrupted.
func (s *Store) end(ctx context.Context, h *held) error {
	if err := s.announce(ctx, h.ID); err != nil {
		return err
	}
	for h != nil {
		if removed, err := s.store.Remove(ctx, h.record); err != nil || removed {
			return err
		}
		id, err := h.ID, error(nil)
		if h, err = s.read(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// announce has the access tokens of a sign-in refused, in every process.
func (s *Store) announce(ctx context.Context, id string) error {
	now := s.o.Now()
	r := &state.Record{
		Kind: revokedKind, Name: id, Due: now, Expires: now.Add(revokedLife), Priority: state.FollowUp,
	}
	if _, err := s.store.Add(ctx, r); err != nil {
		return err
	}
	s.remember(id, r.Expires)
	return nil
}

// endWith is end, and returns why the grant ends when that worked.
func (s *Store) endWith(ctx context.Context, h *held, why error) error {
	if err := s.end(ctx, h); err != nil {
		return err
	}
	return why
}

// Use reports whether a token that may be used once is used first. Until is when the token expires.
func (s *Store) Use(ctx context.Context, token string, until time.Time) (first bool, err error) {
	existing, err := s.store.Add(ctx, &state.Record{
		Kind: usedKind, Name: digest.Of(token).String(), Expires: until.Add(state.MaxClockSkew), Priority: state.Low,
		NoNotify: true,
	})
	return existing == nil && err == nil, err
}
