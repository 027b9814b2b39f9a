package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
)

// Reach returns why no connection can be made to a receiver, or the proxy before it, for the operator; empty when one can. It sends no request.
func Reach(ctx context.Context, h Hook) string {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	to, err := url.Parse(h.URL)
	if err != nil {
		return unsent(err, false).said
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: to})
	if err != nil {
		return "the proxy that the environment names is none"
	}
	if proxy != nil {
		to = proxy
	}
	dial, port := new(net.Dialer).DialContext, "80"
	if to.Scheme == "https" {
		dial, port = new(tls.Dialer).DialContext, "443"
	}
	if to.Port() != "" {
		port = to.Port()
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil {
		return unsent(err, false).said
	}
	conn.Close()
	return ""
}
