package auth

import (
	"net/http"
	"strings"
)

// Refusal is the reason why a request is not authenticated. It reveals only what the caller knows.
type Refusal struct {
	Status int
	Reason string // a sentence without a full stop

	code   string   // of RFC 6750, section 3.1; empty when there was no credential
	scopes []string // that are required
	isOurs bool     // the credential is a declared one that is no longer valid
}

func invalidRequest(why string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Reason: why, code: "invalid_request"}
}

func invalidToken(why string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Reason: why, code: "invalid_token"}
}

// missingScope returns the refusal of a token that lacks one of the scopes.
func missingScope(required []string) *Refusal {
	return &Refusal{
		Status: http.StatusForbidden, Reason: "The token lacks a scope that this server requires",
		code: "insufficient_scope", scopes: required,
	}
}

var (
	unknownCredential = invalidToken("The key or token is not known to this server")
	missingCredential = &Refusal{
		Status: http.StatusUnauthorized, Reason: "Authentication is required, and the request has no credential",
	}
	// issuerUnavailable is returned when a token cannot be verified.
	issuerUnavailable = &Refusal{
		Status: http.StatusServiceUnavailable,
		Reason: "The token cannot be verified, because its issuer is not available. Try again shortly",
	}
)

// Challenge sets the headers of the response to a refused request (RFC 6750, section 3; RFC 9728,
// section 5.1).
func (c *Authenticator) Challenge(h http.Header, r *http.Request, refused *Refusal) {
	if refused.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "5")
		return
	}
	var params []string
	add := func(name, text string) {
		if text != "" {
			params = append(params, name+`="`+text+`"`)
		}
	}
	add("error", refused.code)
	if refused.code != "" {
		add("error_description", refused.Reason)
	}
	scopes := refused.scopes
	if c.hasIssuers() {
		if scopes == nil && len(c.order) > 0 && c.own == nil {
			scopes = c.order[0].RequiredScopes
		}
		add("scope", strings.Join(scopes, " "))
		add("resource_metadata", c.metadataURL(r))
	}
	if len(params) == 0 {
		add("realm", "hatchel")
	}
	h.Set("WWW-Authenticate", "Bearer "+strings.Join(params, ", "))
}
