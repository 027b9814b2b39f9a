// Package console serves the pages for people who operate a server, below /console/.
//
// The server writes every page with html/template. A page works without scripts; the modules in assets only make it
// quicker. To add a page:
//
//  1. Write NAME.go with its handler, a method of [Console] that takes a [request] and returns an [answer]. An error of
//     type [Error] is shown; any other is logged, and the person reads that the server has the reason.
//  2. Write templates/NAME.html, which defines "content". Its dot is the [frame] of the page, and .Data is the data of
//     the answer. The template needs no escapes: html/template escapes for HTML, and [EscapeText] for the characters
//     that reorder or hide text, in all that is written.
//  3. Add its lines to the tables routes and, for an entry of the navigation, menu, both in page.go. Each has the
//     permission that says who may open it.
//  4. What the page shows comes from the server by a method of [runtime.Host].
//
// A form posts to its own path and has the field {{.Token PATH}}: ServeHTTP refuses a post without the token of the
// session for its path, and every post that another site sends.
package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/stage/approval"
)

// Options are what a Console is made of. All but Reload and SignIns are required.
type Options struct {
	Host    *runtime.Host
	Server  *mcp.Server // whose sessions are shown
	Log     *slog.Logger
	Reload  func(context.Context) error                      // loads the configuration again; nil if it cannot
	Remote  func(*http.Request) string                       // the address of the client
	IsLocal func(*http.Request) bool                         // this machine made the request, and no proxy
	Refused func(r *http.Request, status int, reason string) // records a request that is not authorized
	SignIns SignIns                                          // is used while there is a sign_in block

	// Endpoint says how clients reach a tool, for a person who has sent a request; nil for a tool that none reaches.
	Endpoint func(*http.Request, *hcl.Tool) *Endpoint
}

// Console is an http.Handler for /console and what is below. It is safe for concurrent use.
type Console struct {
	Options
	routes    *http.ServeMux
	foreign   *http.CrossOriginProtection
	attempts  attempts
	downloads downloads
	matrices  matrices
	streams   sync.Map // what ends each stream of calls that is open, by its *request

	mu     sync.Mutex
	sealer *mcp.Sealer // nil until the first session, then it does not change; guarded by mu
}

// New returns a Console. It serves nothing while the Host has no block for it.
func New(o Options) *Console {
	c := &Console{Options: o, routes: http.NewServeMux(), foreign: http.NewCrossOriginProtection()}
	for _, rt := range routes {
		c.routes.Handle(rt.pattern, c.handler(rt))
	}
	c.routes.HandleFunc("GET "+assetPath+"{digest}/{name}", serveAsset)
	c.routes.HandleFunc("POST "+ticketPath, c.serveTicket)
	return c
}

const securityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.Host.Current().Console == nil && r.URL.Path != ticketPath { // whose response says why
		http.NotFound(w, r)
		return
	}
	setHeaders(w.Header())
	reason := c.Server.CheckHost(r)
	if reason == "" && c.foreign.Check(r) != nil {
		reason = foreignReason(r)
	}
	if reason == "" && c.Host.Authenticator() == nil && !c.IsLocal(r) {
		reason = "Without authentication the console is for the machine of the server only"
	}
	if reason != "" {
		c.Refused(r, http.StatusForbidden, reason)
		http.Error(w, reason, http.StatusForbidden)
		return
	}
	if r.URL.Path == "/console" {
		http.Redirect(w, r, home, http.StatusSeeOther)
		return
	}
	c.routes.ServeHTTP(w, r)
}

// setHeaders sets the headers of every response.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", securityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// foreignReason says why a request that another site has sent is refused. Without Sec-Fetch-Site, which browsers send
// over https only, it may also be one of a proxy that has replaced the Host header.
func foreignReason(r *http.Request) string {
	const reason = "A page of another site has sent this request"
	origin, err := url.Parse(r.Header.Get("Origin"))
	if r.Header.Get("Sec-Fetch-Site") != "" || err != nil || origin.Host == "" {
		return reason
	}
	return fmt.Sprintf("%s: its page is one of %.100q, and the Host header names %.100q. A proxy in front of the "+
		"server must pass the Host header on, or be used with https", reason, origin.Host, r.Host)
}

// request is a request for a page.
type request struct {
	*http.Request
	writer http.ResponseWriter
	block  *hcl.Console
	now    time.Time
	remote string // the address of the client

	// These are zero for a page without a session.
	session  *session
	caller   *mcp.Caller // who is signed in, as a caller of tools
	isViewer bool        // they may see the console

	release func() // releases the configuration that the page is made of
}

// clientName is the client of the calls that people make in the console.
const clientName = "hatchel console"

// newCaller returns a person at an address as a caller of tools.
func newCaller(i *mcp.Identity, remote string) *mcp.Caller {
	c := &mcp.Caller{
		Revision: mcp.Revision20260728, Header: http.Header{}, Remote: remote,
		ClientInfo: []byte(`{"name":"` + clientName + `"}`),
	}
	c.SetIdentity(i)
	return c
}

// addressWith returns the address of the page with another value of a parameter.
func (q *request) addressWith(name, value string) string {
	values := q.URL.Query()
	values.Set(name, value)
	return q.URL.Path + "?" + values.Encode()
}

// admit returns the configuration that is served, until the page is written.
func (c *Console) admit(q *request) (*served.Served, error) {
	g, release, err := c.Host.Admit(q.Context(), q.caller)
	if err == nil {
		q.release = release
	}
	return g, err
}

// answer is a page to write, or an address to redirect to.
type answer struct {
	template string // its name, without the extension
	title    string
	data     any
	status   int    // 0 for 200
	live     string // kinds of events after which the page may have changed; empty for one that is not kept up to date
	page     string // its address, if a form has posted to another one
	location string // instead of all else
}

// Error is an error that is shown to the person who is signed in.
type Error struct {
	Status int
	Text   string // a sentence without a full stop
}

func (e *Error) Error() string { return e.Text }

func notFound(text string) error { return &Error{http.StatusNotFound, text} }

// missingPage says that an address is none of a page.
func (c *Console) missingPage(*request) (*answer, error) {
	return nil, notFound("There is no page at this address")
}

// refuse records that a request is not authorized, with who is signed in, and returns why.
func (c *Console) refuse(q *request, reason string) error {
	r := q.Request
	if q.session != nil {
		r = r.WithContext(mcp.WithIdentity(r.Context(), q.session.identity()))
	}
	c.Refused(r, http.StatusForbidden, reason)
	return &Error{http.StatusForbidden, reason}
}

// handler returns what serves a route.
func (c *Console) handler(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := &request{
			Request: r, writer: w, block: c.Host.Current().Console, now: time.Now(), remote: c.Remote(r),
			release: func() {},
		}
		if q.block == nil {
			http.NotFound(w, r)
			return
		}
		defer func() { q.release() }()
		out, err := c.answer(q, rt)
		var shown *Error
		if err != nil && !errors.As(err, &shown) {
			shown = c.explain(q, err)
		}
		if shown != nil {
			out = &answer{template: "error", title: http.StatusText(shown.Status), data: shown, status: shown.Status}
		}
		switch {
		case out == nil: // the handler has written the response
		case out.location != "":
			http.Redirect(w, r, out.location, http.StatusSeeOther)
		default:
			c.write(q, out)
		}
	})
}

// explain returns the text that the page shows for an error.
func (c *Console) explain(q *request, err error) *Error {
	var refused *operator.ForbiddenError
	var protocol *mcp.Error
	switch {
	case errors.As(err, &refused):
		return &Error{http.StatusForbidden, refused.Why}
	case errors.As(err, &protocol):
		return &Error{http.StatusServiceUnavailable, strings.TrimSuffix(protocol.Message, ".")}
	}
	c.Log.ErrorContext(q.Context(), "console page failed", slog.String("path", q.URL.Path),
		slog.String("error", err.Error()))
	return &Error{http.StatusInternalServerError,
		"The page failed because of a problem on the server. The server's log has the reason"}
}

// answer checks who asks, and what they post, before a page is made.
func (c *Console) answer(q *request, rt route) (*answer, error) {
	if rt.may == nil {
		return rt.handle(c, q)
	}
	s, err := c.openSession(q)
	if err != nil {
		return nil, err
	}
	if s != nil {
		c.setSession(q, s)
	}
	post := q.Method == http.MethodPost
	switch {
	case q.session == nil && post:
		return nil, &Error{http.StatusUnauthorized, "The session has ended. Sign in, and send the form again"}
	case q.session == nil && q.Header.Get("Sec-Fetch-Site") == "cross-site":
		// The browser keeps the cookie back for a link on another site, but not for this page's own refresh.
		return &answer{template: "continue", title: "Opening", data: q.URL.RequestURI()}, nil
	case q.session == nil:
		return &answer{location: signInPath + "?" + url.Values{"next": {q.URL.RequestURI()}}.Encode()}, nil
	}
	if refusal := rt.may(c, q); refusal != "" {
		if entries := c.visibleMenu(q); q.URL.Path == home && len(entries) > 0 {
			return &answer{location: entries[0].Path}, nil
		}
		return nil, c.refuse(q, refusal)
	}
	if post {
		if err := c.readForm(q); err != nil {
			return nil, err
		}
	}
	out, err := rt.handle(c, q)
	if out != nil {
		out.live = rt.live
	}
	return out, err
}

// write writes a page.
func (c *Console) write(q *request, out *answer) {
	w := q.writer
	page := bytes.NewBuffer(make([]byte, 0, 64<<10))
	if err := pages()[out.template].Execute(page, c.newFrame(q, out)); err != nil {
		c.Log.ErrorContext(q.Context(), "console page failed", slog.String("path", q.URL.Path),
			slog.String("error", err.Error()))
		http.Error(w, "The page failed because of a problem on the server.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if out.status != 0 {
		w.WriteHeader(out.status)
	}
	io.WriteString(w, approval.EscapeText(page.String()))
}
