package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
)

// CheckConnection connects to the receiver of a webhook, or to the proxy in front of it, and sends no request.
// It returns the reason of a failure for the operator, without the URL, or an empty string.
func CheckConnection(ctx context.Context, h Endpoint) string {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	to, err := url.Parse(h.URL)
	if err != nil {
		return connectionFailure(err, false).message
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: to})
	if err != nil {
		return "the environment has an invalid proxy address"
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
		return connectionFailure(err, false).message
	}
	conn.Close()
	return ""
}
