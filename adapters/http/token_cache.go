package http

import (
	"cmp"
	"context"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"hatchel/hcl"
)

// tokenCache holds one token, of a connection or of a caller. At most one fetch runs at a time. Calls
// without a token wait for it, and it does not end with the call that started it.
type tokenCache struct {
	server *tokenServer

	mu      sync.Mutex
	current *token      // nil if there is none; guarded by mu
	fetch   *tokenFetch // nil if none runs; guarded by mu
}

// tokenServer fetches the tokens of a connection.
type tokenServer struct {
	config  *oauth2
	service *service
	dir     string
	ctx     context.Context // ends with the connection
	fetches sync.WaitGroup
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

func (c *tokenCache) authorize(ctx context.Context, _ *hcl.Frame, r *compiledRequest) error {
	if r.dryRun {
		r.setAuthorization("Bearer ", hcl.Hidden)
		return nil
	}
	return c.setToken(ctx, r, subject{})
}

func (c *tokenCache) setToken(ctx context.Context, r *compiledRequest, of subject) error {
	text, err := c.get(ctx, of)
	if err != nil {
		return err
	}
	r.setAuthorization("Bearer ", text, text)
	r.fetchedToken = text
	return nil
}

// get returns a valid token. It waits for a fetch only if there is none.
func (c *tokenCache) get(ctx context.Context, of subject) (string, error) {
	c.mu.Lock()
	now := time.Now()
	if c.current != nil && !c.current.expires.IsZero() && now.After(c.current.expires) {
		c.current = nil
	}
	current, fetch := c.current, c.fetch
	if fetch == nil && (current == nil || !current.renew.IsZero() && now.After(current.renew)) {
		fetch = c.startFetch(of)
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

// startFetch starts a fetch in the background. The caller holds mu.
func (c *tokenCache) startFetch(of subject) *tokenFetch {
	f := &tokenFetch{done: make(chan struct{})}
	c.fetch = f
	c.server.fetches.Go(func() {
		fetched, err := c.server.fetch(of)
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

// invalidate drops the token of a request unless it was replaced already.
func (c *tokenCache) invalidate(r *compiledRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && r.header.Get("Authorization") == "Bearer "+c.current.text {
		c.current = nil
	}
}

const maxTokenResponse = 64 << 10

func (t *tokenServer) fetch(of subject) (*token, error) {
	form, header, err := t.config.newRequest(t.ctx, t.dir, of)
	if err != nil {
		return nil, err
	}
	header["User-Agent"] = t.service.userAgent
	timeout := cmp.Or(t.service.timeout, defaultTimeout)
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	requested := time.Now()
	status, raw, err := t.post(ctx, header, []byte(form.Encode()))
	if err != nil {
		failed := networkFailure(err, timeout)
		return nil, signInFault(failed.message, failed.cause)
	}
	_, credentials, _ := strings.Cut(header.Get("Authorization"), " ")
	return t.config.parseResponse(status, raw, requested, of, credentials)
}

func (t *tokenServer) post(ctx context.Context, header nethttp.Header, form []byte) (int, []byte, error) {
	resp, err := t.service.send(withoutRedirects(ctx), nethttp.MethodPost, t.config.TokenURL, header, form)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	raw, err := readBody(resp, maxTokenResponse)
	return resp.StatusCode, raw, err
}
