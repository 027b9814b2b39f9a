package signin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// oauthError is an error of OAuth (RFC 6749, sections 4.1.2.1 and 5.2): the body of a response to a program, or
// parameters of an address that a browser is led to.
type oauthError struct {
	status int    // of a response; 0 for 400
	code   string // as in the RFC
	text   string // for the developer: a sentence without a full stop, or empty
	basic  bool   // the client has used HTTP Basic
	retry  string // seconds until the next try; empty for none
}

func (e *oauthError) Error() string { return e.code + ": " + e.text }

func invalidRequest(text string) error { return &oauthError{code: "invalid_request", text: text} }

// unavailable says that nothing was done, and that the same request may succeed later.
var unavailable = &oauthError{
	status: http.StatusServiceUnavailable, code: "temporarily_unavailable",
	text: "the server cannot sign anybody in at the moment; try again shortly", retry: "5",
}

// write writes the error for a program.
func (e *oauthError) write(w http.ResponseWriter) {
	status := e.status
	if status == 0 {
		status = http.StatusBadRequest
	}
	if e.retry != "" {
		w.Header().Set("Retry-After", e.retry)
	}
	if e.basic {
		w.Header().Set("WWW-Authenticate", `Basic realm="hatchel"`)
	}
	writeJSON(w, status, struct {
		Code string `json:"error"`
		Text string `json:"error_description,omitempty"`
	}{e.code, descriptionText(e.text)})
}

// descriptionText returns a text with the characters that an error_description may have.
func descriptionText(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '"' || c == '\\':
			return '\''
		case c < ' ' || c > '~':
			return '?'
		}
		return c
	}, text)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.Encode(v)
}

// returnAddress returns where a browser goes with the answer to a request for authorization: the redirect address of
// the client with parameters in addition, and the issuer (RFC 9207).
func (q *request) returnAddress(redirect, state string, params ...string) string {
	values := url.Values{"iss": {q.decl.URL}}
	if state != "" {
		values.Set("state", state)
	}
	for i := 0; i < len(params); i += 2 {
		if params[i+1] != "" {
			values.Set(params[i], params[i+1])
		}
	}
	separator := "?"
	if strings.Contains(redirect, "?") {
		separator = "&"
	}
	return strings.TrimSuffix(redirect, "?") + separator + values.Encode()
}

// errorAddress is returnAddress for an error.
func (q *request) errorAddress(redirect, state string, e *oauthError) string {
	return q.returnAddress(redirect, state, "error", e.code, "error_description", descriptionText(e.text))
}
