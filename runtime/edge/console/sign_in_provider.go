package console

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/internal/hostname"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/mcp"
)

const (
	providerPath = "/console/sign-in/provider"
	// callbackPath is where a console at another address than that of the sign_in block learns what the provider says.
	callbackPath = "/console/sign-in/callback"
)

// SignIns is what people sign in with at the provider of the sign_in block.
type SignIns interface {
	// BeginConsole answers with a page that leads to the provider. Next is passed to [Console.FinishSignIn] in the
	// browser that has sent the request. Callback is an address of the console where the browser comes back, and empty
	// if that is the address of the sign_in block.
	BeginConsole(w http.ResponseWriter, r *http.Request, next, callback string)
	// ServeConsoleCallback answers a request to the callback of BeginConsole.
	ServeConsoleCallback(w http.ResponseWriter, r *http.Request)
}

// hostOf returns the host of an address, with its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// beginSignIn leads to the provider.
func (c *Console) beginSignIn(q *request) (*answer, error) {
	if err := q.readFields(); err != nil {
		return nil, err
	}
	decl := c.signInBlock()
	switch {
	case decl == nil:
		return nil, notFound("This server signs nobody in at a provider")
	case isPlainPage(q.Header.Get("Origin")):
		return nil, &Error{http.StatusForbidden, "People sign in over https only. Open this page with https"}
	}
	c.SignIns.BeginConsole(q.writer, q.Request, safeNext(q.PostForm.Get("next")), c.callbackOf(q, decl))
	return nil, nil
}

// callbackOf returns where a browser comes back that has opened the console at another address than that of the
// sign_in block, at which the provider answers; empty for the same address. Cookies of one address are not sent to the
// other.
func (c *Console) callbackOf(q *request, decl *hcl.SignIn) string {
	at := c.Host.Current().ServerNames().URL(q.Request)
	own, err := url.Parse(decl.URL)
	if err != nil {
		return ""
	}
	here := *at
	here.Scheme = own.Scheme // a proxy may not say that it is reached by https
	if withPort(own) == withPort(&here) {
		return ""
	}
	return at.JoinPath(callbackPath).String()
}

// withPort returns the host of an address with its port, also with the one of its scheme.
func withPort(u *url.URL) string {
	return strings.ToLower(u.Hostname()) + ":" + hostname.Port(u)
}

// serveCallback ends the sign-in of a console at another address than that of the sign_in block.
func (c *Console) serveCallback(q *request) (*answer, error) {
	if c.signInBlock() == nil {
		return nil, notFound("This server signs nobody in at a provider")
	}
	c.SignIns.ServeConsoleCallback(q.writer, q.Request)
	return nil, nil
}

// FinishSignIn begins the session of a person who has signed in at the provider. It answers with a page that leads to
// the one that they have asked for: the provider has led here, so browsers keep the cookie of the session back from a
// redirect.
func (c *Console) FinishSignIn(w http.ResponseWriter, r *http.Request, g *grant.Grant, i *mcp.Identity, next string) {
	setHeaders(w.Header())
	c.handler(route{handle: func(c *Console, q *request) (*answer, error) {
		s := newSession(i, q.block.Session, q.now)
		s.SignIn, s.Renewed = g.ID, q.now
		if err := c.setCookie(q, s); err != nil {
			c.endSignIn(q, s)
			return nil, err
		}
		c.Log.InfoContext(q.Context(), "console session started", slog.String("subject", s.displayName()),
			slog.String("remote", q.remote))
		return &answer{template: "continue", title: "Opening", data: safeNext(next)}, nil
	}}).ServeHTTP(w, r)
}

const (
	// renewAtProvider is how often the provider is asked whether it still knows a person, where it has given a refresh
	// token.
	renewAtProvider = time.Hour
	// renewPause is the time until it is asked again after it could not answer.
	renewPause = 5 * time.Minute
	// renewDeadline is the time until a session needs the answer of the provider.
	renewDeadline = renewAtProvider + grant.TokenLife
)

// askedAt returns when the provider was asked who the person of a grant is. Where it cannot be asked, that is now.
func askedAt(q *request, g *grant.Grant) time.Time {
	if g.Upstream == nil || g.Upstream.Refresh == "" {
		return q.now
	}
	return g.Upstream.Renewed
}

// renewSignIn has the provider asked again who a person is, when that is due. It reports whether the session goes on:
// the provider knows the person, and the rule of the block admits them. While the provider does not answer, the session
// goes on as long as an access token of a client would.
func (c *Console) renewSignIn(q *request, s *session) bool {
	own := c.Host.Authenticator().Own()
	if q.now.Sub(s.Renewed) < renewAtProvider || own == nil {
		return true
	}
	grants, err := c.Host.Operator().State.Grants(q.Context())
	if err != nil {
		return true
	}
	g, err := grants.Renew(q.Context(), s.SignIn, own.Renew)
	switch {
	case err != nil:
		c.Log.WarnContext(q.Context(), "console session not renewed at the provider", slog.String("error", err.Error()))
		s.Renewed, s.Seen = q.now.Add(renewPause-renewAtProvider), time.Time{}
		return g == nil || q.now.Sub(askedAt(q, g)) < renewDeadline
	case g == nil:
		return false
	}
	i, err := own.IdentityOf(g)
	if err != nil {
		return false
	}
	s.setIdentity(i)
	s.Renewed, s.Seen = askedAt(q, g), time.Time{} // the cookie is written
	return own.Admits(i)
}

// endSignIn ends the sign-in at the provider that a session was begun with, if there is one. That of a client stays.
func (c *Console) endSignIn(q *request, s *session) {
	if s.SignIn == "" {
		return
	}
	grants, err := c.Host.Operator().State.Grants(q.Context())
	if err == nil {
		_, err = grants.Revoke(q.Context(), s.SignIn)
	}
	if err != nil {
		c.Log.WarnContext(q.Context(), "end of a sign-in not stored", slog.String("error", err.Error()))
	}
}
