package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"net/url"
	"time"

	"github.com/go-resty/resty/v2"

	"hatchel/adapters"
	"hatchel/adapters/credential/auth"
	"hatchel/hcl"
	"hatchel/internal/contentcoding"
	"hatchel/internal/hostname"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
)

// service is an HTTP service with its pool of connections. It is the handle of a connection block; a
// block without a connection has a service of its own. It is immutable and safe for concurrent use.
type service struct {
	client       *resty.Client
	clientForGet *resty.Client        // sends a GET with a body, and costs a GET without one more
	transport    *nethttp.Transport   // its proxy and dialer; requests are sent by decoding
	decoding     nethttp.RoundTripper // each request once, with decoded responses and the signatures of the connection
	userAgent    []string

	base       string // the base_url without a trailing slash; empty without a connection
	headers    *hcl.KeyValues
	ownHeaders []string         // that the connection sets, with those that authenticate requests
	authorizer *auth.Authorizer // nil if requests need no credentials
	timeout    time.Duration    // of one attempt; 0 if not configured
	maxBody    hcl.Size
	trace      bool         // requests carry the traceparent of the call
	retry      *retryPolicy // of requests that are safe to repeat; nil means one attempt
	redirects  int          // the maximum number that is followed
	mocks      adapters.Mocks
}

const (
	maxIdlePerHost     = 64
	dialTimeout        = 10 * time.Second
	maxResponseHeaders = 256 << 10
)

func newService(tlsConfig *tls.Config, redirects int, env adapters.Env) *service {
	t := &nethttp.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxResponseHeaders,
	}
	proxy.Configure(t)
	once := sendonce.New(t)
	// There is no cookie jar, because callers must not share a session.
	s := &service{
		transport: t,
		decoding:  contentcoding.Transport{Next: once},
		userAgent: []string{"hatchel/" + env.Version},
		maxBody:   defaultMaxBody,
		trace:     true,
		redirects: redirects,
		mocks:     env.Mocks,
	}
	transport := redirectTransport{serviceTransport{s}}
	if s.mocks != nil {
		transport.RoundTripper = &mockedTransport{s, env.ConnectionName}
	}
	client := resty.NewWithClient(&nethttp.Client{Transport: transport, CheckRedirect: checkRedirect(redirects)})
	client.SetDoNotParseResponse(true).SetDisableWarn(true).SetPreRequestHook(fixBody)
	env.Defer(func() error {
		once.CloseIdleConnections()
		return nil
	})
	s.client, s.clientForGet = client, client.Clone().SetAllowGetMethodPayload(true)
	return s
}

// serviceTransport sends requests as the service does.
type serviceTransport struct{ *service }

// RoundTrip implements http.RoundTripper.
func (t serviceTransport) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	return t.decoding.RoundTrip(r)
}

// fixBody sets the body of a request to the attached stream, and marks an empty body as empty. Otherwise
// net/http would start a goroutine to find out whether it is empty.
func fixBody(_ *resty.Client, req *nethttp.Request) error {
	if s, ok := req.Context().Value(streamKey{}).(*bodyStream); ok {
		req.ContentLength, req.GetBody = s.size, s.open
		req.Body, _ = s.open()
	}
	if req.ContentLength == 0 && req.Body != nil {
		req.Body, req.GetBody = nethttp.NoBody, nil
	}
	return nil
}

// send sends one request. It does not modify the header.
func (s *service) send(
	ctx context.Context, method, address string, header nethttp.Header, body []byte,
) (*nethttp.Response, error) {
	client := s.client
	if method == nethttp.MethodGet && body != nil {
		client = s.clientForGet
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
	if resp.StatusCode() == nethttp.StatusSwitchingProtocols { // its body is the connection, without a timeout
		resp.RawResponse.Body.Close()
		resp.RawResponse.Body = nethttp.NoBody
	}
	return resp.RawResponse, nil
}

const maxTokenResponse = 64 << 10

// RequestToken implements auth.Service.
func (s *service) RequestToken(ctx context.Context, r *auth.TokenRequest) (*auth.TokenResponse, *adapters.Fault) {
	timeout := cmp.Or(s.timeout, defaultTimeout)
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, noRedirectKey{}, true), timeout)
	defer cancel()
	if s.mocks != nil {
		ctx = withDetails(ctx, mockedDetails{secrets: r.Secrets, answer: tokenType})
	}
	r.Header["User-Agent"] = s.userAgent
	resp, err := s.send(ctx, nethttp.MethodPost, r.URL, r.Header, r.Body)
	var raw []byte
	if err == nil {
		defer resp.Body.Close()
		raw, err = readBody(resp, maxTokenResponse)
	}
	if err != nil {
		return nil, &networkFailure(err, timeout).Fault
	}
	return &auth.TokenResponse{
		Status: resp.StatusCode, Header: resp.Header, Body: raw, Redirect: describeRedirect(resp, 0, r.Secrets),
	}, nil
}

// Credential implements adapters.SignedIn.
func (s *service) Credential() *adapters.CredentialState {
	if s.authorizer == nil {
		return nil
	}
	return s.authorizer.Credential()
}

// Credential implements adapters.SignedIn.
func (a *action) Credential() *adapters.CredentialState { return a.service.Credential() }

// Ping implements adapters.Health. It connects to the host or to its proxy, and sends nothing. A connection that has no
// credential of the machine to sign its requests with is not healthy.
func (s *service) Ping(ctx context.Context) error {
	if s.mocks != nil {
		return nil
	}
	u, err := url.Parse(s.base)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(u.Hostname(), hostname.Port(u))
	if via, err := s.transport.Proxy(&nethttp.Request{URL: u}); err != nil {
		return err
	} else if via != nil {
		address = proxy.Address(via)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := s.transport.DialContext(ctx, "tcp", address)
	if reason := adapters.DialReason(err); reason != "" {
		return errors.New("the service is not reachable: " + reason)
	}
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil || s.authorizer == nil {
		return err
	}
	return s.authorizer.Check(ctx)
}
