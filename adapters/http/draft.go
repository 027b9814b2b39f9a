package http

import (
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
)

// A draft is one request before it is sent.
type draft struct {
	method  string
	target  []byte // the address without the parameters below
	query   []parameter
	header  nethttp.Header
	body    []byte  // nil when there is none
	stream  *stream // in the place of body, when it has files in it
	key     string  // of the call, for a service that knows such keys; the author's own header wins over it
	secrets []string
	fetched string         // the token that was fetched for it, which the configuration does not know
	call    *adapters.Call // nil when it is for showing
	shown   bool           // it is for showing, not for sending: secrets are hidden and no token is fetched
}

type parameter struct {
	name, text string
	secret     bool
}

// addQuery adds the parameters of a call; a list repeats its name.
func (d *draft) addQuery(f *hcl.Frame, entries *hcl.KeyValues) error {
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
			d.query = append(d.query, parameter{e.Name, text, secret})
			if secret {
				d.secrets = append(d.secrets, text, url.QueryEscape(text))
			}
		}
	}
	return nil
}

// setQuery replaces a parameter wherever it stands.
func (d *draft) setQuery(name, text string, secret bool) {
	path, written, ok := strings.Cut(string(d.target), "?")
	if ok {
		kept := ""
		for part := range strings.SplitSeq(written, "&") {
			key, _, _ := strings.Cut(part, "=")
			if key, err := url.QueryUnescape(key); err == nil && key == name {
				continue
			}
			kept += "&" + part
		}
		d.target = []byte(path)
		if kept != "" {
			d.target = append(append(d.target, '?'), kept[1:]...)
		}
	}
	others := d.query[:0]
	for _, p := range d.query {
		if p.name != name {
			others = append(others, p)
		}
	}
	d.query = append(others, parameter{name, text, secret})
}

// address is the whole URL.
func (d *draft) address() string {
	if len(d.query) == 0 {
		return string(d.target)
	}
	sep := byte('?')
	dst := d.target
	if strings.IndexByte(string(dst), '?') >= 0 {
		sep = '&'
	}
	for _, p := range d.query {
		dst = append(append(dst, sep), url.QueryEscape(p.name)...)
		dst = append(dst, '=')
		if d.shown && p.secret {
			dst = append(dst, hcl.Hidden...)
		} else {
			dst = append(dst, url.QueryEscape(p.text)...)
		}
		sep = '&'
	}
	return string(dst)
}
