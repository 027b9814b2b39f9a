package grant

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hatchel/internal/backoff"
	"hatchel/runtime/durable/state"
)

// stored is the body of the record of a grant.
type stored struct {
	Grant
	CodeEnds time.Time `json:"code_ends,omitzero"` // zero for a code that was redeemed
	Pause    time.Time `json:"pause,omitzero"`     // until when it is not renewed, after a failure
}

// held is a grant as it was read.
type held struct {
	stored
	record *state.Record
	lease  string // of this caller while it renews the grant at the provider
}

// isLeased reports whether another caller renews the grant at the provider. The store judges that by its own clock,
// because a provider ends sign-ins whose refresh token two callers use.
func (h *held) isLeased() bool { return h.record.OwnerAlive }

// isSession reports whether the grant is more than a code.
func (h *held) isSession() bool { return h.CodeEnds.IsZero() }

// read returns the grant with an ID, and nil for none that has not ended and can be opened.
func (s *Store) read(ctx context.Context, id string) (*held, error) {
	r, err := s.store.Record(ctx, grantKind, id)
	if err != nil || r == nil {
		return nil, err
	}
	return s.open(r), nil
}

func (s *Store) open(r *state.Record) *held {
	h := &held{record: r}
	plain, _, ok := s.seals.open(r)
	if !ok || json.Unmarshal(plain, &h.stored) != nil {
		if s.failing.Set(grantKind, "not opened") { // of each sign-in it would be the same
			s.o.Log.Warn("sign-in not opened, state { key } may have changed", "sign_in", r.Name)
		}
		return nil
	}
	h.ID = r.Name
	if now := s.o.Now(); !now.Before(h.Ends) || !h.isSession() && !now.Before(h.CodeEnds) {
		return nil
	}
	return h
}

// encode sets the body and the expiry of the record.
func (s *Store) encode(h *held) error {
	plain, err := json.Marshal(&h.stored)
	if err != nil {
		return err
	}
	s.seals.seal(h.record, plain)
	h.record.Owner = h.lease
	if h.record.Expires = h.Ends; !h.isSession() {
		h.record.Expires = h.CodeEnds
	}
	return nil
}

// replace stores a grant, unless it was changed since it was read. It does so also for a client that has gone: the
// provider may have replaced its token.
func (s *Store) replace(ctx context.Context, h *held) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := s.encode(h); err != nil {
		return false, err
	}
	h.record.NoNotify = true
	return s.store.Replace(ctx, h.record)
}

// Create stores a grant and returns its code. The owner's oldest grant ends when there are 100. G gets an ID when it
// has none, and the tokens of the provider are kept only under a key of the state block.
func (s *Store) Create(ctx context.Context, g *Grant) (code string, err error) {
	if err := s.add(ctx, g, s.o.Now().Add(CodeLife)); err != nil {
		return "", err
	}
	return s.seals.code(g.ID), nil
}

// Start stores a grant that has no code and no tokens, for a session of the console.
func (s *Store) Start(ctx context.Context, g *Grant) error { return s.add(ctx, g, time.Time{}) }

func (s *Store) add(ctx context.Context, g *Grant, codeEnds time.Time) error {
	if g.ID == "" {
		g.ID = NewID()
	}
	kept := *g
	if !s.keyed {
		kept.Upstream = nil
	}
	h := &held{stored: stored{Grant: kept, CodeEnds: codeEnds}, record: &state.Record{
		Kind: grantKind, Name: g.ID, Group: s.seals.group(g.Owner()), Due: g.Began, Priority: state.Low, NoNotify: true,
	}}
	if err := s.encode(h); err != nil {
		return err
	}
	if err := s.makeRoom(ctx, h.record.Group); err != nil {
		return err
	}
	existing, err := s.store.Add(ctx, h.record)
	if err == nil && existing != nil {
		err = errors.New("a sign-in with this ID exists")
	}
	return err
}

// makeRoom ends the oldest grants of a group, so that one more has room.
func (s *Store) makeRoom(ctx context.Context, group string) error {
	n, err := s.store.Count(ctx, grantKind, group)
	if err != nil || n < maxGrants {
		return err
	}
	oldest, err := s.store.List(ctx, state.Query{Kind: grantKind, Group: group, Limit: n - maxGrants + 1})
	for _, r := range oldest {
		if err == nil {
			err = s.end(ctx, &held{stored: stored{Grant: Grant{ID: r.Name}}, record: r})
		}
	}
	return err
}

// Redeem makes a session of a code, and returns its grant and its first refresh token. Check is called with the grant
// before anything is stored; its error leaves the code as it is, and what it changes of the grant is stored. Of any
// number of callers one redeems a code; for the others the grant has ended, with ErrReplayed and the grant.
func (s *Store) Redeem(
	ctx context.Context, code string, check func(*Grant) error,
) (g *Grant, refresh string, err error) {
	id, ok := s.seals.readCode(code)
	if !ok {
		return nil, "", ErrInvalid
	}
	for {
		h, err := s.read(ctx, id)
		if err == nil && h == nil {
			err = ErrInvalid
		}
		if err != nil {
			return nil, "", err
		}
		if s.Revoked(id) || h.isSession() {
			return &h.Grant, "", s.endWith(ctx, h, ErrReplayed)
		}
		if err = s.check(ctx, h, check); err != nil {
			return nil, "", err
		}
		h.CodeEnds, h.Generation, h.Refreshed = time.Time{}, 1, s.o.Now()
		if replaced, err := s.replace(ctx, h); err != nil {
			return nil, "", err
		} else if replaced {
			return &h.Grant, s.seals.token(id, 1), nil
		}
	}
}

// check calls a function of the caller with a grant. The grant ends when the error is ErrEnded.
func (s *Store) check(ctx context.Context, h *held, check func(*Grant) error) error {
	err := check(&h.Grant)
	if errors.Is(err, ErrEnded) {
		err = s.endWith(ctx, h, err)
	}
	return err
}

// leaseBackoff is how often a grant is read again that another caller renews or has changed.
var leaseBackoff = backoff.Policy{First: 20 * time.Millisecond, Max: 250 * time.Millisecond, Jitter: 1}

// Refresh returns the grant of a refresh token, and the next refresh token. Callers with the same token within two
// minutes get the same next one; a token that is older ends the grant, which is returned with ErrReplayed.
//
// Check is called with the grant before anything is stored, and Renew when the provider has not been asked for an hour,
// by one caller at a time; then check is called again. Both may change the grant, which is stored then. After an error
// of check the token is still the last one. An error of renew is wrapped with ErrRenewal, and of what renew has changed
// the tokens of the provider are kept. When one of the two wraps ErrEnded, the grant has ended.
func (s *Store) Refresh(
	ctx context.Context, token string, check func(*Grant) error, renew func(context.Context, *Grant) error,
) (g *Grant, next string, err error) {
	id, generation, ok := s.seals.readToken(token)
	if !ok {
		return nil, "", ErrInvalid
	}
	ctx, cancel := context.WithTimeout(ctx, 2*renewLease)
	defer cancel()
	for range leaseBackoff.Attempts(ctx) {
		h, err := s.read(ctx, id)
		if err == nil && h == nil {
			err = ErrInvalid
		}
		if err != nil {
			return nil, "", err
		}
		now := s.o.Now()
		repeated := generation == h.Generation-1 && now.Sub(h.Refreshed) <= repeatTime
		if s.Revoked(id) || !repeated && generation != h.Generation {
			return &h.Grant, "", s.endWith(ctx, h, ErrReplayed)
		}
		if err = s.check(ctx, h, check); err != nil {
			return nil, "", err
		}
		if repeated {
			return &h.Grant, s.seals.token(id, h.Generation), nil
		}
		if h.isLeased() {
			continue
		}
		if u := h.Upstream; u != nil && u.Refresh != "" && now.Sub(u.Renewed) >= renewInterval {
			leased, err := s.renew(ctx, h, renew)
			if err != nil {
				return nil, "", err
			}
			if !leased {
				continue
			}
			if err := s.check(ctx, h, check); err != nil {
				if !errors.Is(err, ErrEnded) { // what the provider has answered must be kept
					_, storing := s.replace(ctx, h)
					err = errors.Join(err, storing)
				}
				return nil, "", err
			}
		}
		h.Generation, h.Refreshed = h.Generation+1, s.o.Now()
		if replaced, err := s.replace(ctx, h); err != nil {
			return nil, "", err
		} else if replaced {
			return &h.Grant, s.seals.token(id, h.Generation), nil
		}
	}
	return nil, "", state.ErrUnavailable
}

// renew calls renew with a grant under a lease, which the caller ends by storing the grant. It reports false when
// another caller was first. After an error the lease has ended.
func (s *Store) renew(ctx context.Context, h *held, renew func(context.Context, *Grant) error) (bool, error) {
	if s.o.Now().Before(h.Pause) {
		return false, ErrRenewal
	}
	h.lease = NewID()
	if err := s.store.Heartbeat(ctx, h.lease, time.Now().Add(renewLease)); err != nil {
		return false, err
	}
	if leased, err := s.replace(ctx, h); err != nil || !leased {
		return false, err
	}
	before := h.stored
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTimeout) // also for a client that has gone
	defer cancel()
	upstream := *h.Upstream
	h.Upstream = &upstream
	err := renew(asking, &h.Grant)
	if errors.Is(err, ErrEnded) {
		return false, s.endWith(ctx, h, err)
	}
	h.lease = ""
	if err != nil {
		kept := h.Upstream // the provider may have replaced the refresh token before the failure
		h.stored = before
		h.Upstream = kept
		h.Pause = s.o.Now().Add(renewPause)
		_, storing := s.replace(ctx, h)
		return false, errors.Join(ErrRenewal, err, storing)
	}
	h.Upstream.Renewed, h.Pause = s.o.Now(), time.Time{}
	return true, nil
}

// upstreamMargin is how long before its end a token of the provider is renewed.
const upstreamMargin = 30 * time.Second

// UpstreamToken returns the access token of the provider for a grant, and when it ends. It calls renew, by one caller
// at a time, shortly before the end of the token, which the others use meanwhile, as does a caller whose renewal fails;
// see Refresh.
func (s *Store) UpstreamToken(
	ctx context.Context, id string, renew func(context.Context, *Grant) error,
) (access string, ends time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*renewLease)
	defer cancel()
	for range leaseBackoff.Attempts(ctx) {
		h, err := s.read(ctx, id)
		if err == nil && (h == nil || s.Revoked(id)) {
			err = ErrEnded
		}
		if err != nil {
			return "", time.Time{}, err
		}
		now, u := s.o.Now(), h.Upstream
		if u == nil {
			return "", time.Time{}, ErrNoUpstream
		}
		renews := u.Refresh != "" && !now.Add(upstreamMargin).Before(u.AccessEnds)
		valid := u.Access != "" && now.Before(u.AccessEnds)
		switch {
		case valid && (!renews || h.isLeased()):
			return u.Access, u.AccessEnds, nil
		case u.Refresh == "":
			return "", time.Time{}, ErrNoUpstream
		case h.isLeased():
			continue
		}
		leased, err := s.renew(ctx, h, renew)
		if err == nil && leased {
			leased, err = s.replace(ctx, h)
		}
		switch renewed := h.Upstream; {
		case errors.Is(err, ErrRenewal) && valid:
			return u.Access, u.AccessEnds, nil
		case err != nil:
			return "", time.Time{}, err
		case !leased:
		case renewed.Access == "":
			return "", time.Time{}, ErrNoUpstream
		default: // however short its life is: the next token would not live longer
			return renewed.Access, renewed.AccessEnds, nil
		}
	}
	return "", time.Time{}, state.ErrUnavailable
}
