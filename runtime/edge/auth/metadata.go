package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hatchel/internal/hostname"
)

// metadataPath is the path of the metadata of a protected resource (RFC 9728, section 3). The path of
// the resource follows.
const metadataPath = "/.well-known/oauth-protected-resource"

// endpointPath is the path of the MCP endpoint. The toolsets are below it.
const endpointPath = "/mcp"

// IsMetadata reports whether a request is for the metadata of a protected resource.
func IsMetadata(r *http.Request) bool {
	return r.URL.Path == metadataPath || strings.HasPrefix(r.URL.Path, metadataPath+"/")
}

// Metadata returns the document for a request for the metadata of the server, which needs no
// credential. It reports false when the path is another one, or no issuer is declared.
func (c *Authenticator) Metadata(r *http.Request) (document []byte, ok bool) {
	path, isMetadata := strings.CutPrefix(r.URL.Path, metadataPath)
	if !isMetadata || c == nil || !c.hasIssuers() {
		return nil, false
	}
	resource := c.resource(r)
	switch {
	case path == "", path == resource.Path:
	case path == endpointPath, strings.HasPrefix(path, endpointPath+"/"):
		if c.own != nil || c.audienceURL() == nil {
			resource.Path = path
		}
	default:
		return nil, false
	}
	metadata := struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
	}{Resource: resource.String(), Methods: []string{"header"}}
	if c.own != nil {
		metadata.Issuers = append(metadata.Issuers, c.own.declared.URL)
		for _, scope := range c.own.declared.ScopeBlocks {
			metadata.Scopes = append(metadata.Scopes, scope.Name)
		}
	}
	for _, config := range c.order {
		metadata.Issuers = append(metadata.Issuers, config.Issuer)
		for _, scope := range config.RequiredScopes {
			if !slices.Contains(metadata.Scopes, scope) {
				metadata.Scopes = append(metadata.Scopes, scope)
			}
		}
	}
	document, err := json.Marshal(metadata)
	return document, err == nil
}

// audienceURL returns the first audience that is a URL, which then is the URL of the server; otherwise
// nil.
func (c *Authenticator) audienceURL() *url.URL {
	for _, config := range c.order {
		if u, problem := hostname.ParseURL(config.Audience, hostname.User); problem == "" {
			return u
		}
	}
	return nil
}

// resource returns the URL of the server: that of sign_in, its audience, or the one that the request was sent to.
func (c *Authenticator) resource(r *http.Request) url.URL {
	if c.own == nil {
		if audience := c.audienceURL(); audience != nil {
			return *audience
		}
	}
	u := c.origin(r)
	u.Path = endpointPath
	if strings.HasPrefix(r.URL.Path, endpointPath+"/") {
		u.Path = r.URL.Path
	}
	return u
}

// origin returns the URL of the server without a path.
func (c *Authenticator) origin(r *http.Request) url.URL {
	if c.own != nil {
		return *c.own.url
	}
	return *c.names.URL(r)
}

// metadataURL returns the URL of the metadata for a challenge, or an empty string.
func (c *Authenticator) metadataURL(r *http.Request) string {
	u := c.resource(r)
	if !c.hasIssuers() || !isPlainHost(u.Host) {
		return ""
	}
	return u.Scheme + "://" + u.Host + metadataPath + strings.TrimSuffix(u.EscapedPath(), "/")
}

// isPlainHost reports whether a host can be put into a header as it is.
func isPlainHost(host string) bool {
	return host != "" && !strings.ContainsFunc(host, func(c rune) bool {
		isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		return !isLetter && (c < '0' || c > '9') && !strings.ContainsRune(".-:[]_", c)
	})
}
