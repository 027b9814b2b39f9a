// Package sendonce has net/http send a request once. A [http.Transport] repeats requests by itself, as often as it
// likes: over HTTP/2 after a reset with PROTOCOL_ERROR, when the service may have carried the request out; over HTTP/1
// after a broken connection, if the request has an Idempotency-Key.
package sendonce

import (
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
)

// UnprocessedError is the error of a request that the service has not processed: it has closed the connection before
// the request was written, or has said that it does not process the request.
type UnprocessedError struct{ Err error }

// Error implements error.
func (e *UnprocessedError) Error() string {
	return "the service has not processed the request: " + e.Err.Error()
}

// Unwrap returns the error of the last attempt, or that of the context that ended the pause after it.
func (e *UnprocessedError) Unwrap() error { return e.Err }

// IsUnprocessed reports whether an error is that of a request that the service has not processed.
func IsUnprocessed(err error) bool {
	_, ok := errors.AsType[*UnprocessedError](err)
	return ok
}

// Transport sends requests by a [http.Transport]. Nothing that the service may have processed is sent again, with one
// exception: net/http repeats GET, HEAD, OPTIONS and TRACE when a connection of HTTP/1 breaks that was used before,
// until it has a new connection. A request that was certainly not processed is sent up to five times, with pauses of
// less than a second in all, if it has no body or GetBody returns the body again; then it fails with an
// [UnprocessedError]. A Transport may be used concurrently.
type Transport struct {
	next  *http.Transport
	conns *pool // nil without HTTP/2
}

const maxSends = 5 // of a request that was not processed

var pauses = backoff.Policy{First: 50 * time.Millisecond, Max: 200 * time.Millisecond, Jitter: 1}

// New returns a Transport, which speaks HTTP/2 if t has ForceAttemptHTTP2 and keeps connections, and otherwise HTTP/1
// alone. It sets TLSNextProto, Protocols and TLSClientConfig of t. The caller must not have sent a request by t, and
// sends none by it later.
func New(t *http.Transport) *Transport {
	if !t.ForceAttemptHTTP2 || t.DisableKeepAlives {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
		return &Transport{next: t}
	}
	config := &tls.Config{}
	if t.TLSClientConfig != nil {
		config = t.TLSClientConfig.Clone()
	}
	config.NextProtos = []string{http2.NextProtoTLS, "http/1.1"}
	p := newPool(t)
	t.TLSClientConfig, t.Protocols = config, nil
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{http2.NextProtoTLS: p.add}
	t.RegisterProtocol("https", opened{p})
	return &Transport{next: t, conns: p}
}

// CloseIdleConnections closes the connections that are not in use, and has the others of HTTP/2 close after their use.
func (t *Transport) CloseIdleConnections() {
	t.next.CloseIdleConnections()
	if t.conns != nil {
		t.conns.closeIdle()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := withoutReplay(r)
	for n := 1; ; n++ {
		resp, err := t.next.RoundTrip(sent)
		if err == nil {
			resp.Request = r
			return resp, nil
		}
		unprocessed, again := judge(err)
		if !unprocessed {
			return nil, err
		}
		hasBody := r.Body != nil && r.Body != http.NoBody
		if !again || n == maxSends || hasBody && r.GetBody == nil {
			return nil, &UnprocessedError{err}
		}
		if n > 1 {
			if err := ctxtime.Sleep(r.Context(), pauses.Pause(n-1)); err != nil {
				return nil, &UnprocessedError{err}
			}
		}
		if hasBody {
			body, err := r.GetBody()
			if err != nil {
				return nil, &UnprocessedError{err}
			}
			next := *sent
			next.Body, sent = body, &next
		}
	}
}

// replayKeys are the headers by which net/http takes any request as one that it may repeat.
var replayKeys = []string{"Idempotency-Key", "X-Idempotency-Key"}

// withoutReplay returns a request that net/http does not repeat because of its headers. It looks for the canonical
// spelling of their names, and services read them in any.
func withoutReplay(r *http.Request) *http.Request {
	if isSafe(r.Method) {
		return r
	}
	copied := r
	for _, name := range replayKeys {
		values, ok := r.Header[name]
		if !ok {
			continue
		}
		if copied == r {
			c := *r
			c.Header, copied = r.Header.Clone(), &c
		}
		delete(copied.Header, name)
		copied.Header[strings.ToLower(name)] = values
	}
	return copied
}

// isSafe reports whether a method is one of those that net/http repeats over HTTP/1.
func isSafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// judge reports whether an error says that the service has not processed the request, and whether it may process it
// when it is sent again. net/http and http2 do not export the errors that are compared as texts; tests hold them.
func judge(err error) (unprocessed, again bool) {
	if reset, ok := errors.AsType[http2.StreamError](err); ok {
		refused := reset.Code == http2.ErrCodeRefusedStream // RFC 9113, section 8.7
		return refused, refused
	}
	text := err.Error()
	switch {
	case text == textUnusable, text == textGoAway, text == textNotEstablished, text == textClosedIdle:
		return true, true
	case strings.HasPrefix(text, textGoAwayCode):
		return true, false // the service has an objection to the first request of a connection
	}
	return false, false
}

const (
	// Nothing was written: the connection of HTTP/2 was closed, or takes no more requests.
	textUnusable       = "http2: client conn not usable"
	textNotEstablished = "http2: client conn could not be established"
	// GOAWAY has a smaller stream identifier than that of the request.
	textGoAway     = "http2: Transport received Server's graceful shutdown GOAWAY"
	textGoAwayCode = "http2: Transport received GOAWAY from server ErrCode:"
	// The service closed a connection of HTTP/1 when no request had been given to it.
	textClosedIdle = "http: server closed idle connection"
)
