package server

import (
	"bytes"
	"context"
	"crypto/tls"
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

	"hatchel/runtime/approval"
)

const (
	clientTimeout     = 30 * time.Second // of one request
	maxClientResponse = 1 << 30          // bytes
)

// Client uses the HTTP API of a server: it lists and decides approvals, and reads what is served. Its methods fail with
// approval.ErrUnknown, an approval.AlreadyError, or a sentence that names the server.
type Client struct {
	http      *http.Client
	base      string
	key       string
	userAgent string
}

// NewClient returns a client for the server at a base URL. Every request carries the key as a
// bearer token, unless it is empty; redirects are not followed.
func NewClient(base, key, userAgent string) *Client {
	return &Client{
		http: &http.Client{
			Timeout:       clientTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base: base, key: key, userAgent: userAgent,
	}
}

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

// DecideApproval approves or rejects, and returns the approval as JSON.
func (c *Client) DecideApproval(ctx context.Context, id string, approved bool, reason string) ([]byte, error) {
	verb := "reject"
	if approved {
		verb = "approve"
	}
	decision, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return nil, err
	}
	return c.do(ctx, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/"+verb, decision)
}

// Lock returns the lock of what the server serves.
func (c *Client) Lock(ctx context.Context) ([]byte, error) {
	return c.do(ctx, http.MethodGet, "/admin/lock", nil)
}

func (c *Client) notAServer() error {
	return fmt.Errorf("%s does not answer as a Hatchel server: check the address", c.base)
}

// do makes a request and returns the body of a successful response, which is JSON.
func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	request.Header.Set("User-Agent", c.userAgent)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.connectionError(err, method)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxClientResponse))
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, fmt.Errorf("%s redirects, and the key is not sent elsewhere: use the final address", c.base)
	case err != nil:
		return nil, c.connectionError(err, method)
	case response.StatusCode != http.StatusOK:
		return nil, c.responseError(response.StatusCode, text)
	case !json.Valid(text):
		return nil, c.notAServer()
	}
	return text, nil
}

// responseError converts the error response of a server.
func (c *Client) responseError(status int, text []byte) error {
	var failed Error
	if json.Unmarshal(text, &failed) != nil || failed.Message == "" {
		return fmt.Errorf("%s answers with status %d and without a reason: check the address", c.base, status)
	}
	message := strings.TrimSuffix(failed.Message, ".")
	switch status {
	case http.StatusUnauthorized:
		return fmt.Errorf("%s does not accept the key: %s", c.base, message)
	case http.StatusForbidden:
		return fmt.Errorf("%s denies access: %s", c.base, message)
	case http.StatusConflict:
		return &approval.DecidedError{Status: failed.Status, Decision: failed.Decision}
	case http.StatusNotFound:
		return approval.ErrNotFound
	}
	return fmt.Errorf("%s: %s", c.base, message)
}

// connectionError explains why a server did not answer.
func (c *Client) connectionError(err error, method string) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL
	}
	connected := !errors.As(err, new(*net.OpError)) && !errors.As(err, new(*tls.CertificateVerificationError))
	if method == http.MethodPost && connected {
		return fmt.Errorf("%s: %w; it is unknown whether the decision was made: see hatchel approvals show", c.base,
			err)
	}
	return fmt.Errorf("%s: %w", c.base, err)
}
