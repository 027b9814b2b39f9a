package http

import (
	"fmt"
	nethttp "net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"hatchel/adapters"
	"hatchel/hcl"
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

// checkHeaderNames reports header names that cannot be sent.
func checkHeaderNames(checks *adapters.Checks, field any, names []string) {
	for _, name := range names {
		reason := headerNameError(name)
		checks.Refuse(reason != "", field, "The %s.", reason)
	}
}

// headerNameError returns why a header cannot be sent, or "".
func headerNameError(name string) string {
	if !httpguts.ValidHeaderFieldName(name) {
		return fmt.Sprintf("header name %q is not valid: use letters, digits and -", name)
	}
	if reason, ok := reservedHeaders[nethttp.CanonicalHeaderKey(name)]; ok {
		return fmt.Sprintf("header %s cannot be set: %s", name, reason)
	}
	return ""
}

// isHeaderValue reports whether a text has no line break and no other control character but tabs.
func isHeaderValue(s string) bool { return httpguts.ValidHeaderFieldValue(s) }

// addHeaders sets the headers of a call. A list repeats its header.
func (r *compiledRequest) addHeaders(f *hcl.Frame, entries *hcl.KeyValues) error {
	return eachEntry(f, entries, "header", func(name string, texts []string, secret bool) error {
		if reason := headerNameError(name); reason != "" {
			return &adapters.Fault{Message: "the " + reason}
		}
		for i, text := range texts {
			if !isHeaderValue(text) {
				message := fmt.Sprintf("the header %s must not contain a line break or another control character", name)
				return &adapters.Fault{Message: message}
			}
			if secret {
				r.secrets = append(r.secrets, text, strings.TrimSpace(strings.TrimPrefix(text, "Bearer ")))
				if r.dryRun {
					texts[i] = hcl.Hidden
				}
			}
		}
		r.header[nethttp.CanonicalHeaderKey(name)] = texts
		return nil
	})
}
