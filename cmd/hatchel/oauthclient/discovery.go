package oauthclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hatchel/internal/hostname"
	"hatchel/internal/neterror"
)

// resource is the metadata of a protected resource (RFC 9728).
type resource struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// issuer is the metadata of an authorization server (RFC 8414).
type issuer struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	Scopes                []string `json:"scopes_supported"`
	SendsIssuer           bool     `json:"authorization_response_iss_parameter_supported"`
	// ProgramID is the client that servers of this program have for it.
	ProgramID string `json:"hatchel_client_id"`
}

// findResource returns the metadata of the server, or errNoSignIn. A server of the revision 2025-03-26 has none: it
// is its own authorization server, and knows no resources.
func (c *Client) findResource(ctx context.Context, ask challenge) (*resource, error) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	own := origin(c.endpoint)
	addresses := []string{own + wellKnown + strings.TrimSuffix(c.endpoint.EscapedPath(), "/"), own + wellKnown}
	if ask.metadata != "" {
		u, err := c.checkAddress("resource_metadata", ask.metadata)
		if err != nil {
			return nil, err
		}
		if origin(u) != own {
			return nil, failf("%s says that its metadata is at %s: it must be at the server itself", c.options.Endpoint,
				ask.metadata)
		}
		addresses = []string{ask.metadata}
	}
	found := new(resource)
	switch ok, err := c.fetch(ctx, addresses, found); {
	case err != nil:
		return nil, err
	case !ok && ask.metadata != "":
		return nil, failf("%s says that its metadata is at %s, where there is none", c.options.Endpoint, ask.metadata)
	case !ok:
		return &resource{Issuers: []string{own}}, nil
	case len(found.Issuers) == 0:
		return nil, errNoSignIn
	}
	u, problem := hostname.ParseURL(found.Resource, 0)
	if problem != "" || origin(u) != own || !isBelow(c.endpoint.EscapedPath(), u.EscapedPath()) {
		return nil, failf("%s says that its own address is %s. Tokens for one server are not sent to another: if that "+
			"is the server that you mean, give its address", c.options.Endpoint, found.Resource)
	}
	return found, nil
}

// isBelow reports whether a path is another one, or below it.
func isBelow(path, other string) bool {
	other = strings.TrimSuffix(other, "/")
	return strings.TrimSuffix(path, "/") == other || strings.HasPrefix(path, other+"/")
}

// findIssuer returns the metadata of the authorization server of a resource, which must be one at which people can sign
// in. It returns errNoSignIn if there is none where nobody has said that there is.
func (c *Client) findIssuer(ctx context.Context, of *resource) (*issuer, error) {
	found, err := c.readIssuer(ctx, of)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(found.ChallengeMethods, "S256") {
		return nil, failf("%s does not say that it supports PKCE with S256, without which a sign-in is not safe",
			of.Issuers[0])
	}
	for what, address := range map[string]string{
		"authorization_endpoint": found.AuthorizationEndpoint, "token_endpoint": found.TokenEndpoint,
		"registration_endpoint": found.RegistrationEndpoint, "revocation_endpoint": found.RevocationEndpoint,
	} {
		if address == "" && (what == "registration_endpoint" || what == "revocation_endpoint") {
			continue
		}
		if _, err := c.checkAddress(what, address); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readIssuer returns the metadata of the authorization server of a resource, whose name must be the one under which it
// was asked for. It returns errNoSignIn if there is none where nobody has said that there is.
func (c *Client) readIssuer(ctx context.Context, of *resource) (*issuer, error) {
	name := of.Issuers[0]
	u, err := c.checkAddress("authorization server", name)
	if err != nil {
		return nil, err
	}
	base, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	addresses := []string{
		base + "/.well-known/oauth-authorization-server" + path, base + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		addresses = append(addresses, base+path+"/.well-known/openid-configuration")
	}
	found := new(issuer)
	switch ok, err := c.fetch(ctx, addresses, found); {
	case err != nil:
		return nil, err
	case !ok && of.Resource == "":
		return nil, errNoSignIn
	case !ok:
		return nil, failf("%s, at which people sign in to %s, has no metadata", name, c.options.Endpoint)
	case found.Issuer != name && (path != "" || strings.TrimSuffix(found.Issuer, "/") != base):
		return nil, failf("the metadata of %s is that of another authorization server, %s", name, found.Issuer)
	}
	return found, nil
}

// checkAddress checks an address that a server has named: https, or http on this machine if the server is on it. A
// server elsewhere has no say in what a browser asks of programs on this machine.
func (c *Client) checkAddress(what, address string) (*url.URL, error) {
	u, problem := hostname.ParseURL(address, hostname.Query)
	host := ""
	if problem == "" {
		host, _ = hostname.Parse(strings.TrimSuffix(u.Host, ":"+u.Port()))
	}
	ours, _ := hostname.Parse(strings.TrimSuffix(c.endpoint.Host, ":"+c.endpoint.Port()))
	switch {
	case problem != "":
		problem = "it is no address for a sign-in"
	case u.Scheme == "http" && !hostname.IsLocal(host):
		problem = "it is not encrypted"
	case isHere(host) && !isHere(ours):
		problem = "it is on this machine, and the server is not"
	}
	if problem != "" {
		return nil, failf("%s names %q as its %s: %s", c.options.Endpoint, address, what, problem)
	}
	return u, nil
}

// isHere reports whether browsers and systems find a host on this machine.
func isHere(host string) bool {
	return hostname.IsLocal(host) || host == "0.0.0.0" || host == "::" || strings.HasSuffix(host, ".localhost")
}

// fetch decodes the first JSON object that is at one of the addresses. It reports false when there is none: many
// servers answer with a page for every path.
func (c *Client) fetch(ctx context.Context, addresses []string, into any) (ok bool, err error) {
	for _, address := range addresses {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return false, failf("%s is no address", address)
		}
		r.Header.Set("Accept", "application/json")
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		text, status, err := c.request(r)
		switch {
		case err != nil:
			return false, err
		case status >= http.StatusInternalServerError:
			return false, unavailablef("%s answers with status %d", address, status)
		case status == http.StatusOK && json.Unmarshal(text, into) == nil:
			return true, nil
		}
	}
	return false, nil
}

// request makes a request and returns its response.
func (c *Client) request(r *http.Request) (text []byte, status int, err error) {
	r.Header.Set("User-Agent", c.options.Agent)
	res, err := c.http.Do(r)
	if err != nil {
		return nil, 0, unreachable(r, err)
	}
	defer res.Body.Close()
	text, err = io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return nil, 0, unreachable(r, err)
	}
	return text, res.StatusCode, nil
}

// unreachable returns the sentence for a server that does not answer.
func unreachable(r *http.Request, err error) error {
	if r.Context().Err() != nil {
		return context.Cause(r.Context())
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	why := err.Error()
	switch neterror.Of(err) {
	case neterror.Refused:
		why = "connection refused"
	case neterror.Timeout:
		why = fmt.Sprintf("no answer within %d seconds", int(requestTimeout.Seconds()))
	case neterror.Untrusted:
		why = "its certificate is signed by an authority that this machine does not trust"
	}
	return unavailablef("%s cannot be reached for the sign-in: %s", origin(r.URL), why)
}
