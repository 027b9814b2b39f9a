package credential

import (
	"context"
	"sync/atomic"
	"time"
)

// Token is an access token that a cloud has issued.
type Token struct {
	Text     string
	Identity string // whose it is and where it is from, for people; it has no credential
}

// TokenSource has the access token of one declaration. It may be used concurrently.
type TokenSource struct {
	cache    *Cache[string]
	identity atomic.Pointer[string] // of the latest token; nil before there is one
}

// NewTokenSource returns a source of the tokens that ask asks for, which says how long each is valid. It asks for none
// before one is needed.
func NewTokenSource(fetches *Fetches, ask func(context.Context) (Token, time.Duration, error)) *TokenSource {
	s := new(TokenSource)
	s.cache = NewCache(fetches, func(ctx context.Context) (text string, life Life, err error) {
		requested := time.Now()
		token, lifetime, err := ask(ctx)
		if err != nil {
			return "", life, err
		}
		s.identity.Store(&token.Identity)
		return token.Text, NewLife(requested, lifetime), nil
	})
	return s
}

// Token returns a valid access token. Its error is the fault of a call that was not sent.
func (s *TokenSource) Token(ctx context.Context) (string, error) {
	token, err := s.cache.Get(ctx)
	if err != nil {
		return "", SignInError(err)
	}
	return token, nil
}

// Password returns the token as the password of a user of a database. It is the same at each endpoint.
func (s *TokenSource) Password(ctx context.Context, endpoint, user string) (string, error) {
	return s.Token(ctx)
}

// Invalidate drops a token that was refused.
func (s *TokenSource) Invalidate(token string) {
	s.cache.Invalidate(func(current string) bool { return current == token })
}

// Status returns what the source has. It fetches nothing.
func (s *TokenSource) Status() Status { return s.cache.Status() }

// Identity says whose token the source has, and where it is from; empty before there is one.
func (s *TokenSource) Identity() string {
	if text := s.identity.Load(); text != nil {
		return *text
	}
	return ""
}
