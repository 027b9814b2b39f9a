package http

import (
	"bytes"
	"fmt"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// compiledRequest is a request with all values of a call.
type compiledRequest struct {
	target         []byte // the URL without the parameters in query
	query          []parameter
	separators     map[string]string // of lists that are one parameter, by their names
	header         nethttp.Header
	body           []byte      // nil if there is none
	stream         *bodyStream // replaces body if the body has uploaded files
	idempotencyKey string      // of the call; a header of the author overrides it
	traceparent    string      // of the call; a header of the author overrides it
	secrets        []string
	fetched        *scrub.Scrubber // of a token that is not part of the configuration; nil for none
	call           *adapters.Call  // nil for a dry run
	page           int             // of a paginated list, from 1; 0 for no list
	tries          int             // how often it was sent
	dryRun         bool            // the request is only shown: secrets are hidden and no token is fetched
}

type parameter struct {
	name, text string
	escaped    string // replaces text, which is escaped
	secret     bool
}

// addSecret records texts that must not appear in messages, also in their form in a URL.
func (r *compiledRequest) addSecret(text string) {
	r.secrets = append(r.secrets, text, url.QueryEscape(text))
}

// addQuery adds the query parameters of a call. A list repeats its parameter, unless it has a separator.
func (r *compiledRequest) addQuery(f *hcl.Frame, entries *hcl.KeyValues) error {
	add := func(name string, texts []string, secret bool) error {
		r.query = append(r.query, r.newParameters(name, texts, secret)...)
		return nil
	}
	return adapters.EachEntry(f, entries, "query parameter ", adapters.Texts, add)
}

// newParameters returns the parameters of a list: one for each element or, with a separator, one for all.
func (r *compiledRequest) newParameters(name string, texts []string, secret bool) (all []parameter) {
	if secret {
		for _, text := range texts {
			r.addSecret(text)
		}
	}
	if separator := r.separators[name]; separator != "" {
		if len(texts) == 0 {
			return nil
		}
		return []parameter{{name: name, escaped: joinEscaped(texts, separator), secret: secret}}
	}
	for _, text := range texts {
		all = append(all, parameter{name: name, text: text, secret: secret})
	}
	return all
}

// joinEscaped returns texts as one value of a URL. A comma is written as it is, and one within a text is escaped
// (RFC 6570, section 3.2.8). Other separators cannot be written in a URL: they are escaped, and twice within a text.
func joinEscaped(texts []string, separator string) string {
	between := ""
	for _, b := range []byte(separator) { // also of a character that a URL may have as it is
		between += fmt.Sprintf("%%%02X", b)
	}
	escaped := make([]string, len(texts))
	for i, text := range texts {
		if separator != "," {
			text = strings.ReplaceAll(text, separator, between)
		}
		escaped[i] = url.QueryEscape(text)
	}
	if separator == "," {
		between = ","
	}
	return strings.Join(escaped, between)
}

// overlayQuery replaces parameters by those of a map. Null removes a parameter, and a list repeats it.
func (r *compiledRequest) overlayQuery(overlay map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(overlay)) {
		r.removeQuery(name)
		v, err := value.Resolve(overlay[name])
		var texts []string
		if err == nil && v != nil {
			texts, err = adapters.Texts(v)
		}
		if err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the query parameter %s of the next page %v", name, err)}
		}
		for _, text := range texts {
			r.query = append(r.query, parameter{name: name, text: text})
		}
	}
	return nil
}

// setQuery replaces all parameters of a name.
func (r *compiledRequest) setQuery(name, text string, secret bool) {
	r.removeQuery(name)
	r.query = append(r.query, parameter{name: name, text: text, secret: secret})
}

func (r *compiledRequest) removeQuery(name string) {
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
	if p.escaped != "" {
		return append(dst, p.escaped...)
	}
	return append(dst, url.QueryEscape(p.text)...)
}

// addHeaders sets the headers of a call, but not those in fixed. A list repeats its header.
func (r *compiledRequest) addHeaders(f *hcl.Frame, entries *hcl.KeyValues, fixed map[string]bool) error {
	set := func(name string, texts []string, secret bool) error {
		reason, canonical := adapters.HeaderNameError(name), nethttp.CanonicalHeaderKey(name)
		if fixed[foldHeaderName(name)] {
			reason = fmt.Sprintf("header %s cannot be set: the connection sets it", name)
		}
		if reason != "" {
			return &adapters.Fault{Message: "the " + reason}
		}
		for i, text := range texts {
			if !adapters.IsHeaderValue(text) {
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
		r.header[canonical] = texts
		return nil
	}
	return adapters.EachEntry(f, entries, "header ", adapters.Texts, set)
}

// Call implements auth.Request.
func (r *compiledRequest) Call() *adapters.Call { return r.call }

// AddHeaders implements auth.Request.
func (r *compiledRequest) AddHeaders(f *hcl.Frame, entries *hcl.KeyValues) error {
	return r.addHeaders(f, entries, nil)
}

// SetParameters implements auth.Request.
func (r *compiledRequest) SetParameters(f *hcl.Frame, entries *hcl.KeyValues) error {
	return adapters.EachEntry(f, entries, "query parameter ", adapters.TextOf, func(name, text string, _ bool) error {
		r.addSecret(text)
		r.setQuery(name, text, true)
		return nil
	})
}

// SetHeader implements auth.Request.
func (r *compiledRequest) SetHeader(name, text string) { r.header[name] = []string{text} }

// Header implements auth.Request.
func (r *compiledRequest) Header(name string) string { return r.header.Get(name) }

// Hide implements auth.Request.
func (r *compiledRequest) Hide(secrets ...string) { r.secrets = append(r.secrets, secrets...) }

// HideFetched implements auth.Request.
func (r *compiledRequest) HideFetched(s *scrub.Scrubber) { r.fetched = s }
