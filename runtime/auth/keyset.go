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
)

// How long the keys of an issuer are taken for its keys, and how often it is asked for them. A token that names a key which is not there makes it be asked, too;
// anybody can write such a token, so an issuer is asked a few times in a row and then once in a while.
const (
	fresh        = 15 * time.Minute
	stale        = time.Hour // after that, while the issuer does not answer
	mostAttempts = 4
	perAttempt   = 10 * time.Second
	mostKeys     = 100
	soon         = time.Second // after the issuer was asked, those whose keys are there go on with them
)

var errUnknownKey = errors.New("there is no such key")

// keyset are the public keys of an issuer, as it told last.
type keyset struct {
	fetch func(context.Context) ([]json.RawMessage, error)
	log   *slog.Logger
	now   func() time.Time

	mu       sync.Mutex
	keys     []jose.JSONWebKey // guarded by mu
	fetched  time.Time         // when they were; zero before the first time; guarded by mu
	failed   error             // of the last attempt; guarded by mu
	attempts int               // that may be made now; guarded by mu
	earned   time.Time         // when attempts was counted; guarded by mu
	flight   *flight           // the attempt under way; nil when none is; guarded by mu
	closed   bool              // guarded by mu

	running sync.WaitGroup // the attempt under way
}

// keysFor returns the keys by which a token may be signed that names one, or none.
func (s *keyset) keysFor(ctx context.Context, id, algorithm string) (jwt.VerificationKeySet, error) {
	found, age := s.held(id, algorithm)
	if len(found.Keys) > 0 && age < fresh {
		return found, nil
	}
	if err := s.refresh(ctx, len(found.Keys) > 0 && age < fresh+stale); err != nil {
		return found, err
	}
	found, age = s.held(id, algorithm)
	switch {
	case age >= fresh+stale:
		return jwt.VerificationKeySet{}, errUnavailable
	case len(found.Keys) == 0:
		return found, errUnknownKey
	}
	return found, nil
}

// held looks among the keys that are there, and says how old they are.
func (s *keyset) held(id, algorithm string) (found jwt.VerificationKeySet, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched.IsZero() {
		return found, fresh + stale
	}
	for _, k := range s.keys {
		if (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm) && signs(k.Key, algorithm) {
			found.Keys = append(found.Keys, k.Key)
		}
	}
	return found, s.now().Sub(s.fetched)
}

// signs reports whether an algorithm is one of keys like this.
func signs(public any, algorithm string) bool {
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

// flight is one attempt under way.
type flight struct {
	over   chan struct{}
	began  time.Time
	cancel context.CancelFunc
}

// refresh asks the issuer for its keys, unless it has been asked too often just now, and waits for the answer: where there is something to go on with, no longer
// than soon after the issuer was asked. Who comes while it is being asked waits for that answer. What fails leaves the keys as they are. An error is that of ctx.
func (s *keyset) refresh(ctx context.Context, canGoOn bool) error {
	f := s.attempt(ctx)
	if f == nil {
		return nil
	}
	var enough <-chan time.Time
	if canGoOn {
		timer := time.NewTimer(soon - time.Since(f.began))
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-f.over:
		return nil
	case <-enough:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt is the attempt under way, or a new one, which is for those who come later, too; nil when there may be none.
func (s *keyset) attempt(ctx context.Context) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil || s.closed || !s.may() {
		return s.flight
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*fetchTime)
	f := &flight{make(chan struct{}), time.Now(), cancel}
	s.flight = f
	s.running.Go(func() { s.fly(ctx, f) })
	return f
}

// fly makes one attempt.
func (s *keyset) fly(ctx context.Context, f *flight) {
	defer f.cancel()
	raw, err := s.fetch(ctx)
	keys := usable(raw)
	if err == nil && len(keys) == 0 {
		err = errors.New("it has no key that can be used")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(f.over)
	s.flight, s.failed = nil, err
	switch {
	case err == nil:
		s.keys, s.fetched = keys, s.now()
	case !s.closed:
		s.log.Warn("the keys of an issuer cannot be fetched", "error", err.Error())
	}
}

// close ends the attempt under way. There is none after it.
func (s *keyset) close() {
	s.mu.Lock()
	s.closed = true
	if s.flight != nil {
		s.flight.cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// may takes one attempt, if there is one. It is called with mu held.
func (s *keyset) may() bool {
	now := s.now()
	if s.attempts < mostAttempts {
		if n := int(now.Sub(s.earned) / perAttempt); n > 0 {
			s.attempts = min(s.attempts+n, mostAttempts)
			s.earned = now
		}
	} else {
		s.earned = now
	}
	if s.attempts == 0 {
		return false
	}
	s.attempts--
	return true
}

// usable are the public keys that are for signing. What cannot be read is of a kind that came later.
func usable(raw []json.RawMessage) (keys []jose.JSONWebKey) {
	for _, one := range raw[:min(len(raw), mostKeys)] {
		var k jose.JSONWebKey
		if json.Unmarshal(one, &k) == nil && k.Valid() && k.IsPublic() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k)
		}
	}
	return keys
}

// probe asks the issuer, and says why its keys cannot be had.
func (s *keyset) probe(ctx context.Context) error {
	if err := s.refresh(ctx, false); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
