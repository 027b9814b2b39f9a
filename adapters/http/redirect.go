package http

import (
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"

	"hatchel/adapters"
	"hatchel/internal/credential"
	"hatchel/internal/cut"
	"hatchel/internal/hostname"
)

// noRedirectKey is the key of a true value in the context of a request that follows no redirects.
type noRedirectKey struct{}

// checkRedirect returns the CheckRedirect of a client. A redirect that is not followed is the response to the request,
// so that its status, its address and what it changed are known.
func checkRedirect(limit int) func(*nethttp.Request, []*nethttp.Request) error {
	return func(next *nethttp.Request, _ []*nethttp.Request) error {
		if redirectProblem(next.Response, next.URL, limit) != "" {
			return nethttp.ErrUseLastResponse
		}
		next.Header.Del("Referer") // it would repeat keys in the query
		if first, _ := firstRequest(next.Response); !mayHaveCredentials(first.URL, next.URL) {
			keepPublicHeaders(next.Header)
		}
		return nil
	}
}

// redirectProblem returns why a redirect to an address is not followed; empty if it is.
func redirectProblem(resp *nethttp.Response, to *url.URL, limit int) string {
	first, requests := firstRequest(resp)
	last := resp.Request
	sends := !isRead(last.Method) && resp.StatusCode != nethttp.StatusSeeOther
	rewritten := resp.StatusCode == nethttp.StatusMovedPermanently || resp.StatusCode == nethttp.StatusFound
	switch {
	case limit == 0, last.Context().Value(noRedirectKey{}) != nil:
		return "no redirect is followed"
	case rewritten && sends:
		return fmt.Sprintf("it would turn the %s into a GET", last.Method)
	case rewritten && last.ContentLength != 0:
		return "the body would not be sent again"
	case last.URL.Scheme == "https" && to.Scheme == "http" && strings.EqualFold(last.URL.Hostname(), to.Hostname()):
		return "it leaves https"
	case !hostname.HaveSameOrigin(first.URL, to) && !isUpgrade(first.URL, to):
		return "it is on another host"
	case sends && !mayHaveCredentials(first.URL, to):
		return "it is on another port"
	case requests > limit:
		return fmt.Sprintf("more than %d redirects are not followed", limit)
	}
	return ""
}

// firstRequest returns the request that led to a response by redirects, and how many requests that were.
func firstRequest(resp *nethttp.Response) (first *nethttp.Request, requests int) {
	first, requests = resp.Request, 1
	for ; first.Response != nil; requests++ {
		first = first.Response.Request
	}
	return first, requests
}

// publicHeaders are the headers that another port of the host may see. All others may authenticate the request.
var publicHeaders = []string{"Accept", "Accept-Language", "If-Modified-Since", "If-None-Match", "Range", "User-Agent"}

func keepPublicHeaders(header nethttp.Header) {
	public := nethttp.Header{}
	for _, name := range publicHeaders {
		if values := header[name]; values != nil {
			public[name] = values
		}
	}
	clear(header)
	for name, values := range public {
		header[name] = values
	}
}

// isUpgrade reports whether an address is that of a host after http, with https.
func isUpgrade(from, to *url.URL) bool {
	return from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(from.Hostname(), to.Hostname())
}

// mayHaveCredentials reports whether an address is that of the same service: of the same origin, or with https in place
// of http on the default ports.
func mayHaveCredentials(from, to *url.URL) bool {
	return hostname.HaveSameOrigin(from, to) ||
		isUpgrade(from, to) && hostname.Port(from) == "80" && hostname.Port(to) == "443"
}

const maxAddress = 300 // characters of an address in a message

// describeRedirect returns what a message says of a response that redirects; empty for another response.
func describeRedirect(resp *nethttp.Response, limit int, secrets []string) string {
	switch resp.StatusCode {
	case nethttp.StatusMovedPermanently, nethttp.StatusFound, nethttp.StatusSeeOther,
		nethttp.StatusTemporaryRedirect, nethttp.StatusPermanentRedirect:
	default:
		return ""
	}
	to, err := resp.Location()
	if err != nil {
		//lint:ignore SA1008 the name is not the one that net/http reads
		if resp.Header[badLocation] == nil { // a redirect that names nothing
			return ""
		}
		return ", a redirect to an address that is not a URL" // its text may have a credential anywhere
	}
	return fmt.Sprintf(", a redirect to %s that is not followed: %s", redirectAddress(resp.Request.URL, to, secrets),
		redirectProblem(resp, to, limit))
}

// redirectAddress returns the address of a redirect without credentials. On the same host it begins with the path.
func redirectAddress(from, to *url.URL, secrets []string) string {
	shown := *to
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	if hostname.HaveSameOrigin(from, to) {
		shown.Scheme, shown.Host = "", ""
	}
	text := credential.Redact(adapters.Sanitize(shown.String(), secrets))
	return cut.Runes(text, maxAddress)
}

// hasLostCredentials reports whether a response is that of another port, to which credentials are not sent.
func hasLostCredentials(resp *nethttp.Response) bool {
	first, requests := firstRequest(resp)
	return requests > 1 && !mayHaveCredentials(first.URL, resp.Request.URL)
}

// badLocation is the name under which a response keeps a Location that is not a URL. net/http does not find it, so that
// it returns the response in place of an error without a status.
const badLocation = "location"

// redirectTransport hides each Location that is not a URL from net/http.
type redirectTransport struct{ nethttp.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t redirectTransport) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil || resp.Header["Location"] == nil {
		return resp, err
	}
	if _, problem := resp.Location(); problem != nil && resp.Header.Get("Location") != "" {
		resp.Header[badLocation] = resp.Header["Location"]
		resp.Header.Del("Location")
	}
	return resp, nil
}
