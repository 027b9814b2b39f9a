// Package oauthclient signs a person in to an MCP server by the browser, as the authorization part of the MCP
// specification has it, and keeps the tokens for the user of this machine.
package oauthclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"hatchel/internal/cut"
	"hatchel/internal/hostname"
	"hatchel/internal/printable"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
)

const (
	requestTimeout = 30 * time.Second
	signInTimeout  = 5 * time.Minute // for the person
	expiryMargin   = 30 * time.Second
	maxDocument    = 256 << 10 // bytes of a response of the authorization server
	maxQuoted      = 300       // characters of a text of a server in a sentence
	maxRequests    = 5         // of one request: a kept token, a newer one, a refreshed one, a sign-in, an added scope
)

// Error is a sentence for the user about a sign-in. It has no token.
type Error struct {
	text        string
	unavailable bool
	refused     bool // by the authorization server, which a repetition does not change
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Unavailable reports whether the same request may succeed later.
func (e *Error) Unavailable() bool { return e.unavailable }

func failf(format string, args ...any) error { return &Error{text: sentence(format, args)} }

// unavailablef returns an error that may pass.
func unavailablef(format string, args ...any) error {
	return &Error{text: sentence(format, args), unavailable: true}
}

// sentence returns a text on one line, of which parts may be what a server has said.
func sentence(format string, args []any) string {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = cut.Runes(text, maxQuoted)
		}
	}
	return printable.Line(fmt.Sprintf(format, args...))
}

// Options say which server is meant, and how its user is reached.
type Options struct {
	Endpoint    string // URL of the MCP endpoint
	ClientID    string // of a client that somebody has registered for this program; empty for none
	Agent       string // the User-Agent of requests
	Dir         string // where tokens are kept; empty if there is no such place
	Notes       io.Writer
	Interactive bool      // somebody can open an address
	Pasted      io.Reader // a terminal on which the address at the end of the sign-in can be pasted; nil for none
	// Open opens an address in a browser, if there is one.
	Open func(ctx context.Context, address string)
}

// Client makes requests of one server as the person who has signed in. It is safe for concurrent use.
type Client struct {
	options  Options
	endpoint *url.URL
	http     *http.Client
	store    *store

	mu      sync.Mutex // serializes sign-ins
	refused error      // of the last sign-in: who has refused is not asked again; guarded by mu

	reading sync.Once
	pasted  chan string // lines of the terminal
}

// New returns a client. The endpoint is a URL with https, or with http on this machine.
func New(o Options) (*Client, error) {
	u, problem := hostname.ParseURL(o.Endpoint, 0)
	if problem != "" || hostname.IsReadable(u) {
		return nil, failf("%s is no address to sign in to: it needs https", o.Endpoint)
	}
	return &Client{
		options: o, endpoint: u, store: &store{dir: o.Dir, endpoint: canonical(u)},
		http: &http.Client{
			Timeout: requestTimeout, Transport: sendonce.New(proxy.NewTransport()),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// canonical returns the name under which the tokens of an endpoint are kept.
func canonical(u *url.URL) string {
	return origin(u) + strings.TrimSuffix(u.EscapedPath(), "/")
}

func origin(u *url.URL) string {
	scheme := strings.ToLower(u.Scheme)
	host, ok := hostname.Parse(strings.TrimSuffix(u.Host, ":"+u.Port()))
	if !ok {
		host = strings.ToLower(u.Hostname())
	}
	return hostname.Origin(scheme, host, u.Port())
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do calls send with the token of the person, or with none. When the server asks for a token, or for another scope, the
// person signs in, and send is called again. The response is the last one. Send must send the token to the server of
// the endpoint only.
func (c *Client) Do(ctx context.Context, send func(token string) (*http.Response, error)) (*http.Response, error) {
	token, err := c.keptToken(ctx)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for range maxRequests {
		res, err := send(token)
		if err != nil {
			return nil, err
		}
		ask, ok := challengeOf(res)
		if !ok {
			return res, nil
		}
		next, err := c.renew(ctx, token, ask, asked)
		if errors.Is(err, errNoSignIn) {
			return res, nil
		}
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		token = next
	}
	return nil, failf("%s refuses the tokens that its own sign-in issues", c.options.Endpoint)
}

// errNoSignIn is returned for a server that does not say where people sign in.
var errNoSignIn = errors.New("the server has no sign-in")

// challenge is what a server asks for that refuses a request (RFC 6750, RFC 9728).
type challenge struct {
	metadata string   // URL of the metadata of the resource; empty for the well-known one
	scopes   []string // that are needed
	scope    bool     // the token is valid, and lacks a scope
}

// challengeOf returns what a response asks for. It reports false for one that asks for nothing.
func challengeOf(res *http.Response) (ask challenge, ok bool) {
	if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return ask, false
	}
	// A header that cannot be read asks for nothing in particular.
	challenges, _ := oauthex.ParseWWWAuthenticate(res.Header.Values("WWW-Authenticate"))
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			ask.metadata, ask.scopes = c.Params["resource_metadata"], strings.Fields(c.Params["scope"])
			ask.scope = res.StatusCode == http.StatusForbidden && c.Params["error"] == "insufficient_scope"
			break
		}
	}
	return ask, res.StatusCode == http.StatusUnauthorized || ask.scope && len(ask.scopes) > 0
}

// keptToken returns the token that is kept, after a refresh if it has ended; empty for none.
func (c *Client) keptToken(ctx context.Context) (string, error) {
	r, err := c.store.Read(ctx)
	if err != nil || r == nil || r.isValid() {
		return r.access(), err
	}
	unlock, err := c.store.Lock(ctx, c.options.Notes)
	if err != nil {
		return "", err
	}
	defer unlock()
	if r, err = c.store.Read(ctx); err != nil || r == nil || r.isValid() {
		return r.access(), err // another process has refreshed it, or signed out
	}
	return c.refresh(ctx, r)
}

// refresh returns a new token for a refresh token; empty when the person has to sign in again. The caller holds the
// lock.
func (c *Client) refresh(ctx context.Context, r *record) (string, error) {
	if r.Refresh == "" {
		return "", nil
	}
	issued, err := c.askForToken(ctx, r, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Refresh}})
	if said, ok := errors.AsType[*Error](err); ok && said.refused {
		return "", c.store.Remove()
	}
	if err != nil {
		return "", err
	}
	r.keep(issued)
	_, err = c.store.Write(ctx, r)
	return r.Access, err
}

// renew returns another token than the one that the server has refused. Asked has the scopes for which the person has
// signed in because of the same request.
func (c *Client) renew(ctx context.Context, refused string, ask challenge, asked map[string]bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := c.store.Lock(ctx, c.options.Notes)
	if err != nil {
		return "", err
	}
	defer unlock()
	r, err := c.store.Read(ctx)
	if err != nil {
		return "", err
	}
	var scopes []string
	if r != nil {
		scopes = r.Scopes
		if r.Access != refused && r.isValid() && (!ask.scope || includes(r.Scopes, ask.scopes)) {
			return r.Access, nil
		}
		if !ask.scope && r.Access == refused {
			if token, err := c.refresh(ctx, r); token != "" || err != nil {
				return token, err
			}
		}
	}
	slices.Sort(ask.scopes)
	switch reason := strings.Join(ask.scopes, " "); {
	case asked[reason] && ask.scope:
		return "", failf("%s needs the scope %s, and the sign-in did not give it: the server does not grant it to you",
			c.options.Endpoint, reason)
	case asked[reason]:
		return "", failf("%s does not accept the token that its own sign-in has issued", c.options.Endpoint)
	case c.refused != nil:
		return "", c.refused
	default:
		asked[reason] = true
	}
	token, err := c.signIn(ctx, ask, scopes)
	if !errors.Is(err, errNoSignIn) {
		c.refused = err
	}
	return token, err
}

func includes(all, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(all, s) })
}

// SignOut revokes the tokens that are kept, and forgets them. It reports whether there were any.
func (c *Client) SignOut(ctx context.Context) (found bool, err error) {
	unlock, err := c.store.Lock(ctx, c.options.Notes)
	if err != nil {
		return false, err
	}
	defer unlock()
	r, err := c.store.Read(ctx)
	if r == nil || err != nil {
		return false, errors.Join(err, c.store.Remove())
	}
	revoked := c.revoke(ctx, r)
	if err := c.store.Remove(); err != nil {
		return true, err
	}
	if revoked != nil {
		return true, failf("the tokens were forgotten here, and not revoked: %s", revoked)
	}
	return true, nil
}

// revoke tells the authorization server that a sign-in has ended (RFC 7009).
func (c *Client) revoke(ctx context.Context, r *record) error {
	if r.RevocationEndpoint == "" {
		return failf("%s has no address for this. They end by themselves", r.Issuer)
	}
	form := url.Values{"token": {r.Access}, "token_type_hint": {"access_token"}}
	if r.Refresh != "" {
		form = url.Values{"token": {r.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	res, err := c.post(ctx, r.RevocationEndpoint, r, form)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return failf("%s answers with status %d", r.RevocationEndpoint, res.StatusCode)
	}
	return nil
}
