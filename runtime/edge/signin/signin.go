// Package signin serves the authorization server of a sign_in block: people sign in at an OpenID provider, allow a
// program to use this server in their name, and the program gets tokens for this server (OAuth 2.1, RFC 8414, RFC
// 7591, RFC 7009).
//
// Nothing is stored before the provider has answered. Until then the request of the program is sealed: in the form of
// the consent page, and in the state that the provider sends back. Both belong to a cookie of the browser, so that
// nobody ends a sign-in in another browser than the one that has begun it. A person sees the consent page before every
// sign-in, because a program that shows a known name may be another one.
//
// All addresses are those of the declared url, never of the Host header. No token, code, or claim is logged.
package signin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/stage/limit"
)

const (
	root         = "/oauth"
	metadataPath = "/.well-known/oauth-authorization-server"
	// openIDPath is answered with 404: the server is no OpenID provider.
	openIDPath = "/.well-known/openid-configuration"
)

// Options are what a Server is made of. All are required but FinishConsole.
type Options struct {
	// Pin returns what is served, until release is called; nil when the server is closed.
	Pin    func() (g *served.Served, release func())
	Grants func(context.Context) (*grant.Store, error) // the error says that the state store is not available
	Log    *slog.Logger
	Remote func(*http.Request) string // the address of the client
	// IsLocal reports whether this machine made a request, and no proxy.
	IsLocal func(*http.Request) bool
	Style   string // style sheet of the pages
	// Toolset is the only toolset that is served; empty for all.
	Toolset string
	Refused func(r *http.Request, status int, reason string) // records a request that is not authorized
	// FinishConsole begins the session of a person who has signed in for the console, and answers the request.
	FinishConsole func(w http.ResponseWriter, r *http.Request, g *grant.Grant, i *mcp.Identity, next string)
}

// Server is an http.Handler for the requests of which Handles reports true. It is safe for concurrent use and outlives
// configurations.
type Server struct {
	Options
	policy string // the content security policy of pages
	counts requestCounts
	logged requestCounts // refused requests in the log, of all networks alike
	people queue         // requests of browsers
	back   queue         // what waits for the provider: browsers that come back, and refreshes that ask it
	others queue         // requests of programs
}

// New returns a Server.
func New(o Options) *Server {
	sum := sha256.Sum256([]byte(o.Style))
	return &Server{
		Options: o, people: newQueue(), back: newQueue(), others: newQueue(),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	}
}

// Handles reports whether a request is for an authorization server.
func Handles(r *http.Request) bool {
	return r.URL.Path == metadataPath || r.URL.Path == openIDPath || strings.HasPrefix(r.URL.Path, root+"/")
}

// endpoint is what serves one address.
type endpoint struct {
	methods []string
	handle  func(*Server, *request) error
	isPage  bool // people see the response; other sites never read it
	isFree  bool // requests are not counted, because the response is the same for all
	hasForm bool
	hasBody bool // which is no form

	comesBack  bool // from the provider
	takesToken bool // gives tokens for a code or a refresh token
}

var endpoints = map[string]endpoint{
	metadataPath:        {methods: read, handle: (*Server).serveMetadata, isFree: true},
	root + "/jwks":      {methods: read, handle: (*Server).serveKeys, isFree: true},
	root + "/authorize": {methods: append(read, post...), handle: (*Server).authorize, isPage: true, hasForm: true},
	root + "/consent":   {methods: post, handle: (*Server).consent, isPage: true, hasForm: true},
	root + "/callback":  {methods: read[:1], handle: (*Server).callback, isPage: true, hasForm: true, comesBack: true},
	root + "/token":     {methods: post, handle: (*Server).token, hasForm: true, takesToken: true},
	root + "/revoke":    {methods: post, handle: (*Server).revoke, hasForm: true},
	root + "/register":  {methods: post, handle: (*Server).register, hasBody: true},
}

var (
	read = []string{http.MethodGet, http.MethodHead}
	post = []string{http.MethodPost}
)

// request is a request, and what it is answered with.
type request struct {
	*http.Request
	writer   http.ResponseWriter
	server   *Server
	g        *served.Served
	decl     *hcl.SignIn
	grants   *grant.Store
	form     url.Values
	body     []byte
	now      time.Time
	remote   string // the address of the client
	network  string
	giveBack func() // the request is not counted
	leave    func() // the queue that the request is in

	authenticated bool // the client is
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 { // The server reads the rest of a body that the handler does not read.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	g, release := s.Pin()
	if g == nil {
		unavailable.write(w)
		return
	}
	defer release()
	e, known := endpoints[r.URL.Path]
	if !known || g.SignIn == nil {
		http.NotFound(w, r)
		return
	}
	if !e.isPage && share(w, r, e) {
		return
	}
	if !slices.Contains(e.methods, r.Method) {
		w.Header().Set("Allow", strings.Join(e.methods, ", "))
		http.Error(w, "Use "+strings.Join(e.methods, ", "), http.StatusMethodNotAllowed)
		return
	}
	s.newRequest(w, r, g).answer(e)
}

func (s *Server) newRequest(w http.ResponseWriter, r *http.Request, g *served.Served) *request {
	remote := s.Remote(r)
	return &request{
		Request: r, writer: w, server: s, g: g, decl: g.SignIn.Decl, now: g.Env.Now(), remote: remote,
		network: limit.Network(remote), giveBack: func() {}, leave: func() {},
	}
}

// servePage answers a request for a page at an address of the console.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, e endpoint, handle func(*request) error) {
	g, release := s.Pin()
	if g == nil {
		unavailable.write(w)
		return
	}
	defer release()
	if g.SignIn == nil {
		http.NotFound(w, r)
		return
	}
	e.isPage, e.handle = true, func(_ *Server, q *request) error { return handle(q) }
	s.newRequest(w, r, g).answer(e)
}

// answer answers a request at an endpoint.
func (q *request) answer(e endpoint) {
	if err := q.serve(e); err != nil {
		q.writeError(e, err)
	}
}

// serve answers a request, or returns why it is not answered.
func (q *request) serve(e endpoint) (err error) {
	// What is slow to arrive takes no place of those that are handled at once.
	if e.hasForm {
		err = q.readForm()
	} else if e.hasBody {
		q.body, err = q.readBody()
	}
	if err != nil {
		return errors.Join(q.count(), err)
	}
	if q.grants, err = q.server.Grants(q.Context()); err != nil {
		return err
	}
	if !e.isFree && !(e.takesToken && q.hasToken()) {
		if err := q.count(); err != nil {
			return err
		}
	}
	waiting := &q.server.others
	switch {
	case e.comesBack:
		waiting = &q.server.back
	case e.isPage:
		waiting = &q.server.people
	}
	if !q.enter(q.Context(), waiting) {
		return unavailable
	}
	defer func() { q.leave() }()
	return e.handle(q.server, q)
}

// enter leaves the queue that the request is in, and waits until it may be handled by another one.
func (q *request) enter(ctx context.Context, next *queue) bool {
	q.leave()
	leave, ok := next.enter(ctx)
	if q.leave = leave; !ok {
		q.leave = func() {}
	}
	return ok
}

// hasToken reports whether a request for tokens has a code or a refresh token of this server. Such requests are not
// counted: the clients of a company, and those of a hosted client, share an address, and nobody there can lock out the
// others.
func (q *request) hasToken() bool {
	return q.grants.Issued(q.form.Get("code")) || q.grants.Issued(q.form.Get("refresh_token"))
}

// count counts a request of a network. The error says that it has made too many.
func (q *request) count() error {
	giveBack, ok := q.server.counts.take(q.network, q.now)
	if !ok {
		q.g.Metrics.SignIn("limited")
		return tooMany
	}
	q.giveBack = giveBack
	return nil
}

// tooMany says that a network has made too many requests.
var tooMany = &oauthError{
	status: http.StatusTooManyRequests, code: "temporarily_unavailable", retry: "60",
	text: "too many requests from this address; wait a minute",
}

// readBody returns the body of a request.
func (q *request) readBody() ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(q.writer, q.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &oauthError{status: http.StatusRequestEntityTooLarge, code: "invalid_request",
			text: "the body may have at most 64 KiB"}
	case err != nil:
		return nil, invalidRequest("the body cannot be read")
	}
	// The deadline would end the request while it waits for the provider.
	http.NewResponseController(q.writer).SetReadDeadline(time.Time{})
	return body, nil
}

// writeError answers a request with an error: a page for people, and an object for programs.
func (q *request) writeError(e endpoint, err error) {
	var shown *pageError
	var known *oauthError
	switch {
	case errors.As(err, &shown):
	case errors.As(err, &known):
	default:
		known = q.explain(err)
	}
	q.logRefused(shown, known)
	if !e.isPage {
		if known.status == http.StatusUnauthorized {
			q.server.Refused(q.Request, known.status, sentence(known.text))
		}
		known.write(q.writer)
		return
	}
	if shown == nil {
		if known.retry != "" {
			q.writer.Header().Set("Retry-After", known.retry)
		}
		shown = &pageError{status: cmp.Or(known.status, http.StatusBadRequest), text: sentence(known.text)}
	}
	if shown.isAttack {
		q.server.Refused(q.Request, shown.status, shown.text)
	}
	q.writeErrorPage(shown)
}

// sentence returns a text for people that begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return strings.TrimSuffix(strings.ToUpper(string(first))+text[size:], ".") + "."
}

// share lets pages of all sites read the response of an endpoint, and answers the request by which a browser asks
// before. No endpoint that it is called for uses cookies.
func share(w http.ResponseWriter, r *http.Request, e endpoint) (answered bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(e.methods, ", "))
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, MCP-Protocol-Version")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
