package adapters

import (
	"fmt"
	"net/http"

	"golang.org/x/net/http/httpguts"
)

// reservedHeaders cannot be set by an author, because they follow from the connection or the body.
var reservedHeaders = map[string]string{
	"Host":              "the host is part of the address",
	"Content-Length":    "it is computed from the body",
	"Transfer-Encoding": "it follows from the body",
	"Accept-Encoding":   "responses are compressed and decompressed automatically",
	"Connection":        "connections are reused automatically",
	"Upgrade":           "connections use HTTP only",
	"Te":                "it follows from the connection",
	"Trailer":           "it follows from the body",
	"Proxy-Connection":  "it follows from the environment",
}

// CheckHeaderNames reports header names that cannot be sent.
func CheckHeaderNames(checks *Checks, field any, names []string) {
	for _, name := range names {
		reason := HeaderNameError(name)
		checks.Refuse(reason != "", field, "The %s.", reason)
	}
}

// HeaderNameError returns why a header cannot be sent, or "".
func HeaderNameError(name string) string {
	if !httpguts.ValidHeaderFieldName(name) {
		return fmt.Sprintf("header name %q is not valid: use letters, digits and -", name)
	}
	if reason, ok := reservedHeaders[http.CanonicalHeaderKey(name)]; ok {
		return fmt.Sprintf("header %s cannot be set: %s", name, reason)
	}
	return ""
}

// IsHeaderValue reports whether a text has no line break and no other control character but tabs.
func IsHeaderValue(s string) bool { return httpguts.ValidHeaderFieldValue(s) }
