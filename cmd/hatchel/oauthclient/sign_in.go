package oauthclient

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/internal/printable"
)

// callbackPath is where the browser comes back to. Servers of this program admit this address for every port.
const callbackPath = "/callback"

// signIn has the person sign in, and returns the access token. The caller holds the lock. Scopes are those that the
// person has given before.
func (c *Client) signIn(ctx context.Context, ask challenge, scopes []string) (string, error) {
	target, err := c.findResource(ctx, ask)
	if err != nil {
		return "", err
	}
	at, err := c.findIssuer(ctx, target)
	if err != nil {
		return "", err
	}
	if !c.options.Interactive {
		return "", failf("%s requires a sign-in by the browser, and there is nobody to sign in: set HATCHEL_KEY to an "+
			"API key or token", c.options.Endpoint)
	}
	back, err := listen()
	if err != nil {
		return "", err
	}
	defer back.Close()
	registered, err := c.findClient(ctx, at, back.address)
	if err != nil {
		return "", err
	}
	r := &record{
		Endpoint: c.store.endpoint, Resource: target.Resource, Issuer: at.Issuer, TokenEndpoint: at.TokenEndpoint,
		RevocationEndpoint: at.RevocationEndpoint, Client: registered,
	}
	r.Scopes = union(scopes, ask.scopes)
	if len(ask.scopes) == 0 {
		r.Scopes = union(scopes, target.Scopes)
	}
	const offline = "offline_access"
	if slices.Contains(at.Scopes, offline) {
		r.Scopes = union(r.Scopes, []string{offline})
	}
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	digest := sha256.Sum256([]byte(verifier))
	page, err := url.Parse(at.AuthorizationEndpoint)
	if err != nil {
		return "", failf("%s is no address", at.AuthorizationEndpoint)
	}
	query := page.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": registered.ClientID, "redirect_uri": back.address, "state": state,
		"code_challenge": base64.RawURLEncoding.EncodeToString(digest[:]), "code_challenge_method": "S256",
		"resource": r.Resource, "scope": strings.Join(r.Scopes, " "),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if slices.Contains(r.Scopes, offline) {
		query.Set("prompt", "consent") // without which OpenID providers ignore the scope
	}
	page.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeoutCause(ctx, signInTimeout,
		failf("nobody has signed in to %s for %d minutes", c.options.Endpoint, int(signInTimeout.Minutes())))
	defer cancel()
	back.Serve(state)
	c.show(ctx, at, page.String())
	if c.options.Pasted != nil {
		go back.ReadPasted(ctx, c.pastedLines(), state, c.options.Notes)
	}
	answered, err := back.Wait(ctx)
	if err != nil {
		return "", err
	}
	err = c.finish(ctx, at, r, answered.query, verifier, back.address)
	answered.done <- err
	if err != nil {
		return "", err
	}
	return r.Access, nil
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// show prints the address, since the browser may be on another machine, and opens it.
func (c *Client) show(ctx context.Context, at *issuer, address string) {
	const text = "hatchel: %s requires a sign-in at %s. Open this address, if no browser does:\n\n  %s\n\n"
	fmt.Fprintf(c.options.Notes, text, printable.Line(c.options.Endpoint), printable.Line(at.Issuer),
		printable.Line(address))
	if c.options.Pasted != nil {
		fmt.Fprintln(c.options.Notes, "If that browser is on another machine, its last page cannot be shown: paste "+
			"the address of that page here.")
	}
	go c.options.Open(ctx, address) // which may take as long as the sign-in
}

// pastedLines returns the lines of the terminal, which are read from the first sign-in on.
func (c *Client) pastedLines() <-chan string {
	c.reading.Do(func() {
		c.pasted = make(chan string)
		go func() {
			lines := bufio.NewScanner(c.options.Pasted)
			for lines.Scan() {
				c.pasted <- lines.Text()
			}
		}()
	})
	return c.pasted
}

// finish exchanges the code of an authorization response for tokens, and keeps them.
func (c *Client) finish(
	ctx context.Context, at *issuer, r *record, answer url.Values, verifier, redirect string,
) error {
	sender := answer.Get("iss")
	switch {
	case sender != "" && sender != at.Issuer, sender == "" && at.SendsIssuer:
		return failf("the answer to the sign-in is from %q, and not from %s: nothing was sent", sender, at.Issuer)
	case answer.Get("error") != "":
		reason := refusalText(0, answer.Get("error"), answer.Get("error_description"))
		return failf("the sign-in was refused: %s", reason)
	case answer.Get("code") == "":
		return failf("the sign-in was refused: %s has answered without a code", at.Issuer)
	}
	tokens, err := c.askForToken(ctx, r, url.Values{
		"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {redirect},
		"code_verifier": {verifier},
	})
	if err != nil {
		return err
	}
	r.keep(tokens)
	where, err := c.store.Write(ctx, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.options.Notes, "hatchel: signed in. The token is kept in %s; hatchel sign-out --server %s ends it.\n",
		where, printable.Line(c.options.Endpoint))
	return nil
}

// callback receives the authorization response on a port of this machine (RFC 8252, section 7.3).
type callback struct {
	address  string
	listener net.Listener
	server   *http.Server
	answers  chan answer
}

// answer is an authorization response. What has become of it is sent to done.
type answer struct {
	query url.Values
	done  chan error
}

func listen() (*callback, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, failf("the browser cannot come back to this program: %s", err)
	}
	return &callback{
		address: "http://" + l.Addr().String() + callbackPath, listener: l, answers: make(chan answer),
		server: &http.Server{ReadHeaderTimeout: requestTimeout, MaxHeaderBytes: 32 << 10},
	}, nil
}

// Serve answers the browser until Close. A request with another state is not about this sign-in, and changes nothing.
func (b *callback) Serve(state string) {
	b.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != callbackPath || r.Method != http.MethodGet || "http://"+r.Host+callbackPath != b.address {
			writePage(w, http.StatusNotFound, "There is no such page", "This program waits for a sign-in.")
			return
		}
		err, ok := b.pass(r.Context(), r.URL.Query(), state)
		switch {
		case !ok:
			writePage(w, http.StatusBadRequest, "This is another sign-in",
				"This address does not belong to the sign-in that the program waits for. Begin again there.")
		case err != nil:
			writePage(w, http.StatusOK, "You are not signed in", err.Error())
		default:
			writePage(w, http.StatusOK, "You are signed in", "You can close this page, and go back to the terminal.")
		}
	})
	go func() { _ = b.server.Serve(b.listener) }() // until it is closed
}

// pass passes an answer on, and waits for what becomes of it. It reports false for one of another sign-in.
func (b *callback) pass(ctx context.Context, query url.Values, state string) (err error, ok bool) {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) == 0 {
		return nil, false
	}
	a := answer{query: query, done: make(chan error, 1)}
	select {
	case b.answers <- a:
	case <-ctx.Done():
		return ctx.Err(), true
	}
	select {
	case err = <-a.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return err, true
}

// ReadPasted takes a pasted address of the last page for an answer.
func (b *callback) ReadPasted(ctx context.Context, lines <-chan string, state string, notes io.Writer) {
	for {
		select {
		case line := <-lines:
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			u, err := url.Parse(line)
			ok := err == nil
			if ok {
				_, ok = b.pass(ctx, u.Query(), state) // the waiting sign-in tells the user
			}
			if !ok {
				fmt.Fprintln(notes, "This is not the address of the last page of this sign-in, which begins with "+
					b.address+"?")
			}
		case <-ctx.Done():
			return
		}
	}
}

// Wait returns the answer to the sign-in.
func (b *callback) Wait(ctx context.Context) (answer, error) {
	select {
	case a := <-b.answers:
		return a, nil
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// Close ends the server, after the page that it may be writing.
func (b *callback) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	b.listener.Close() // also when nothing was served
	_ = b.server.Shutdown(ctx)
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Hatchel: {{.Title}}</title>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
`))

func writePage(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	// The browser may have gone.
	_ = pageTemplate.Execute(w, struct{ Title, Text string }{title, cmp.Or(text, title)})
}
