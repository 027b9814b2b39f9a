// Package proxy finds the proxies that the environment names, for every HTTP client of the program.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// Error reports a variable of the environment that names no proxy. It does not have the value, which may contain a
// password.
type Error struct {
	Variable string
	Reason   string
}

// Error implements error.
func (e *Error) Error() string { return e.Variable + " in the environment " + e.Reason }

// RefusedError reports a proxy that answered a request for a connection with a status other than 200.
type RefusedError struct{ Status int }

// Error implements error.
func (e *RefusedError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the proxy answered %d %s", e.Status, http.StatusText(e.Status)))
}

// Configure has a transport use the proxies of the environment.
func Configure(t *http.Transport) {
	t.Proxy = FromEnvironment()
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return &RefusedError{resp.StatusCode}
		}
		return nil
	}
}

// NewTransport returns a transport like that of http.DefaultTransport, which uses the proxies of the environment.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	Configure(t)
	return t
}

// ErrorText returns what is wrong with a proxy, without its address; empty for an error of something else.
func ErrorText(err error) string {
	of, isError := errors.AsType[*Error](err)
	refused, isRefused := errors.AsType[*RefusedError](err)
	switch {
	case isError:
		return of.Error()
	case isRefused:
		return refused.Error()
	case IsConnecting(err):
		return "the proxy that the environment names did not connect"
	}
	return ""
}

// IsConnecting reports whether an error is one of the connection to a proxy, or of what the proxy has connected to.
func IsConnecting(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks "))
}

// schemes are those of proxies, with their default ports.
var schemes = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// FromEnvironment reads the environment and returns the Proxy of a transport. HTTPS_PROXY names the proxy for https and
// HTTP_PROXY that for http; ALL_PROXY names it for both where they do not, and NO_PROXY names hosts without one. Each
// may be in lower case. This machine has none. A request whose proxy is not valid fails with an Error, instead of being
// sent without it.
func FromEnvironment() func(*http.Request) (*url.URL, error) {
	config := httpproxy.FromEnvironment()
	errs := map[string]error{}
	if config.CGI && os.Getenv("HTTP_PROXY") != "" && os.Getenv("http_proxy") == "" {
		const reason = "is not used where REQUEST_METHOD is set, because a client of a CGI program can set it: " +
			"write http_proxy"
		errs["http"] = &Error{"HTTP_PROXY", reason}
	} else if config.CGI {
		config.HTTPProxy = os.Getenv("http_proxy")
	}
	config.CGI = false
	config.HTTPProxy = cmp.Or(config.HTTPProxy, allProxy())
	config.HTTPSProxy = cmp.Or(config.HTTPSProxy, allProxy())
	for scheme, text := range map[string]string{"http": config.HTTPProxy, "https": config.HTTPSProxy} {
		if reason := problem(text); reason != "" {
			errs[scheme] = &Error{variableOf(scheme), reason}
			setProxy(config, scheme, "http://proxy.invalid") // so that NO_PROXY is heard
		}
	}
	find := config.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) {
		u, err := find(r.URL)
		if u != nil && errs[r.URL.Scheme] != nil {
			return nil, errs[r.URL.Scheme]
		}
		return u, err
	}
}

func setProxy(config *httpproxy.Config, scheme, text string) {
	if scheme == "http" {
		config.HTTPProxy = text
	} else {
		config.HTTPSProxy = text
	}
}

func allProxy() string { return cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy")) }

// variableOf returns the name of the variable that names the proxy for a scheme.
func variableOf(scheme string) string {
	name := strings.ToUpper(scheme) + "_PROXY"
	names := []string{name, strings.ToLower(name), "ALL_PROXY", "all_proxy"}
	return names[max(0, slices.IndexFunc(names, func(name string) bool { return os.Getenv(name) != "" }))]
}

// problem returns why a text names no proxy; empty if it names one, or is empty. A proxy without a scheme is one of
// http.
func problem(text string) string {
	if text == "" {
		return ""
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "is not the address of a proxy, such as http://proxy.example:3128"
	}
	if schemes[u.Scheme] == "" {
		const text = "names a proxy of the scheme %.20q, which is not supported: http, https, socks5 and socks5h are"
		return fmt.Sprintf(text, u.Scheme)
	}
	if u.Hostname() == "" {
		return "names no host, such as http://proxy.example:3128"
	}
	return ""
}

// Address returns the host and the port of a proxy.
func Address(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), schemes[u.Scheme]))
}
