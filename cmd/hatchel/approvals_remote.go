package main

import (
	"context"
	"net/url"
	"os"
	"strings"

	"hatchel/runtime/approval"
	"hatchel/runtime/server"
)

// keyVariable holds the credential, because other users of the machine can read command lines.
const keyVariable = "HATCHEL_KEY"

// remoteApprovals decides over the HTTP API of a server.
type remoteApprovals struct{ *server.Client }

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
	return remoteApprovals{server.NewClient(base, key, "hatchel/"+release())}, nil
}

func (r remoteApprovals) close() { r.Close() }

func (r remoteApprovals) list(ctx context.Context, q approval.ListQuery) ([]*approvalRow, string, error) {
	texts, next, err := r.ListApprovals(ctx, q)
	if err != nil {
		return nil, "", err
	}
	rows := make([]*approvalRow, len(texts))
	for i, text := range texts {
		if rows[i], err = decodeRow(approval.EscapeJSON(text)); err != nil {
			return nil, "", err
		}
	}
	return rows, next, nil
}

func (r remoteApprovals) find(ctx context.Context, id string) (*approvalRow, error) {
	text, err := r.FindApproval(ctx, id)
	if err != nil {
		return nil, err
	}
	return decodeRow(approval.EscapeJSON(text))
}

func (r remoteApprovals) decide(ctx context.Context, id string, approved bool, reason string) (*approvalRow, error) {
	text, err := r.DecideApproval(ctx, id, approved, reason)
	if err != nil {
		return nil, err
	}
	return decodeRow(approval.EscapeJSON(text))
}
