package http

import (
	"fmt"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
)

// compiledRequest is a request with all values of a call.
type compiledRequest struct {
	method         string
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
	list, err := entries.Eval(f)
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	for _, e := range list {
		texts, err := scalars(e.Value)
		if err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the query parameter %s %v", e.Name, err)}
		}
		secret := entries.Secret(e.Name)
		for _, text := range texts {
			r.query = append(r.query, parameter{e.Name, text, secret})
			if secret {
				r.addSecret(text)
			}
		}
	}
	return nil
}

// setQuery replaces all parameters of the same name.
func (r *compiledRequest) setQuery(p parameter) {
	if path, query, ok := strings.Cut(string(r.target), "?"); ok {
		parts := slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
			key, _, _ := strings.Cut(part, "=")
			key, err := url.QueryUnescape(key)
			return err == nil && key == p.name
		})
		if len(parts) > 0 {
			path += "?" + strings.Join(parts, "&")
		}
		r.target = []byte(path)
	}
	r.query = slices.DeleteFunc(r.query, func(other parameter) bool { return other.name == p.name })
	r.query = append(r.query, p)
}

// address returns the whole URL.
func (r *compiledRequest) address() string {
	if len(r.query) == 0 {
		return string(r.target)
	}
	separator := byte('?')
	dst := r.target
	if strings.IndexByte(string(dst), '?') >= 0 {
		separator = '&'
	}
	for _, p := range r.query {
		dst = append(append(dst, separator), url.QueryEscape(p.name)...)
		dst = append(dst, '=')
		if r.dryRun && p.secret {
			dst = append(dst, hcl.Hidden...)
		} else {
			dst = append(dst, url.QueryEscape(p.text)...)
		}
		separator = '&'
	}
	return string(dst)
}
