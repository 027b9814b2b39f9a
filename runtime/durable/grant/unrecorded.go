package grant

import (
	"context"
	"encoding/json"
	"time"

	"hatchel/runtime/durable/state"
)

// UnrecordedKind are the records of revocations that no audit log has yet.
const UnrecordedKind = "oauth_unrecorded"

const (
	// unrecordedLife is how long a revocation waits for a server with the audit log.
	unrecordedLife = 30 * 24 * time.Hour
	// unrecordedClaim is how long a server may take to record one, before another one does.
	unrecordedClaim = 10 * time.Second
)

// Revocation is the end of a sign-in by a process without the audit log.
type Revocation struct {
	By      string    `json:"by"` // as in os:ann
	At      time.Time `json:"at"`
	SignIn  *SignIn   `json:"sign_in"`
	Claimed time.Time `json:"claimed,omitzero"` // until when a server records it
}

// RevokeUnrecorded is Revoke in a process without the audit log: a server with one records who has revoked.
func (s *Store) RevokeUnrecorded(ctx context.Context, id, by string) (bool, error) {
	g, err := s.Find(ctx, id)
	if err != nil || g == nil {
		return false, err
	}
	now := s.o.Now()
	plain, err := json.Marshal(Revocation{By: by, At: now, SignIn: g.SignIn()})
	if err != nil {
		return false, err
	}
	r := &state.Record{
		Kind: UnrecordedKind, Name: id, Due: now, Expires: now.Add(unrecordedLife), Priority: state.FollowUp,
	}
	s.seals.seal(r, plain)
	if _, err = s.store.Add(ctx, r); err != nil {
		return false, err
	}
	_, err = s.Revoke(ctx, id) // the server that records it may have been faster
	return err == nil, err
}

// RecordUnrecorded calls record for revocations of RevokeUnrecorded, each in one of any number of callers, and forgets
// those that it has recorded. It reports true when some are left: they could not be recorded, or another caller records
// them. Those of a caller that dies are recorded by another one.
func (s *Store) RecordUnrecorded(ctx context.Context, record func(Revocation) error) (left bool, err error) {
	q := state.Query{Kind: UnrecordedKind, Limit: pageSize}
	for {
		page, err := s.store.List(ctx, q)
		if err != nil {
			return true, err
		}
		for _, r := range page {
			recorded, err := s.recordOne(ctx, r, record)
			if err != nil {
				return true, err
			}
			left = left || !recorded
		}
		if len(page) < q.Limit {
			return left, nil
		}
		q.After = page[len(page)-1]
	}
}

// recordOne records one revocation. It reports false for one that another caller records.
func (s *Store) recordOne(ctx context.Context, r *state.Record, record func(Revocation) error) (bool, error) {
	var body Revocation
	plain, _, ok := s.seals.open(r)
	if !ok || json.Unmarshal(plain, &body) != nil {
		return true, nil // it is for servers with another key of the state block
	}
	now := s.o.Now()
	if now.Before(body.Claimed) {
		return false, nil
	}
	body.Claimed = now.Add(unrecordedClaim)
	plain, err := json.Marshal(&body)
	if err != nil {
		return false, err
	}
	s.seals.seal(r, plain)
	r.NoNotify = true
	if claimed, err := s.store.Replace(ctx, r); err != nil || !claimed {
		return false, err
	}
	if _, err := s.Revoke(ctx, r.Name); err != nil { // the command may have died before
		return false, err
	}
	if err := record(body); err != nil {
		return false, err
	}
	_, err = s.store.Remove(ctx, r)
	return err == nil, err
}
