package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"time"

	"hatchel/runtime/edge/mcp"
)

// session is what a cookie holds, sealed: who is signed in, since when, and until when.
type session struct {
	ID       string        `json:"id"`
	Began    time.Time     `json:"began"`
	Seen     time.Time     `json:"seen"` // when the cookie was written
	Ends     time.Time     `json:"ends"`
	Identity *mcp.Identity `json:"identity,omitempty"` // nil for the holder of a ticket of this machine
	Grant    string        `json:"grant,omitempty"`
	Expires  time.Time     `json:"expires,omitzero"` // when the credential expires
	Required []string      `json:"required,omitempty"`
	SignIn   string        `json:"sign_in,omitempty"` // the ID of the grant of a sign-in at the provider
	Renewed  time.Time     `json:"renewed,omitzero"`  // when the provider was asked for Identity
}

const (
	idleTime      = 30 * time.Minute
	refreshHeader = "Hatchel-Refresh" // of a request that a script makes by itself, so that nobody was there
	renewAfter    = time.Minute       // cookies are not written with every page
	maxCookie     = 3800              // bytes; browsers keep 4096 with the name and the attributes
	cookieUse     = "console session"
	formUse       = "console form\n"
	tokenField    = "token"
	secureCookie  = "__Host-hatchel"
	loopbackName  = "hatchel"
	signedOutLife = -1
)

// openSealer returns what seals cookies and the tokens of forms.
func (c *Console) openSealer(ctx context.Context) (*mcp.Sealer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealer == nil {
		key, err := c.Host.Operator().State.ConsoleKey(ctx)
		if err != nil {
			return nil, err
		}
		sealer := mcp.NewSealer(key)
		c.sealer = &sealer
	}
	return c.sealer, nil
}

// newSession returns a session of a person; nil for one without a credential.
func newSession(i *mcp.Identity, life time.Duration, now time.Time) *session {
	s := &session{ID: rand.Text(), Began: now, Ends: now.Add(life)}
	if i != nil {
		s.setIdentity(i)
	}
	return s
}

// setIdentity sets who is signed in, without the token of the request. The session ends with the credential.
func (s *session) setIdentity(i *mcp.Identity) {
	kept := *i.WithoutToken()
	kept.Headers = nil // those of the request that signed in
	s.Identity, s.Grant, s.Expires, s.Required = &kept, i.Grant, i.Expires, i.BaseScopes
	if !i.Expires.IsZero() && i.Expires.Before(s.Ends) {
		s.Ends = i.Expires
	}
}

// streamEnds returns until when a response may last that began in the session.
func (s *session) streamEnds() time.Time {
	if due := s.Renewed.Add(renewAtProvider); s.SignIn != "" && due.Before(s.Ends) {
		return due
	}
	return s.Ends
}

// identity returns who is signed in, as the authenticator would; nil for nobody with a credential.
func (s *session) identity() *mcp.Identity {
	if s.Identity == nil {
		return nil
	}
	i := *s.Identity
	i.Grant, i.Expires, i.BaseScopes = s.Grant, s.Expires, s.Required
	return &i
}

// displayName returns who is signed in, for people.
func (s *session) displayName() string {
	if s.Identity == nil {
		return "this machine"
	}
	return s.Identity.Subject
}

// readCookie returns the session of a request; nil for none that is valid now.
func (c *Console) readCookie(r *http.Request) (*session, error) {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || len(cookie.Value) > maxCookie {
		return nil, nil
	}
	sealer, err := c.openSealer(r.Context())
	if err != nil {
		return nil, err
	}
	plain, ok := sealer.Open(cookie.Value, cookieUse)
	s := new(session)
	if !ok || json.Unmarshal(plain, s) != nil {
		return nil, nil
	}
	now := time.Now()
	if now.After(s.Ends) || now.After(s.Seen.Add(idleTime)) || !c.Host.Authenticator().StillValid(s.identity()) ||
		c.Host.Operator().State.ConsoleSessionEnded(r.Context(), s.ID) ||
		s.SignIn != "" && c.Host.Operator().State.SignInEnded(r.Context(), s.SignIn) {
		return nil, nil
	}
	return s, nil
}

// openSession is readCookie for a page. It prolongs the session.
func (c *Console) openSession(q *request) (*session, error) {
	s, err := c.readCookie(q.Request)
	if s != nil && s.SignIn != "" && !c.renewSignIn(q, s) {
		return nil, nil
	}
	if s != nil && q.now.Sub(s.Seen) > renewAfter && q.Header.Get(refreshHeader) == "" {
		if longest := s.Began.Add(q.block.Session); longest.Before(s.Ends) {
			s.Ends = longest
		}
		if err = c.setCookie(q, s); err != nil { // the provider says more of the person than there is room for
			c.endSignIn(q, s)
		}
	}
	return s, err
}

// setCookie gives a session to the browser.
func (c *Console) setCookie(q *request, s *session) error {
	sealer, err := c.openSealer(q.Context())
	if err != nil {
		return err
	}
	s.Seen = time.Now()
	plain, err := json.Marshal(s)
	if err != nil {
		return err
	}
	value := sealer.Seal(plain, cookieUse)
	if len(value) > maxCookie {
		return &Error{http.StatusBadRequest, "The claims of this credential are too large for a session in a browser"}
	}
	http.SetCookie(q.writer, newCookie(q.Request, value, 0))
	return nil
}

// newCookie returns the cookie of the console. A life of 0 is that of the browser.
func newCookie(r *http.Request, value string, life int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/", MaxAge: life, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: !isPlainLoopback(r),
	}
}

// cookieName returns the name of the cookie: browsers send one with the prefix __Host- over TLS only, which may end at
// a proxy. The name has the port, because browsers send a cookie to all ports of a host, where other servers may be.
func cookieName(r *http.Request) string {
	name := secureCookie
	if isPlainLoopback(r) {
		name = loopbackName
	}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	return name
}

// isPlainLoopback reports whether a request was made without TLS to this machine, where there need be none.
func isPlainLoopback(r *http.Request) bool { return !mcp.IsSecure(r) && mcp.IsLocalHost(r.Host) }

// token returns the text that a form of a session must have to post to a path.
func (c *Console) token(s *session, path string) string {
	if s == nil {
		return ""
	}
	return c.sealer.Seal([]byte(s.ID), formUse+path)
}

// checkToken reports whether a form may post to a path. A form with several places to post to has a token for each.
func (c *Console) checkToken(s *session, path string, tokens []string) bool {
	return slices.ContainsFunc(tokens, func(token string) bool {
		id, ok := c.sealer.Open(token, formUse+path)
		return ok && string(id) == s.ID
	})
}
