package console

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/limit"
)

const (
	signInPath  = "/console/sign-in"
	signOutPath = "/console/sign-out"
	ticketPath  = "/console/ticket"
	ticketLife  = time.Minute
)

// signInData is the data of the page where people sign in.
type signInData struct {
	Next        string
	Provider    string // host of the provider at which people sign in; empty for none
	Keys        bool   // keys or tokens are declared, besides those of sign-ins
	Alone       bool   // there is no authentication
	Command     string // that signs in with a browser, too
	Certificate string // the subject of the client certificate; empty for none
	Wrong       string // why the last try was refused
}

func (c *Console) signInPage(q *request) (*answer, error) {
	return c.signInAnswer(q, q.URL.Query().Get("next"), nil), nil
}

func (c *Console) signInAnswer(q *request, next string, refused *auth.Refusal) *answer {
	data := signInData{Next: safeNext(next), Alone: c.Host.Authenticator() == nil, Command: signInCommand(q)}
	if decl := c.signInBlock(); decl != nil {
		data.Provider = hostOf(decl.Provider)
	}
	a := c.Host.Current().Config.Auth
	data.Keys = !data.Alone && (data.Provider == "" || len(a.Keys)+len(a.Issuers)+len(a.Introspections) > 0)
	if !data.Alone {
		if i, refusal := c.Host.Authenticator().Authenticate(withCredential(q.Request, "")); refusal == nil {
			data.Certificate = i.Subject
		}
	}
	out := &answer{template: "sign-in", title: "Sign in", data: &data}
	if refused != nil {
		data.Wrong, out.status = refused.Reason, refused.Status
	}
	return out
}

// signInCommand returns the command that opens the console at the address that the browser has used.
func signInCommand(q *request) string {
	scheme := "https"
	if isPlainLoopback(q.Request) {
		scheme = "http"
	}
	return shellCommand("hatchel console", [][2]string{{"server", scheme + "://" + q.Host}})
}

// safeNext returns a path below /console/ that a page may lead to: the one that was asked for, or the first.
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(next, "\\\r\n\t") ||
		!strings.HasPrefix(u.Path, home) || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") ||
		isBelow(u.Path, signInPath) || isBelow(u.Path, ticketPath) {
		return home
	}
	return next
}

// isBelow reports whether a path is another one or below it.
func isBelow(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }

// withCredential returns a request with a key or token as its only credential; an empty one leaves the certificate of
// the connection.
func withCredential(r *http.Request, credential string) *http.Request {
	out := r.Clone(r.Context())
	out.Header = http.Header{}
	if credential != "" {
		out.Header.Set("Authorization", "Bearer "+credential)
	}
	return out
}

// signIn begins a session with the credential in a form, or with the certificate of the connection.
func (c *Console) signIn(q *request) (*answer, error) {
	if err := q.readFields(); err != nil {
		return nil, err
	}
	next, credential := q.PostForm.Get("next"), strings.TrimSpace(q.PostForm.Get("key"))
	authenticator := c.Host.Authenticator()
	switch {
	case authenticator == nil:
		return nil, &Error{http.StatusForbidden, "This server has no credentials. Run hatchel console on its machine"}
	case isPlainPage(q.Header.Get("Origin")):
		return nil, &Error{http.StatusForbidden, "Keys are accepted over https only. Open this page with https"}
	case q.PostForm.Get("with") == "certificate":
		credential = ""
	case credential == "":
		return c.signInAnswer(q, next, &auth.Refusal{Status: http.StatusUnauthorized, Reason: "Enter a key"}), nil
	}
	giveBack, ok := c.attempts.take(q.remote, q.now)
	if !ok {
		q.writer.Header().Set("Retry-After", "60")
		return nil, tooManyAttempts
	}
	identity, refused := authenticator.Authenticate(withCredential(q.Request, credential))
	if refused != nil {
		c.Refused(q.Request, refused.Status, refused.Reason)
		return c.signInAnswer(q, next, refused), nil
	}
	giveBack()
	return c.beginSession(q, identity, next)
}

// isPlainPage reports whether an origin is that of a page that others can read and change on its way.
func isPlainPage(origin string) bool {
	host, isPlain := strings.CutPrefix(origin, "http://")
	return isPlain && !mcp.IsLocalHost(host)
}

var tooManyAttempts = &Error{http.StatusTooManyRequests, "Too many wrong keys from this address. Wait a minute"}

// beginSession begins a session and leads to the page that was asked for.
func (c *Console) beginSession(q *request, i *mcp.Identity, next string) (*answer, error) {
	s := newSession(i, q.block.Session, q.now)
	if err := c.setCookie(q, s); err != nil {
		return nil, err
	}
	c.Log.InfoContext(q.Context(), "console session started", slog.String("subject", s.displayName()),
		slog.String("remote", q.remote))
	return &answer{location: safeNext(next)}, nil
}

// signOut ends the session, also for a copy of its cookie.
func (c *Console) signOut(q *request) (*answer, error) {
	if err := c.Host.Operator().State.EndConsoleSession(q.Context(), q.session.ID, q.session.Ends); err != nil {
		c.Log.WarnContext(q.Context(), "end of a console session not stored", slog.String("error", err.Error()))
	}
	c.endSignIn(q, q.session)
	c.endStreams(q.session.ID)
	http.SetCookie(q.writer, newCookie(q.Request, "", signedOutLife))
	return &answer{location: signInPath}, nil
}

// Ticket is the response to POST /console/ticket.
type Ticket struct {
	Path  string `json:"path,omitempty"`  // signs in once, within a minute
	Error string `json:"error,omitempty"` // why there is none
}

// serveTicket gives the holder of a key, or without authentication a program of this machine, an address that signs a
// browser in.
func (c *Console) serveTicket(w http.ResponseWriter, r *http.Request) {
	ticket, err := c.newTicket(r)
	status := http.StatusOK
	if err != nil {
		status, ticket = err.Status, &Ticket{Error: err.Text}
		if status < http.StatusInternalServerError {
			c.Refused(r, status, err.Text)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(ticket)
}

func (c *Console) newTicket(r *http.Request) (*Ticket, *Error) {
	authenticator, now, block := c.Host.Authenticator(), time.Now(), c.Host.Current().Console
	remote := c.Remote(r)
	var identity *mcp.Identity
	switch {
	case block == nil:
		return nil, &Error{http.StatusNotFound, "This server has no console"}
	case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
		return nil, &Error{http.StatusForbidden, "Tickets are for programs, and a browser has sent this request"}
	case authenticator != nil:
		giveBack, ok := c.attempts.take(remote, now)
		if !ok {
			return nil, tooManyAttempts
		}
		i, refused := authenticator.Authenticate(r)
		if refused != nil {
			return nil, &Error{refused.Status, refused.Reason}
		}
		giveBack()
		identity = i
	}
	body, err := json.Marshal(newSession(identity, ticketLife, now))
	var text string
	if err == nil {
		text, err = c.Host.Operator().State.SealTicket(r.Context(), body, now.Add(ticketLife))
	}
	if err != nil {
		c.Log.ErrorContext(r.Context(), "console ticket failed", slog.String("error", err.Error()))
		return nil, &Error{http.StatusServiceUnavailable, "The state store is unavailable. Try again in a moment"}
	}
	return &Ticket{Path: ticketPath + "?" + url.Values{"ticket": {text}}.Encode()}, nil
}

// redeemTicket begins a session with a ticket.
func (c *Console) redeemTicket(q *request) (*answer, error) {
	if site := q.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		return nil, c.refuse(q, "A link of another site could sign you in as somebody else. Copy the address of "+
			"hatchel console into the address bar")
	}
	giveBack, ok := c.attempts.take(q.remote, q.now)
	if !ok {
		return nil, tooManyAttempts
	}
	body, err := c.Host.Operator().State.OpenTicket(q.Context(), q.URL.Query().Get("ticket"))
	asked := new(session)
	var protocol *mcp.Error
	switch {
	case errors.As(err, &protocol):
		return nil, c.refuse(q, "This address has been used, or is older than a minute. Run hatchel console again")
	case err == nil:
		err = json.Unmarshal(body, asked)
	}
	if err != nil {
		return nil, err
	}
	giveBack()
	identity := asked.identity()
	if !c.Host.Authenticator().StillValid(identity) {
		return nil, &Error{http.StatusForbidden, "The server's credentials have changed. Run hatchel console again"}
	}
	return c.beginSession(q, identity, home)
}

const (
	maxAttempts    = 5  // wrong keys of an address in a minute
	sharedAttempts = 50 // further wrong keys of all addresses together in a minute
	attemptPeriod  = time.Minute
	maxAttempters  = 10_000 // addresses that are remembered; those of others are shared attempts
	attemptsOfAll  = ""     // the name of the shared attempts, and of what is no address
)

// attempts counts the wrong credentials of each network of a client, anew after each period. A network that has none
// left takes from those that all share, so that a few wrong keys do not lock out the others of a network. From ten
// networks on, they try fewer keys than if each had ten.
type attempts struct {
	mu    sync.Mutex
	since time.Time      // guarded by mu
	wrong map[string]int // guarded by mu
}

// take counts an attempt with a credential. It reports whether the address may make it, and returns what undoes it
// for a credential that was right.
func (a *attempts) take(remote string, now time.Time) (giveBack func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.since) > attemptPeriod {
		a.since, a.wrong = now, map[string]int{}
	}
	name := limit.Network(remote)
	if n, known := a.wrong[name]; n >= maxAttempts || !known && len(a.wrong) >= maxAttempters {
		name = attemptsOfAll
	}
	if name == attemptsOfAll && a.wrong[name] >= sharedAttempts {
		return nil, false
	}
	a.wrong[name]++
	return func() { a.giveBack(name) }, true
}

func (a *attempts) giveBack(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong[name] = max(0, a.wrong[name]-1) // it is 0 if a period has begun since
}
