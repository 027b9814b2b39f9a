package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	hosts "hatchel/internal/hostname"
	"hatchel/internal/neterror"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/console"
	"hatchel/runtime/stage/approval"
)

const (
	clientTimeout     = 30 * time.Second // of one request
	maxClientResponse = 1 << 30          // bytes
)

// Client uses the HTTP API of a server: it lists and decides approvals, lists and ends sign-ins, and reads what is
// served. Its methods fail with approval.ErrNotFound, grant.ErrNotFound, an approval.DecidedError, or a sentence that
// names the server.
type Client struct {
	http      *http.Client
	base      string
	key       string
	userAgent string
	withToken WithToken
}

// WithToken makes a request with a token, or with none, and makes it again with another one while the server asks for
// that. It returns the last response.
type WithToken func(
	ctx context.Context, send func(token string) (*http.Response, error),
) (*http.Response, error)

// NewClient returns a client for the server at a base URL. Every request carries the key as a
// bearer token, unless it is empty; redirects are not followed.
func NewClient(base, key, userAgent string) *Client {
	return &Client{
		withToken: func(_ context.Context, send func(string) (*http.Response, error)) (*http.Response, error) {
			return send(key)
		},
		http: &http.Client{
			Timeout:       clientTimeout,
			Transport:     sendonce.New(proxy.NewTransport()),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: base, key: key, userAgent: userAgent,
	}
}

// UseTokens has every request carry a token in place of the key. It is called before the first one.
func (c *Client) UseTokens(w WithToken) { c.withToken = w }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ListApprovals returns a page of approvals as JSON, and the cursor of the next page.
func (c *Client) ListApprovals(
	ctx context.Context, q approval.ListQuery,
) (approvals []json.RawMessage, next string, err error) {
	status := string(q.Status)
	if status == "" {
		status = "all"
	}
	query := url.Values{"status": {status}, "limit": {strconv.Itoa(q.Limit)}, "after": {q.After}}
	body, err := c.do(ctx, http.MethodGet, "/approvals?"+query.Encode(), nil)
	if err != nil {
		return nil, "", err
	}
	var page struct {
		Approvals []json.RawMessage `json:"approvals"`
		Next      string            `json:"next"`
	}
	if json.Unmarshal(body, &page) != nil {
		return nil, "", c.notAServer()
	}
	return page.Approvals, page.Next, nil
}

// FindApproval returns an approval as JSON.
func (c *Client) FindApproval(ctx context.Context, id string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, "/approvals/"+url.PathEscape(id), nil)
}

// DecideApproval approves or rejects, and returns the approval as JSON. Digest is that of what the approver has seen;
// empty for whatever is there.
func (c *Client) DecideApproval(
	ctx context.Context, id string, approved bool, reason, digest string,
) ([]byte, error) {
	verb := "reject"
	if approved {
		verb = "approve"
	}
	said := map[string]string{"reason": reason}
	if digest != "" {
		said["digest"] = digest
	}
	decision, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/"+verb, decision)
}

// LookAgain has the state before a call read again, and returns its approval as JSON.
func (c *Client) LookAgain(ctx context.Context, id string) ([]byte, error) {
	return c.do(ctx, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/look", []byte("{}"))
}

// ListSignIns returns a page of the sign-ins that the holder of the key may see, and the cursor of the next page.
func (c *Client) ListSignIns(ctx context.Context, q grant.Query) ([]*grant.SignIn, string, error) {
	query := url.Values{
		"subject": {q.Subject}, "client": {q.Client}, "limit": {strconv.Itoa(q.Limit)}, "after": {q.After},
	}
	var page signInPage
	err := c.signIns(ctx, http.MethodGet, "/sign-ins?"+query.Encode(), nil, &page)
	return page.SignIns, page.Next, err
}

// EndSignIn ends a sign-in and returns what it was. The error of one that is not there is grant.ErrNotFound.
func (c *Client) EndSignIn(ctx context.Context, id string) (*grant.SignIn, error) {
	ended := new(grant.SignIn)
	err := c.signIns(ctx, http.MethodPost, "/sign-ins/"+url.PathEscape(id)+"/revoke", []byte("{}"), ended)
	return ended, err
}

// signIns makes a request about sign-ins and decodes its response.
func (c *Client) signIns(ctx context.Context, method, path string, body []byte, into any) error {
	text, err := c.do(ctx, method, path, body)
	switch {
	case errors.Is(err, approval.ErrNotFound):
		return grant.ErrNotFound
	case err == nil && json.Unmarshal(text, into) != nil:
		return c.notAServer()
	}
	return err
}

// Lock returns the lock of what the server serves.
func (c *Client) Lock(ctx context.Context) ([]byte, error) {
	return c.do(ctx, http.MethodGet, "/admin/lock", nil)
}

// ConsoleAddress returns an address that signs a browser in to the console once, within a minute.
func (c *Client) ConsoleAddress(ctx context.Context) (string, error) {
	body, err := c.do(ctx, http.MethodPost, "/console/ticket", []byte("{}"))
	if errors.Is(err, approval.ErrNotFound) {
		return "", fmt.Errorf("%s has no console: declare console {}, or start it with hatchel serve --console; if "+
			"its block has listen, name that address with --server", c.base)
	}
	if err != nil {
		return "", err
	}
	var ticket console.Ticket
	if json.Unmarshal(body, &ticket) != nil || !strings.HasPrefix(ticket.Path, "/console/") {
		return "", c.notAServer()
	}
	return c.base + ticket.Path, nil
}

func (c *Client) notAServer() error {
	return fmt.Errorf("%s does not answer as a Hatchel server: check the address", c.base)
}

// Readiness is what a client reads of the readiness of a server. All members but Ready are empty where the server does
// not show them to the caller.
type Readiness struct {
	Ready     bool          `json:"-"`
	Stopping  bool          `json:"stopping"`
	Revision  string        `json:"revision"`
	Stale     bool          `json:"stale"`
	Tools     int           `json:"tools"`
	Prompts   int           `json:"prompts"`
	Resources int           `json:"resources"`
	Skills    int           `json:"skills"`
	Audit     *store.Health `json:"audit"`
}

// Readiness asks whether the server is ready.
func (c *Client) Readiness(ctx context.Context) (r Readiness, err error) {
	status, text, err := c.send(ctx, http.MethodGet, "/readyz", nil)
	switch {
	case err != nil:
		return r, err
	case status != http.StatusOK && status != http.StatusServiceUnavailable:
		return r, c.responseError(status, text)
	case len(text) > 0 && json.Unmarshal(text, &r) != nil:
		return r, c.notAServer()
	}
	r.Ready = status == http.StatusOK
	return r, nil
}

// do makes a request and returns the body of a successful response, which is JSON.
func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	status, text, err := c.send(ctx, method, path, body)
	switch {
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, c.responseError(status, text)
	case !json.Valid(text):
		return nil, c.notAServer()
	}
	return text, nil
}

// exchange makes a request as who uses the client, for a response of a media type.
func (c *Client) exchange(
	ctx context.Context, do func(*http.Request) (*http.Response, error), method, path string, body []byte, media string,
) (*http.Response, error) {
	return c.withToken(ctx, func(token string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		if body != nil {
			request.Header.Set("Content-Type", "application/json")
		}
		request.Header.Set("User-Agent", c.userAgent)
		request.Header.Set("Accept", media)
		response, err := do(request)
		if err != nil {
			return nil, c.connectionError(err, method, path)
		}
		return response, nil
	})
}

// send makes a request and returns the response, which is no redirect.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (status int, text []byte, err error) {
	response, err := c.exchange(ctx, c.http.Do, method, path, body, "application/json")
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxClientResponse))
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return 0, nil, fmt.Errorf("%s redirects, and the key is not sent elsewhere: use the final address", c.base)
	case err != nil:
		return 0, nil, c.connectionError(err, method, path)
	}
	return response.StatusCode, text, nil
}

// Explain returns a sentence for a response that refuses a request.
func (c *Client) Explain(status int, text []byte) error {
	if err := c.responseError(status, text); !errors.Is(err, approval.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%s answers with status %d", c.base, status)
}

// responseError converts the error response of a server.
func (c *Client) responseError(status int, text []byte) error {
	var failed Error
	if json.Unmarshal(text, &failed) != nil || failed.Message == "" {
		failed = Error{Message: plainReason(text)}
		if failed.Message == "" && status != http.StatusUnauthorized {
			return fmt.Errorf("%s answers with status %d and without a reason: check the address", c.base, status)
		}
		if status == http.StatusNotFound {
			return fmt.Errorf("%s answers with status 404: %s: check the address", c.base, failed.Message)
		}
	}
	message := strings.TrimSuffix(failed.Message, ".")
	switch status {
	case http.StatusUnauthorized:
		if c.key == "" {
			const text = "%s requires a key: set HATCHEL_KEY to your API key or token%s"
			hint := ""
			if u, problem := hosts.ParseURL(c.base, 0); problem == "" && hosts.IsReadable(u) {
				hint = ". People sign in by a browser at addresses with https alone"
			}
			return fmt.Errorf(text, c.base, hint)
		}
		return fmt.Errorf("%s does not accept the key: %s", c.base, cmp.Or(message, "it gives no reason"))
	case http.StatusForbidden:
		return fmt.Errorf("%s denies access: %s", c.base, message)
	case http.StatusConflict:
		if failed.Status == "" {
			return errors.New(message)
		}
		return &approval.DecidedError{Status: failed.Status, Decision: failed.Decision}
	case http.StatusNotFound:
		return approval.ErrNotFound
	}
	return fmt.Errorf("%s: %s", c.base, message)
}

// plainReason returns the reason of a response that is one line of text, as the administrative endpoints and proxies
// write it; empty for anything else, such as a page.
func plainReason(text []byte) string {
	line := strings.TrimSpace(string(text))
	if len(line) > 1000 || !utf8.ValidString(line) || strings.ContainsAny(line, "\n<>{") {
		return ""
	}
	return line
}

// connectionError explains why a server did not answer.
func (c *Client) connectionError(err error, method, path string) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL
	}
	connected := !errors.As(err, new(*net.OpError)) && !errors.As(err, new(*tls.CertificateVerificationError))
	if method == http.MethodPost && connected && strings.HasPrefix(path, "/approvals/") {
		return fmt.Errorf("%s: %w; it is unknown whether the decision was made: see hatchel approvals show", c.base,
			err)
	}
	return connectionProblem{c.base + ": " + ConnectionText(err), err}
}

// connectionProblem is a sentence about an error.
type connectionProblem struct {
	text string
	err  error
}

func (p connectionProblem) Error() string { return p.text }
func (p connectionProblem) Unwrap() error { return p.err }

// ConnectionText returns why a server did not answer, in words.
func ConnectionText(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	switch neterror.Of(err) {
	case neterror.Refused:
		return "connection refused: is the server running, and is this its address?"
	case neterror.NoSuchHost, neterror.Unresolved:
		host, _ := errors.AsType[*net.DNSError](err)
		return "the host " + host.Name + " cannot be found"
	case neterror.Untrusted:
		return "the certificate of the server is signed by an authority that this machine does not trust. " +
			"SSL_CERT_FILE names a file with its certificate"
	case neterror.OtherName:
		name, _ := errors.AsType[x509.HostnameError](err)
		return "the certificate of the server is for another name: " + name.Error()
	case neterror.Expired, neterror.BadCert:
		return "the certificate of the server is not valid: " + err.Error()
	case neterror.NoTLS:
		return "the server speaks http, not https: write http://"
	}
	return err.Error()
}
