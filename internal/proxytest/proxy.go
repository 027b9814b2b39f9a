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
	"slices"
	"sync"
	"testing"
)

// Proxy is a reverse proxy whose backends take turns. A request that a backend does not accept goes to the next
// one, and so does a GET that it does not begin to answer, as with nginx; nothing else is sent twice.
type Proxy struct {
	URL string

	backends  []string
	transport *http.Transport
	tamper    func(http.RoundTripper) http.RoundTripper

	mu       sync.Mutex
	turn     int               // guarded by mu
	servedBy map[string]string // backend by mark; guarded by mu
	lost     map[string]bool   // marks of requests that were not answered completely; guarded by mu
	requests []Request         // guarded by mu
}

// Request is a request that a backend has begun to answer.
type Request struct {
	Method, Backend string
	Resumes         bool // has a Last-Event-ID
	Answers         bool // carries the response to a question
	Status          int
}

// mark is an argument n of a call, or an answer that repeats it, by which a test finds the backend of its call.
var mark = regexp.MustCompile(`"(?:n|name|text)":"(?:model )?(n[0-9]+)"`)

// Start serves backends, which are host:port, until the test ends. Tamper, which may be nil, stands between the proxy
// and the backends.
func Start(t testing.TB, tamper func(http.RoundTripper) http.RoundTripper, backends ...string) *Proxy {
	t.Helper()
	// A connection for each request, so that a request that fails to connect was certainly not sent.
	p := &Proxy{
		backends: backends, transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		tamper: tamper, servedBy: map[string]string{}, lost: map[string]bool{},
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
	for _, backend := range p.order() {
		n := p.markCall(body, backend)
		out := r.Clone(r.Context())
		out.URL.Host, out.Body = backend, io.NopCloser(bytes.NewReader(body))
		var res *http.Response
		if res, err = p.transport.RoundTrip(out); err == nil {
			p.record(Request{
				Method: r.Method, Backend: backend, Resumes: r.Header.Get("Last-Event-Id") != "",
				Answers: bytes.Contains(body, []byte(`"result"`)), Status: res.StatusCode,
			})
			res.Body = &watchedBody{ReadCloser: res.Body, broken: func() {
				if r.Context().Err() == nil {
					p.lose(n)
				}
			}}
			return res, nil
		}
		refused := new(net.OpError)
		sent := !errors.As(err, &refused) || refused.Op != "dial"
		if sent && (r.Method != http.MethodGet || r.Context().Err() != nil) {
			p.lose(n)
			return nil, err
		}
	}
	return nil, err
}

// watchedBody is a response body that reports that it was cut off.
type watchedBody struct {
	io.ReadCloser
	broken func()
}

func (b *watchedBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	if err != nil && err != io.EOF {
		b.broken()
	}
	return n, err
}

// lose records that a request with a mark was not answered completely.
func (p *Proxy) lose(n string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[n] = true
}

// order returns the backends, the one whose turn it is first.
func (p *Proxy) order() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn = (p.turn + 1) % len(p.backends)
	return slices.Concat(p.backends[p.turn:], p.backends[:p.turn])
}

// markCall returns the mark of a request, for which it remembers the backend of a call.
func (p *Proxy) markCall(body []byte, backend string) string {
	m := mark.FindSubmatch(body)
	if m == nil {
		return ""
	}
	if bytes.Contains(body, []byte(`"tools/call"`)) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.servedBy[string(m[1])] = backend
	}
	return string(m[1])
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

// Lost reports whether a backend ended while it served a request with the argument n.
func (p *Proxy) Lost(n string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost[n]
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
