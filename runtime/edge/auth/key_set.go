package auth

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

var errUnknownKey = errors.New("unknown key")

// keySet is the public keys of an issuer.
type keySet struct {
	fetch   func(context.Context) ([]json.RawMessage, error)
	log     *slog.Logger
	now     func() time.Time
	loading *service.Group // attempts to load the keys

	mu       sync.Mutex
	keys     []jose.JSONWebKey // guarded by mu
	fetched  time.Time         // when keys were loaded; zero before; guarded by mu
	failed   error             // of the last attempt; guarded by mu
	attempts *rate.Limiter     // of attempts
	current  *attempt          // in progress; nil when there is none; guarded by mu
}

// attempt is one attempt to load the keys.
type attempt struct {
	done  chan struct{}
	began time.Time
}

// find returns the keys that may have signed a token with this key ID, which may be empty, and
// algorithm.
func (s *keySet) find(ctx context.Context, id, algorithm string) (jwt.VerificationKeySet, error) {
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
		return jwt.VerificationKeySet{}, errUnavailable
	case len(found.Keys) == 0:
		return found, errUnknownKey
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
	for _, k := range s.keys {
		matches := (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm)
		if matches && supports(k.Key, algorithm) {
			found.Keys = append(found.Keys, k.Key)
		}
	}
	return found, s.now().Sub(s.fetched)
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
	raw, err := s.fetch(bounded)
	keys := signingKeys(raw)
	if err == nil && len(keys) == 0 {
		err = errors.New("it has no usable key")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.current.done)
	s.current, s.failed = nil, err
	switch {
	case err == nil:
		s.keys, s.fetched = keys, s.now()
	case ctx.Err() == nil:
		s.log.Warn("keys of an issuer not loaded", "error", err.Error())
	}
}

// signingKeys decodes the public keys for signatures. It skips keys of unknown types.
func signingKeys(raw []json.RawMessage) (keys []jose.JSONWebKey) {
	for _, text := range raw[:min(len(raw), maxKeys)] {
		var k jose.JSONWebKey
		if json.Unmarshal(text, &k) == nil && k.Valid() && k.IsPublic() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k)
		}
	}
	return keys
}

// probe loads the keys, and returns why that fails.
func (s *keySet) probe(ctx context.Context) error {
	if err := s.refresh(ctx, false); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
