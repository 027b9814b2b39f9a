package auth

import (
	"net/http"
	"strings"
)

// Refusal is why a request is not served. Its texts say nothing that who asks does not know.
type Refusal struct {
	Status int
	Why    string // a sentence without a full stop

	code   string   // of RFC 6750, section 3.1; empty when there was no credential
	scopes []string // that it takes
	known  bool     // the credential is one of ours, and not good
}

func invalidRequest(why string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Why: why, code: "invalid_request"}
}

func invalidToken(why string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Why: why, code: "invalid_token"}
}

func missing() *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Why: "This server takes requests from those it knows only, and this one says nothing of who makes it"}
}

// unavailable is that nobody can say whether the token is good.
func unavailable() *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Why: "The token cannot be checked, because its issuer does not answer. Try again shortly"}
}

// Challenge sets the headers that go with a refusal (RFC 6750, section 3; RFC 9728, section 5.1).
func (c *Callers) Challenge(h http.Header, r *http.Request, refused *Refusal) {
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
		add("error_description", refused.Why)
	}
	scopes := refused.scopes
	if len(c.order) > 0 {
		if scopes == nil {
			scopes = c.order[0].required
		}
		add("scope", strings.Join(scopes, " "))
		add("resource_metadata", c.metadataURL(r))
	}
	if len(params) == 0 {
		add("realm", "hatchel")
	}
	h.Set("WWW-Authenticate", "Bearer "+strings.Join(params, ", "))
}
