package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// wellKnown is where the metadata of a protected resource is (RFC 9728, section 3), followed by the path of the resource.
const wellKnown = "/.well-known/oauth-protected-resource"

// endpoint is the path at which the protocol is served, and below it its toolsets.
const endpoint = "/mcp"

// Metadata answers the request for the metadata of the server, which everybody may make, and reports whether there is any. Without an issuer there is none.
func (c *Callers) Metadata(r *http.Request) (document []byte, ok bool) {
	path, is := strings.CutPrefix(r.URL.Path, wellKnown)
	if !is || c == nil || len(c.order) == 0 {
		return nil, false
	}
	resource := c.resource(r)
	switch {
	case path == "", path == resource.Path:
	case path == endpoint, strings.HasPrefix(path, endpoint+"/"):
		if c.audience() == nil {
			resource.Path = path
		}
	default:
		return nil, false
	}
	said := struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
	}{Resource: resource.String(), Methods: []string{"header"}}
	for _, s := range c.order {
		said.Issuers = append(said.Issuers, s.Issuer)
		for _, scope := range s.required {
			if !slices.Contains(said.Scopes, scope) {
				said.Scopes = append(said.Scopes, scope)
			}
		}
	}
	document, err := json.Marshal(said)
	return document, err == nil
}

// audience is the name of the server where that is a URL, and then the one that clients use; otherwise nil.
func (c *Callers) audience() *url.URL {
	for _, s := range c.order {
		if u, err := url.Parse(s.Audience); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") && u.RawQuery == "" && u.Fragment == "" {
			return u
		}
	}
	return nil
}

// resource is the URL of the server: its audience, or as the request has found it.
func (c *Callers) resource(r *http.Request) url.URL {
	if u := c.audience(); u != nil {
		return *u
	}
	u := url.URL{Scheme: "http", Host: r.Host, Path: endpoint}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	if strings.HasPrefix(r.URL.Path, endpoint+"/") {
		u.Path = r.URL.Path
	}
	return u
}

// metadataURL is where clients are referred to; empty where there is nothing.
func (c *Callers) metadataURL(r *http.Request) string {
	u := c.resource(r)
	if len(c.order) == 0 || !plainHost(u.Host) {
		return ""
	}
	return u.Scheme + "://" + u.Host + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/")
}

// plainHost reports whether a host can stand in a header.
func plainHost(host string) bool {
	return host != "" && !strings.ContainsFunc(host, func(c rune) bool {
		return c != '.' && c != '-' && c != ':' && c != '[' && c != ']' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}
