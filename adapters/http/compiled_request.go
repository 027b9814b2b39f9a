package http

import (
	"bytes"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
)

// compiledRequest is a request with all values of a call.
type compiledRequest struct {
	target         []byte // the URL without the parameters in query
	query          []parameter
	header         nethttp.Header
	body           []byte      // nil if there is none
	stream         *bodyStream // replaces body if the body has uploaded files
	idempotencyKey string      // of the call; a header of the author overrides it
	secrets        []string
	fetchedToken   string         // a token that is not part of the configuration
	call           *adapters.Call // nil for a dry run
	dryRun         bool           // the request is only shown: secrets are hidden and no token is fetched
}

type parameter struct {
	name, text string
	secret     bool
}

// addSecret records texts that must not appear in messages, also in their form in a URL.
func (r *compiledRequest) addSecret(text string) {
	r.secrets = append(r.secrets, text, url.QueryEscape(text))
}

// addQuery adds the query parameters of a call. A list repeats its parameter.
func (r *compiledRequest) addQuery(f *hcl.Frame, entries *hcl.KeyValues) error {
	return eachEntry(f, entries, "query parameter", func(name string, texts []string, secret bool) error {
		for _, text := range texts {
			r.query = append(r.query, parameter{name, text, secret})
			if secret {
				r.addSecret(text)
			}
		}
		return nil
	})
}

// setQuery replaces all parameters of a name.
func (r *compiledRequest) setQuery(name, text string, secret bool) {
	if path, query, ok := strings.Cut(string(r.target), "?"); ok {
		parts := slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
			key, _, _ := strings.Cut(part, "=")
			key, err := url.QueryUnescape(key)
			return err == nil && key == name
		})
		if len(parts) > 0 {
			path += "?" + strings.Join(parts, "&")
		}
		r.target = []byte(path)
	}
	r.query = slices.DeleteFunc(r.query, func(p parameter) bool { return p.name == name })
	r.query = append(r.query, parameter{name, text, secret})
}

// address returns the whole URL.
func (r *compiledRequest) address() string {
	if len(r.query) == 0 {
		return string(r.target)
	}
	dst := r.target
	if bytes.IndexByte(dst, '?') < 0 {
		dst = append(dst, '?')
	}
	for _, p := range r.query {
		dst = r.appendParameter(dst, p)
	}
	return string(dst)
}

// appendParameter appends name=text to a query or a form. A dry run hides secrets.
func (r *compiledRequest) appendParameter(dst []byte, p parameter) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '?' {
		dst = append(dst, '&')
	}
	dst = append(append(dst, url.QueryEscape(p.name)...), '=')
	if r.dryRun && p.secret {
		return append(dst, hcl.Hidden...)
	}
	return append(dst, url.QueryEscape(p.text)...)
}
