package http

import (
	"fmt"
	nethttp "net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"hatchel/adapters"
	"hatchel/hcl"
)

// ruled are the headers that belong to the connection or to the body, not to an author.
var ruled = map[string]string{
	"Host":              "the host is the one of the address",
	"Content-Length":    "it is counted from the body",
	"Transfer-Encoding": "it follows from the body",
	"Accept-Encoding":   "compressed answers are asked for and decompressed already",
	"Connection":        "connections are kept and reused",
	"Upgrade":           "connections stay HTTP",
	"Te":                "it follows from the connection",
	"Trailer":           "it follows from the body",
	"Proxy-Connection":  "it follows from the environment",
}

// headerNames refuses names that are known at load and cannot be sent.
func headerNames(field any, names []string) (errs []error) {
	for _, name := range names {
		if reason := refusedHeader(name); reason != "" {
			errs = append(errs, hcl.Blame(field, "%s", reason))
		}
	}
	return errs
}

func refusedHeader(name string) string {
	if !httpguts.ValidHeaderFieldName(name) {
		return fmt.Sprintf("%q is not the name of a header: it is made of letters, digits and -.", name)
	}
	if why, ok := ruled[nethttp.CanonicalHeaderKey(name)]; ok {
		return fmt.Sprintf("The header %s cannot be set: %s.", name, why)
	}
	return ""
}

// headerText reports whether a text can be the value of a header: no line break and no other control character but a tab.
func headerText(s string) bool { return httpguts.ValidHeaderFieldValue(s) }

// addHeaders sets the headers of a call; a list sends the header once an element.
func (d *draft) addHeaders(f *hcl.Frame, entries *hcl.KeyValues) error {
	list, err := entries.Eval(f)
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	for _, e := range list {
		if reason := refusedHeader(e.Name); reason != "" {
			return &adapters.Fault{Message: strings.TrimSuffix(strings.ToLower(reason[:1])+reason[1:], ".")}
		}
		texts, err := scalars(e.Value)
		if err != nil {
			return &adapters.Fault{Message: fmt.Sprintf("the header %s %v", e.Name, err)}
		}
		for i, text := range texts {
			if !headerText(text) {
				return &adapters.Fault{Message: fmt.Sprintf("the header %s cannot hold a line break or another control character", e.Name)}
			}
			if entries.Secret(e.Name) {
				d.secrets = append(d.secrets, text, strings.TrimSpace(strings.TrimPrefix(text, "Bearer ")))
				if d.shown {
					texts[i] = hcl.Hidden
				}
			}
		}
		d.header[nethttp.CanonicalHeaderKey(e.Name)] = texts
	}
	return nil
}
