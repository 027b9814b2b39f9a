package http

import (
	"cmp"
	"context"
	"crypto/sha256"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/adapters"
	"hatchel/hcl"
)

// maxTokens is the maximum number of callers whose tokens a connection keeps.
const maxTokens = 10_000

// tokens holds the token of a connection or, with exchange, of each caller. It evicts the least recently used one.
type tokens struct {
	config  *oauth2
	service *service
	dir     string
	ctx     context.Context // ends with the connection
	fetches sync.WaitGroup

	mu     sync.Mutex
	caches *simplelru.LRU[tokenKey, *tokenCache] // guarded by mu
}

// tokenKey is a caller and the digest of the caller's token, which is not kept.
type tokenKey struct {
	owner  string
	digest [sha256.Size]byte
}

// tokenCache holds one token. At most one fetch runs at a time. Calls without a token wait for it, and it
// does not end with the call that started it.
type tokenCache struct {
	mu      sync.Mutex
	current *token      // nil if there is none; guarded by mu
	fetch   *tokenFetch // nil if none runs; guarded by mu
}

// token is an access token. The times are zero if the token server did not report a lifetime.
type token struct {
	text    string
	renew   time.Time // a new token is fetched from then on, while this one is still used
	expires time.Time
}

// tokenFetch is one fetch; token and err are written before done is closed.
type tokenFetch struct {
	done  chan struct{}
	token *token
	err   error
}

func newTokens(config *oauth2, s *service, env adapters.Env) *tokens {
	caches, _ := simplelru.NewLRU[tokenKey, *tokenCache](maxTokens, nil) // fails for size 0 only
	ctx, cancel := context.WithCancel(s.ctx)
	t := &tokens{config: config, service: s, dir: env.Dir, ctx: ctx, caches: caches}
	env.Defer(func() error {
		cancel()
		t.fetches.Wait()
		return nil
	})
	return t
}

// authorize implements authorizer.
func (t *tokens) authorize(ctx context.Context, _ *hcl.Frame, r *compiledRequest) error {
	switch {
	case r.dryRun && t.config.Exchange:
		r.header["Authorization"] = []string{"(bearer token by exchange)"}
		return nil
	case r.dryRun:
		r.setAuthorization("Bearer ", hcl.Hidden)
		return nil
	}
	s, err := t.config.subjectOf(r.call)
	if err != nil {
		return err
	}
	text, err := t.get(ctx, t.cacheOf(s), s)
	if err != nil {
		return err
	}
	r.setAuthorization("Bearer ", text, text, s.token)
	r.fetchedToken = text
	return nil
}

// invalidate drops the token of a request, which the service has rejected, unless it was replaced already.
func (t *tokens) invalidate(r *compiledRequest) {
	s, err := t.config.subjectOf(r.call)
	if err != nil {
		return
	}
	c := t.cacheOf(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && r.header.Get("Authorization") == "Bearer "+c.current.text {
		c.current = nil
	}
}

func (t *tokens) cacheOf(s subject) *tokenCache {
	key := tokenKey{s.owner, sha256.Sum256([]byte(s.token))}
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.caches.Get(key)
	if !ok {
		c = new(tokenCache)
		t.caches.Add(key, c)
	}
	return c
}

// get returns a valid token. It waits for a fetch only if there is none.
func (t *tokens) get(ctx context.Context, c *tokenCache, of subject) (string, error) {
	c.mu.Lock()
	now := time.Now()
	if c.current != nil && !c.current.expires.IsZero() && now.After(c.current.expires) {
		c.current = nil
	}
	current, fetch := c.current, c.fetch
	if fetch == nil && (current == nil || !current.renew.IsZero() && now.After(current.renew)) {
		fetch = t.startFetch(c, of)
	}
	c.mu.Unlock()
	if current != nil {
		return current.text, nil
	}
	select {
	case <-fetch.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if fetch.err != nil {
		return "", fetch.err
	}
	return fetch.token.text, nil
}

// startFetch starts a fetch in the background. The caller holds the mu of the cache.
func (t *tokens) startFetch(c *tokenCache, of subject) *tokenFetch {
	f := &tokenFetch{done: make(chan struct{})}
	c.fetch = f
	t.fetches.Go(func() {
		fetched, err := t.fetch(of)
		c.mu.Lock()
		f.token, f.err, c.fetch = fetched, err, nil
		if err == nil {
			c.current = fetched
		}
		c.mu.Unlock()
		close(f.done)
	})
	return f
}

const maxTokenResponse = 64 << 10

func (t *tokens) fetch(of subject) (*token, error) {
	form, header, err := t.config.newRequest(t.ctx, t.dir, of)
	if err != nil {
		return nil, err
	}
	header["User-Agent"] = t.service.userAgent
	timeout := cmp.Or(t.service.timeout, defaultTimeout)
	ctx, cancel := context.WithTimeout(context.WithValue(t.ctx, noRedirectKey{}, true), timeout)
	defer cancel()
	requested := time.Now()
	_, credentials, _ := strings.Cut(header.Get("Authorization"), " ")
	if t.service.mocks != nil {
		secrets := []string{credentials, t.config.ClientSecret.Reveal(), of.token}
		ctx = withDetails(ctx, mockedDetails{secrets: secrets, answer: tokenType})
	}
	resp, err := t.service.send(ctx, nethttp.MethodPost, t.config.TokenURL, header, []byte(form.Encode()))
	var raw []byte
	if err == nil {
		defer resp.Body.Close()
		raw, err = readBody(resp, maxTokenResponse)
	}
	if err != nil {
		failed := networkFailure(err, timeout)
		return nil, signInFault(failed.Message, failed.Cause)
	}
	return t.config.parseResponse(resp, raw, requested, of, credentials)
}
