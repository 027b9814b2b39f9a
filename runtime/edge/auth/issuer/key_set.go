package issuer

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"hatchel/internal/service"
)

// A token with an unknown key ID makes the server load the keys of the issuer again. Anybody can write
// such a token, so attempts are limited: a few in a row, and then one per interval.
const (
	freshFor        = 15 * time.Minute // how long keys are used without being loaded again
	staleFor        = time.Hour        // how much longer they are used while the issuer is unavailable
	maxAttempts     = 4
	attemptInterval = 10 * time.Second
	maxKeys         = 100
	staleWait       = time.Second // how long callers whose keys are stale wait for an attempt
)

// Errors of tokens that cannot be verified.
var (
	ErrUnavailable = errors.New("the keys of the issuer are not available")
	ErrUnknownKey  = errors.New("unknown key")
)

// keySet is the public keys of an issuer, and the metadata that they were loaded with.
type keySet struct {
	fetch   func(context.Context) (*Metadata, []json.RawMessage, error)
	log     *slog.Logger
	now     func() time.Time
	loading *service.Group // attempts to load the keys

	mu       sync.Mutex
	keys     Keys          // guarded by mu
	metadata *Metadata     // nil before keys were loaded; guarded by mu
	fetched  time.Time     // when keys were loaded; zero before; guarded by mu
	failed   error         // of the last attempt; guarded by mu
	attempts *rate.Limiter // of attempts
	current  *attempt      // in progress; nil when there is none; guarded by mu
}

// attempt is one attempt to load the keys.
type attempt struct {
	done  chan struct{}
	began time.Time
}

// FindKeys returns the keys that may have signed a token with this key ID, which may be empty, and algorithm. It loads
// them first if that is needed. The error is ErrUnknownKey, ErrUnavailable or that of ctx.
func (s *keySet) FindKeys(ctx context.Context, id, algorithm string) (jwt.VerificationKeySet, error) {
	found, age := s.lookUp(id, algorithm)
	if len(found.Keys) > 0 && age < freshFor {
		return found, nil
	}
	if err := s.refresh(ctx, len(found.Keys) > 0 && age < freshFor+staleFor); err != nil {
		return found, err
	}
	found, age = s.lookUp(id, algorithm)
	switch {
	case age >= freshFor+staleFor:
		return jwt.VerificationKeySet{}, ErrUnavailable
	case len(found.Keys) == 0:
		return found, ErrUnknownKey
	}
	return found, nil
}

// lookUp returns the loaded keys that match, and their age.
func (s *keySet) lookUp(id, algorithm string) (found jwt.VerificationKeySet, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched.IsZero() {
		return found, freshFor + staleFor
	}
	return s.keys.match(id, algorithm), s.now().Sub(s.fetched)
}

// Keys are the public keys of a JWK set.
type Keys []jose.JSONWebKey

// ParseKeys decodes a JWK set. It skips keys that verify no signature, and fails if there is no other one.
func ParseKeys(set []byte) (Keys, error) {
	var s struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(set, &s) != nil {
		return nil, errors.New("it is not a JSON Web Key Set")
	}
	if keys := signingKeys(s.Keys); len(keys) > 0 {
		return keys, nil
	}
	return nil, errNoKey
}

// Encode returns the JWK set with what verifies signatures alone, without certificates and unknown members.
func (keys Keys) Encode() json.RawMessage {
	set := jose.JSONWebKeySet{Keys: make([]jose.JSONWebKey, len(keys))}
	for i, k := range keys {
		set.Keys[i] = jose.JSONWebKey{Key: k.Key, KeyID: k.KeyID, Algorithm: k.Algorithm}
	}
	text, err := json.Marshal(set)
	if err != nil {
		panic(err) // a key that was decoded cannot be encoded
	}
	return text
}

var errNoKey = errors.New("it has no usable key")

// FindKeys returns the keys that may have made a signature with this key ID, which may be empty, and algorithm. The
// error is ErrUnknownKey.
func (keys Keys) FindKeys(_ context.Context, id, algorithm string) (jwt.VerificationKeySet, error) {
	found := keys.match(id, algorithm)
	if len(found.Keys) == 0 {
		return found, ErrUnknownKey
	}
	return found, nil
}

func (keys Keys) match(id, algorithm string) (found jwt.VerificationKeySet) {
	for _, k := range keys {
		matches := (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm)
		if matches && supports(k.Key, algorithm) {
			found.Keys = append(found.Keys, k.Key)
		}
	}
	return found
}

// supports reports whether a key can verify signatures of an algorithm.
func supports(public any, algorithm string) bool {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= 2048 && (strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS"))
	case *ecdsa.PublicKey:
		return algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

// refresh loads the keys and waits for that, unless too many attempts were made. A caller with stale
// keys waits until staleWait after the attempt began. Concurrent callers share an attempt, and a
// failed one leaves the keys as they are. The error is that of ctx.
func (s *keySet) refresh(ctx context.Context, hasStale bool) error {
	a := s.joinAttempt()
	if a == nil {
		return nil
	}
	waiting := ctx
	if hasStale {
		var cancel context.CancelFunc
		waiting, cancel = context.WithDeadline(ctx, a.began.Add(staleWait))
		defer cancel()
	}
	select {
	case <-a.done:
		return nil
	case <-waiting.Done():
		return ctx.Err()
	}
}

// joinAttempt returns the attempt in progress, or starts one. It returns nil when no attempt may be
// started.
func (s *keySet) joinAttempt() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil && s.attempts.AllowN(s.now(), 1) && s.loading.Go(s.load) {
		s.current = &attempt{make(chan struct{}), time.Now()}
	}
	return s.current
}

func (s *keySet) load(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	metadata, raw, err := s.fetch(bounded)
	keys := signingKeys(raw)
	if err == nil && len(keys) == 0 {
		err = errNoKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.current.done)
	s.current, s.failed = nil, err
	switch {
	case err == nil:
		s.keys, s.metadata, s.fetched = keys, metadata, s.now()
	case ctx.Err() == nil:
		s.log.Warn("keys of an issuer not loaded", "error", err.Error())
	}
}

// signingKeys decodes the public keys for signatures. It skips keys of unknown types.
func signingKeys(raw []json.RawMessage) (keys Keys) {
	for _, text := range raw[:min(len(raw), maxKeys)] {
		var k jose.JSONWebKey
		decoded := json.Unmarshal(withoutCertificates(text), &k) == nil
		if decoded && k.Valid() && k.IsPublic() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k)
		}
	}
	return keys
}

// withoutCertificates returns a key without the members that are about certificates. Nothing is verified by them, and
// the decoder refuses a key whose certificate it cannot read.
func withoutCertificates(text json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return text
	}
	for _, name := range []string{"x5c", "x5t", "x5t#S256", "x5u"} {
		delete(members, name)
	}
	text, err := json.Marshal(members)
	if err != nil {
		panic(err) // of members that were decoded
	}
	return text
}

// Metadata returns the metadata of an issuer whose keys are discovered, loaded again as its keys are. It fails with an
// error that is ErrUnavailable or that of ctx.
func (s *keySet) Metadata(ctx context.Context) (*Metadata, error) {
	loaded, age := s.loaded()
	if age < freshFor {
		return loaded, nil
	}
	if err := s.refresh(ctx, age < freshFor+staleFor); err != nil {
		return nil, err
	}
	if loaded, age = s.loaded(); age >= freshFor+staleFor {
		return nil, errors.Join(ErrUnavailable, s.failure())
	}
	return loaded, nil
}

// loaded returns the metadata, and its age.
func (s *keySet) loaded() (*Metadata, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched.IsZero() {
		return nil, freshFor + staleFor
	}
	return s.metadata, s.now().Sub(s.fetched)
}

// failure returns the error of the last attempt.
func (s *keySet) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Probe loads the keys, and returns why that fails.
func (s *keySet) Probe(ctx context.Context) error {
	if err := s.refresh(ctx, false); err != nil {
		return err
	}
	return s.failure()
}
