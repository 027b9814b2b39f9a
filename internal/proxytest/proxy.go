// Package proxytest gives a test a reverse proxy that sends each request to the next backend, as a load balancer
// without sticky sessions does.
package proxytest

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"sync"
	"testing"
)

// Proxy is a reverse proxy whose backends take turns. A request that a backend does not accept goes to the next one;
// nothing is sent twice.
type Proxy struct {
	URL string

	backends  []string
	transport *http.Transport
	tamper    func(http.RoundTripper) http.RoundTripper

	mu       sync.Mutex
	turn     int               // guarded by mu
	servedBy map[string]string // backend by mark; guarded by mu
	requests []Request         // guarded by mu
}

// Request is a request that a backend has begun to answer.
type Request struct {
	Method, Backend string
	Resumes         bool // has a Last-Event-ID
	Answers         bool // carries the response to a question
	Status          int
}

// mark is an argument by which a test finds the backend of its call.
var mark = regexp.MustCompile(`"n":"([^"]+)"`)

// Start serves backends, which are host:port, until the test ends. Tamper, which may be nil, stands between the proxy
// and the backends.
func Start(t testing.TB, tamper func(http.RoundTripper) http.RoundTripper, backends ...string) *Proxy {
	t.Helper()
	// A connection for each request, so that a request that fails to connect was certainly not sent.
	p := &Proxy{
		backends: backends, transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		tamper: tamper, servedBy: map[string]string{},
	}
	if p.tamper == nil {
		p.tamper = func(to http.RoundTripper) http.RoundTripper { return to }
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.Host = "http", r.In.Host },
		Transport:     p.tamper(p),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // a backend that is killed is what a test is about
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the backend has not answered: "+err.Error(), http.StatusBadGateway)
		},
	})
	p.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

// RoundTrip implements http.RoundTripper.
func (p *Proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	err := errors.New("there is no backend")
	for range p.backends {
		backend := p.next(body)
		out := r.Clone(r.Context())
		out.URL.Host, out.Body = backend, io.NopCloser(bytes.NewReader(body))
		var res *http.Response
		if res, err = p.transport.RoundTrip(out); err == nil {
			p.record(Request{
				Method: r.Method, Backend: backend, Resumes: r.Header.Get("Last-Event-Id") != "",
				Answers: bytes.Contains(body, []byte(`"result"`)), Status: res.StatusCode,
			})
			return res, nil
		}
		if refused := new(net.OpError); !errors.As(err, &refused) || refused.Op != "dial" {
			return nil, err
		}
	}
	return nil, err
}

// next returns the backend whose turn it is, and remembers it for the mark of a call.
func (p *Proxy) next(body []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	backend := p.backends[p.turn%len(p.backends)]
	if m := mark.FindSubmatch(body); m != nil && bytes.Contains(body, []byte(`"tools/call"`)) {
		p.servedBy[string(m[1])] = backend
	}
	return backend
}

func (p *Proxy) record(r Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
}

// ServedBy returns the backend of the call with the argument n; empty if there was none.
func (p *Proxy) ServedBy(n string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.servedBy[n]
}

// Count counts the requests so far that a condition holds for.
func (p *Proxy) Count(holds func(Request) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if holds(r) {
			n++
		}
	}
	return n
}
