package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/server"
)

// keyVariable holds the credential, because other users of the machine can read command lines.
const keyVariable = "HATCHEL_KEY"

const (
	remoteTimeout     = 30 * time.Second // of one request
	maxRemoteResponse = 1 << 30          // bytes
)

// remoteApprovals decides over the HTTP API of a server.
type remoteApprovals struct {
	client *http.Client
	server string // base URL
	key    string
}

// newRemoteApprovals returns the source for a server, given its base URL or that of its MCP
// endpoint.
func newRemoteApprovals(address string) (approvalSource, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, misusef("--server requires the URL of a server, as in https://example.com, and got %q", address)
	}
	if u.Scheme == "http" && !server.IsLoopback(u.Host) && u.Hostname() != "localhost" {
		return nil, misusef("--server: http would send the key to %s unencrypted. Use https", u.Host)
	}
	key := os.Getenv(keyVariable)
	if key == "" {
		return nil, misusef("--server requires your API key or token in the environment variable %s", keyVariable)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, misusef("--server: the value of %s is not a valid key", keyVariable)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), "/mcp")
	client := &http.Client{
		Timeout:       remoteTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &remoteApprovals{client, base, key}, nil
}

func (r *remoteApprovals) close() { r.client.CloseIdleConnections() }

func (r *remoteApprovals) list(ctx context.Context, q approval.ListQuery) ([]*approvalRow, string, error) {
	status := string(q.Status)
	if status == "" {
		status = "all"
	}
	query := url.Values{"status": {status}, "limit": {strconv.Itoa(q.Limit)}, "after": {q.After}}
	body, err := r.do(ctx, http.MethodGet, "/approvals?"+query.Encode(), nil)
	if err != nil {
		return nil, "", err
	}
	var page struct {
		Approvals []json.RawMessage `json:"approvals"`
		Next      string            `json:"next"`
	}
	if json.Unmarshal(body, &page) != nil {
		return nil, "", r.notHatchel()
	}
	rows := make([]*approvalRow, len(page.Approvals))
	for i, text := range page.Approvals {
		if rows[i], err = decodeRow(approval.Harmless(text)); err != nil {
			return nil, "", r.notHatchel()
		}
	}
	return rows, page.Next, nil
}

func (r *remoteApprovals) find(ctx context.Context, id string) (*approvalRow, error) {
	body, err := r.do(ctx, http.MethodGet, "/approvals/"+url.PathEscape(id), nil)
	return r.decodeRow(body, err)
}

func (r *remoteApprovals) decide(ctx context.Context, id string, approved bool, reason string) (*approvalRow, error) {
	verb := "reject"
	if approved {
		verb = "approve"
	}
	decision, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return nil, err
	}
	body, err := r.do(ctx, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/"+verb, decision)
	return r.decodeRow(body, err)
}

func (r *remoteApprovals) decodeRow(body []byte, err error) (*approvalRow, error) {
	if err != nil {
		return nil, err
	}
	a, err := decodeRow(approval.Harmless(body))
	if err != nil {
		return nil, r.notHatchel()
	}
	return a, nil
}

func (r *remoteApprovals) notHatchel() error {
	return failf("%s does not answer as a Hatchel server: check the address", r.server)
}

// do makes a request and returns the body of a successful response.
func (r *remoteApprovals) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	request.Header.Set("User-Agent", "hatchel/"+release())
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, r.connectionFailure(err, method)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRemoteResponse))
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, failf("%s redirects, and the key is not sent elsewhere: use the final address", r.server)
	case err != nil:
		return nil, r.connectionFailure(err, method)
	case response.StatusCode == http.StatusOK:
		return text, nil
	}
	return nil, r.responseFailure(response.StatusCode, text)
}

// responseFailure converts the error response of a server.
func (r *remoteApprovals) responseFailure(status int, text []byte) error {
	var failed server.Error
	if json.Unmarshal(text, &failed) != nil || failed.Message == "" {
		return failf("%s answers with status %d and without a reason: check the address", r.server, status)
	}
	message := strings.TrimSuffix(printable(failed.Message), ".")
	switch status {
	case http.StatusUnauthorized:
		return failf("%s does not accept the key in %s: %s", r.server, keyVariable, message)
	case http.StatusForbidden:
		return failf("%s denies access: %s", r.server, message)
	case http.StatusConflict:
		return &approval.AlreadyError{Status: failed.Status, Decision: failed.Decision}
	case http.StatusNotFound:
		return approval.ErrUnknown
	}
	return failf("%s: %s", r.server, message)
}

// connectionFailure explains why a server did not answer.
func (r *remoteApprovals) connectionFailure(err error, method string) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL, which r.server is
	}
	connected := !errors.As(err, new(*net.OpError)) && !errors.As(err, new(*tls.CertificateVerificationError))
	if method == http.MethodPost && connected {
		return failf("%s: %s; it is unknown whether the decision was made: see hatchel approvals show", r.server, err)
	}
	return failf("%s: %s", r.server, err)
}
