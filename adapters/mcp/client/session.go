package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
)

// Transport is the way to one server: of NewHTTP or NewStdio.
type Transport interface {
	transport()
}

// NewHTTP returns the transport to a server of streamable HTTP. It may be used for any number of sessions.
func NewHTTP(config HTTPConfig) Transport { return httpTransport{config} }

// NewStdio returns the transport to a program that reads one message a line from w, its standard input, and writes one
// a line to r, its standard output. It is used for one session, which closes w at its end. The session ends when r
// ends; the reads of r must end when the program does.
func NewStdio(r io.Reader, w io.WriteCloser) Transport { return stdioTransport{r, w} }

// NewRoundTripper returns the transport for HTTPConfig.RoundTripper: it uses the proxies of the environment, does not
// connect to link-local addresses and metadata services of clouds, and bounds headers. The tls configuration may be
// nil. CloseIdleConnections releases it.
func NewRoundTripper(config *tls.Config) *http.Transport {
	return &http.Transport{TLSClientConfig: config}
}

type httpTransport struct{ config HTTPConfig }

func (httpTransport) transport() {}

type stdioTransport struct {
	r io.Reader
	w io.WriteCloser
}

func (stdioTransport) transport() {}

// Session is one session with a server. Over HTTP with 2026-07-28, which has no sessions, it may serve any number of
// callers. It is safe for concurrent use. It keeps at most one connection of its own, to listen.
type Session struct {
	done chan struct{}
}

// Open begins a session: it negotiates the revision and declares what the options say. The error is an [*Error] or wraps
// ErrDiscoverEnded. The session outlives ctx, whose values it keeps for requests outside of calls.
func Open(ctx context.Context, t Transport, o Options) (*Session, error) {
	return nil, errors.ErrUnsupported
}

// Protocol returns the revision that the session speaks.
func (s *Session) Protocol() string { return "" }

// Server returns name and version of the server, as it says.
func (s *Session) Server() (name, version string) { return "", "" }

// Instructions returns the instructions of the server, as it says. They must not reach a model.
func (s *Session) Instructions() string { return "" }

// Tools lists the tools, all pages, within the limits MaxTools, MaxListBytes, MaxPages, MaxListTime and MaxDefinition. The
// error is an [*Error]; of Invalid if a limit is exceeded, because a list that is cut proves nothing.
func (s *Session) Tools(ctx context.Context) (List, error) { return List{}, errors.ErrUnsupported }

// Call calls a tool. The error is an [*Error] or an [*InputRequired]. When ctx ends, Call returns at once with an
// *Error that wraps its cause, and the server is told.
func (s *Session) Call(ctx context.Context, r *Request) (*Result, error) {
	return nil, errors.ErrUnsupported
}

// Ping asks the server for a sign of life: by ping, and since 2026-07-28 by server/discover. The error is an [*Error].
func (s *Session) Ping(ctx context.Context) error { return errors.ErrUnsupported }

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session has ended; nil before that, and after Close.
func (s *Session) Err() error { return nil }

// Close ends the session: its calls fail, and a server with sessions is told, for at most two seconds. It returns when
// nothing of the session runs any more; a stream that does not end with its reader is the exception.
func (s *Session) Close() {}
