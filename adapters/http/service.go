package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/url"
	"time"

	"github.com/go-resty/resty/v2"

	"hatchel/adapters"
	"hatchel/hcl"
)

// A service is where requests go: one pool of connections and what all requests to it share. It is the handle of a connection; a block without
// one has a service of its own. It is immutable and safe for concurrent use.
type service struct {
	client    *resty.Client
	bodied    *resty.Client // the same for a GET with a body, which the other would leave out
	transport *nethttp.Transport
	agent     []string
	life      context.Context // for what outlives a call, and is ended by env.Defer

	base    string // of a connection, without the slash at its end; empty when addresses are whole URLs
	headers *hcl.KeyValues
	signer  signer        // nil: requests are not signed in
	timeout time.Duration // of one attempt; 0 when nothing was written
	maxBody hcl.Size
	retry   *policy // of requests that may be repeated; nil: one attempt
}

const (
	idlePerHost     = 64
	dialTimeout     = 10 * time.Second
	maxHeaderAnswer = 256 << 10
)

func newService(ctx context.Context, tlsConfig *tls.Config, redirects int, env adapters.Env) *service {
	t := &nethttp.Transport{
		Proxy:                  nethttp.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaderAnswer,
	}
	// No cookie jar: one caller's session must not become another's.
	client := resty.NewWithClient(&nethttp.Client{Transport: t, CheckRedirect: sameHost(redirects)})
	client.SetDoNotParseResponse(true).SetDisableWarn(true).SetPreRequestHook(knownEnd)
	env.Defer(func() error {
		t.CloseIdleConnections()
		return nil
	})
	return &service{
		client:    client,
		bodied:    client.Clone().SetAllowGetMethodPayload(true),
		transport: t,
		agent:     []string{"hatchel/" + env.Version},
		life:      context.WithoutCancel(ctx),
		maxBody:   defaultMaxBody,
	}
}

// knownEnd gives a request the body that is a stream, and says of an empty one that it is empty: net/http would start a goroutine to find out.
func knownEnd(_ *resty.Client, req *nethttp.Request) error {
	sendStream(req)
	if req.ContentLength == 0 && req.Body != nil {
		req.Body, req.GetBody = nethttp.NoBody, nil
	}
	return nil
}

// send sends one request. The header is only read.
func (s *service) send(ctx context.Context, method, address string, header nethttp.Header, body []byte) (*nethttp.Response, error) {
	client := s.client
	if method == nethttp.MethodGet && body != nil {
		client = s.bodied
	}
	req := client.R().SetContext(ctx)
	req.Header = header
	if body != nil {
		req.SetBody(bytes.NewReader(body))
	}
	resp, err := req.Execute(method, address)
	if err != nil {
		return nil, err
	}
	return resp.RawResponse, nil
}

var (
	errOtherHost = errors.New("redirect to another host")
	errManyHops  = errors.New("too many redirects")
)

type unmovedKey struct{}

// unmoved has no redirect of the request be followed: what it says is for one address.
func unmoved(ctx context.Context) context.Context { return context.WithValue(ctx, unmovedKey{}, true) }

// sameHost follows redirects on the host of the first request only, if at all. From http to https on that host is the same host made safer; the other way is not.
func sameHost(limit int) func(*nethttp.Request, []*nethttp.Request) error {
	return func(next *nethttp.Request, via []*nethttp.Request) error {
		first := via[0].URL
		switch {
		case limit == 0, next.Context().Value(unmovedKey{}) != nil:
			return nethttp.ErrUseLastResponse
		case !sameOrigin(first, next.URL) && !upgrades(first, next.URL):
			return fmt.Errorf("%w: %s", errOtherHost, next.URL.Host)
		case len(via) > limit:
			return fmt.Errorf("%w: more than %d", errManyHops, limit)
		}
		next.Header.Del("Referer") // it would repeat keys that stand in a query
		return nil
	}
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

func upgrades(from, to *url.URL) bool {
	return from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname() && port(from) == "80" && port(to) == "443"
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Ping asks whether the host, or the proxy before it, takes connections. It sends nothing.
func (s *service) Ping(ctx context.Context) error {
	u, err := url.Parse(s.base)
	if err != nil {
		return err
	}
	proxy, err := nethttp.ProxyFromEnvironment(&nethttp.Request{URL: u})
	if err != nil {
		return err
	}
	if proxy != nil {
		u = proxy
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := s.transport.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port(u)))
	if reason := adapters.DialReason(err); reason != "" {
		return errors.New("the service is not reachable: " + reason)
	}
	if err != nil {
		return err
	}
	return conn.Close()
}
