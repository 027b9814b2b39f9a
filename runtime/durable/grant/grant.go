// Package grant keeps what an authorization server has to remember in the state store: the sign-ins of people, with
// their codes and refresh tokens, the keys that sign access tokens, the tokens that may be used once, and the sign-ins
// that were revoked.
//
// All processes that share the store serve the same sign-ins. What is stored is sealed with the secret of the store and
// the key of the state block, for one kind and name of a record, so that it cannot be moved to another record. Codes
// and refresh tokens are not stored: they have a signature that is made of the same secrets.
package grant

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hatchel/internal/logonce"
	"hatchel/internal/queue"
	"hatchel/runtime/durable/state"
)

// The kinds of records.
const (
	keyKind     = "oauth_key"
	grantKind   = "oauth_grant"
	usedKind    = "oauth_used"
	revokedKind = "oauth_revoked"
)

// Errors of codes and refresh tokens. Other errors are those of the state store, such as [state.ErrUnavailable] and
// [state.ErrFull], and those of the functions of the caller.
var (
	// ErrInvalid is returned for a code or a token that was not issued, or whose sign-in has ended.
	ErrInvalid = errors.New("the code or token is not valid")
	// ErrReplayed is returned for a code or a token that was used before. Its sign-in has ended with that.
	ErrReplayed = errors.New("the code or token was used before, all sessions of this sign-in have ended")
	// ErrEnded is wrapped by the error of a function of the caller that ends the sign-in.
	ErrEnded = errors.New("the sign-in has ended")
	// ErrRenewal is wrapped when the provider could not renew a sign-in now. It can be tried again.
	ErrRenewal = errors.New("the sign-in cannot be renewed at the provider now")
	// ErrNoUpstream is returned when the sign-in has no access token of the provider that is still valid.
	ErrNoUpstream = errors.New("the sign-in has no access token of the provider")
)

// Times of sign-ins.
const (
	// CodeLife is how long a code can be redeemed.
	CodeLife = time.Minute
	// TokenLife is how long an access token is valid.
	TokenLife = 10 * time.Minute

	// repeatTime is how long the refresh token before the last one is answered with the last one: clients with several
	// windows refresh with the same token more than a minute apart.
	repeatTime    = 2 * time.Minute
	renewInterval = time.Hour        // between renewals at the provider
	renewTimeout  = 15 * time.Second // of one renewal
	storeTimeout  = 10 * time.Second // of storing a grant
	renewLease    = 25 * time.Second // how long other processes wait for a renewal that is stored
	renewPause    = 5 * time.Second  // after a failed one
	maxGrants     = 100              // of an owner; the oldest one ends
)

// Grant is the sign-in of a person to a client.
type Grant struct {
	ID         string          `json:"-"` // the name of its record; also in its access tokens
	Client     string          `json:"client"`
	ClientName string          `json:"client_name,omitempty"`
	ClientKind string          `json:"client_kind,omitempty"` // one of the kinds of Client
	ClientKeys json.RawMessage `json:"client_keys,omitempty"` // the JWK set that authenticates the client from now on
	Redirect   string          `json:"redirect,omitempty"`
	Challenge  string          `json:"challenge,omitempty"` // S256
	Resource   string          `json:"resource,omitempty"`
	Scopes     []string        `json:"scopes,omitempty"`

	Subject string          `json:"subject"`
	Key     string          `json:"key"` // the issuer of the provider
	Groups  []string        `json:"groups,omitempty"`
	Claims  json.RawMessage `json:"claims,omitempty"` // an encoded object of the claims that expressions can read
	// Source has the claims of the provider from which the others were made, to make them again after a reload.
	Source json.RawMessage `json:"source,omitempty"`
	Digest string          `json:"digest"` // of the declaration by which they were made

	Began time.Time `json:"began"`
	Ends  time.Time `json:"ends"`

	Generation int       `json:"generation,omitempty"` // of the refresh token; 0 for a code that was not redeemed
	Refreshed  time.Time `json:"refreshed,omitzero"`
	Upstream   *Upstream `json:"upstream,omitempty"` // nil without a key of the state block
	Console    bool      `json:"console,omitempty"`  // of the console, which has no code and no tokens
}

// Upstream has the tokens of the provider.
type Upstream struct {
	Access     string    `json:"access,omitempty"`
	AccessEnds time.Time `json:"access_ends,omitzero"`
	Refresh    string    `json:"refresh,omitempty"`
	Renewed    time.Time `json:"renewed,omitzero"`
}

// Owner is the person, as [mcp.Identity.Owner] has it.
func (g *Grant) Owner() string { return g.Key + "\n" + g.Subject }

// NewID returns the ID of a grant that does not exist, so that it can be recorded before the grant is stored.
func NewID() string { return rand.Text() }

// Options are the inputs of Open besides the store.
type Options struct {
	Key         []byte           // of the state block; nil without
	PreviousKey []byte           // opens what was sealed before Key was changed; nil without
	Now         func() time.Time // nil is time.Now
	Log         *slog.Logger     // nil discards

	// Attempted is called with the result of each attempt of the work in the background, which a noun names. It may be
	// nil.
	Attempted func(work string, err error)
	// Revoked is called after a sign-in was revoked, here or in another process. It must not wait. It may be nil.
	Revoked func()
}

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Attempted == nil {
		o.Attempted = func(string, error) {}
	}
	if o.Revoked == nil {
		o.Revoked = func() {}
	}
	return o
}

// Store keeps sign-ins. Make one with Open for each process. Its methods may be called concurrently.
type Store struct {
	store state.Store
	seals seals
	keyed bool // there is a key of the state block
	o     Options
	wake  queue.Signal // something has changed that Run reads

	failing logonce.Changes // records that do not open, which were logged

	mu       sync.Mutex
	keys     []*signingKey        // by epoch; guarded by mu
	missedAt time.Time            // when keys were last read for a token with an unknown one; guarded by mu
	revoked  map[string]time.Time // IDs, until when they are remembered; guarded by mu
	stale    bool                 // announcements may have been missed; guarded by mu

	unfinished []string // IDs that were revoked, whose grants may still be stored; guarded by mu
}

// Open reads the keys and what was revoked, and makes the first key where there is none.
func Open(ctx context.Context, store state.Store, o Options) (*Store, error) {
	s, err := OpenWithoutKeys(ctx, store, o)
	if err != nil {
		return nil, err
	}
	return s, s.readKeys(ctx)
}

// OpenWithoutKeys is Open for a process that lists and ends sign-ins, and issues and verifies no tokens.
func OpenWithoutKeys(ctx context.Context, store state.Store, o Options) (*Store, error) {
	secret, err := state.Secret(ctx, store)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{store: store, keyed: o.Key != nil, o: o, wake: queue.NewSignal(), revoked: map[string]time.Time{}}
	if s.seals, err = newSeals(secret, o.Key, o.PreviousKey); err != nil {
		return nil, err
	}
	return s, s.readRevoked(ctx, true)
}

// Keyed reports whether the state block has a key, so that tokens of the provider are kept.
func (s *Store) Keyed() bool { return s.keyed }

// checkInterval is how often Run looks for what was not announced.
const checkInterval = time.Second

// keyInterval is how often Run reads what other processes announce.
const keyInterval = time.Minute

// Run keeps the keys and what was revoked up to date until ctx ends.
func (s *Store) Run(ctx context.Context) {
	_, remote := s.store.(state.RemoteStore)
	timer := time.NewTicker(checkInterval)
	defer timer.Stop()
	for keysRead := s.o.Now(); ; {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			due = true
		case <-timer.C:
			due = s.o.Now().Sub(keysRead) >= keyInterval
		}
		var failed error
		if due {
			if failed = s.readKeys(ctx); failed == nil {
				keysRead = s.o.Now()
			}
		}
		if remote || due {
			failed = errors.Join(failed, s.readRevoked(ctx, false))
		}
		failed = errors.Join(failed, s.finish(ctx)) // revocations wait for no key
		s.o.Attempted("reading of the keys and revocations of sign-ins", failed)
	}
}

// Notify passes on a change that another process has made, as [state.Store.Watch] announces it. It reads nothing.
func (s *Store) Notify(kind, name string) {
	switch kind {
	case revokedKind:
		s.remember(name, s.o.Now().Add(revokedLife))
	case "":
		s.mu.Lock()
		s.stale = true
		s.mu.Unlock()
		s.wake.Send()
	case keyKind:
		s.wake.Send()
	}
}
