package hostname

import (
	"net/url"
	"strings"
)

// Part is a part of a URL that not every address may have. Parts are combined by |.
type Part int

// The parts of a URL after which ParseURL is asked.
const (
	User Part = 1 << iota
	Query
	Fragment
)

// ParseURL parses the address of a web server: a URL with http or https and a host, and of the other parts only some.
// The problem of another text is a clause that does not quote it, such as "it has no host". It is empty for an address.
func ParseURL(text string, may Part) (u *url.URL, problem string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, "it is not a valid URL"
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "it does not begin with https:// or http://"
	case u.Hostname() == "":
		return nil, "it has no host"
	case u.User != nil && may&User == 0:
		return nil, "it has a user name or password"
	case (u.RawQuery != "" || u.ForceQuery) && may&Query == 0:
		return nil, "it has a query"
	case u.Fragment != "" && may&Fragment == 0:
		return nil, "it has a fragment"
	}
	return u, ""
}

// IsReadable reports whether others can read what is sent to an address: it has http, and is not on this machine.
func IsReadable(u *url.URL) bool { return u.Scheme == "http" && !IsLocal(u.Hostname()) }

// Port returns the port of a URL, or that of its scheme: http or https. It is empty for another scheme without a port.
func Port(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return defaultPorts[u.Scheme]
}

// HaveSameOrigin reports whether two URLs have the same scheme, host and port.
func HaveSameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && Port(a) == Port(b)
}
