package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
	"hatchel/internal/hostname"
	"hatchel/internal/mcpheader"
	"hatchel/internal/sendonce"
)

// NewHTTP returns the transport to a server of streamable HTTP. It may be used for any number of sessions.
func NewHTTP(config HTTPConfig) Transport { return &httpTransport{config} }

type httpTransport struct{ config HTTPConfig }

func (t *httpTransport) connect(s *Session) (conn, error) {
	u, err := url.Parse(t.config.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL of an MCP server must begin with http:// or https:// and have a host")
	}
	u.Fragment, u.RawFragment = "", ""
	return &httpConn{
		session: s, config: t.config, url: u, userAgent: []string{s.options.Name + "/" + s.options.Version},
		discovering: []string{Revision20260728},
	}, nil
}

// httpConn is a conn over streamable HTTP.
type httpConn struct {
	session     *Session
	config      HTTPConfig
	url         *url.URL
	userAgent   []string
	discovering []string // the header with the revision of server/discover

	// These are set before calls begin.
	revision  []string // the header with the revision; nil before it is known
	modern    bool
	sessionID []string // the header with the id of the session; nil if there is none

	closing sync.Once
}

var (
	acceptBoth   = []string{"application/json, text/event-stream"}
	acceptEvents = []string{"text/event-stream"}
	jsonType     = []string{"application/json"}
)

const (
	farewell       = 2 * time.Second // for messages that end something
	maxRedirects   = 5
	maxErrorBody   = 64 << 10 // bytes of the body of a status that is an error
	maxSessionID   = 1 << 10  // bytes
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
)

func (c *httpConn) cancelsByClosing() bool { return c.modern }

func (c *httpConn) negotiated(revision string) {
	c.revision, c.modern = []string{revision}, revision == Revision20260728
}

// do implements conn.
func (c *httpConn) do(ctx context.Context, x *exchange) (*message, error) {
	if x.method == "initialize" {
		longer, end := outlive(ctx)
		defer end()
		ctx = longer
	}
	ctx, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(context.Canceled) }
	if !c.session.enter(x, cancel) {
		end()
		return nil, c.session.closedError(NotSent)
	}
	defer c.session.leave(x)
	resp, err := c.post(ctx, x)
	if err != nil {
		err = c.explain(ctx, err)
		end()
		return nil, err
	}
	m, err := c.readAnswer(ctx, resp, x, end)
	if err != nil {
		err = c.explain(ctx, err)
		end()
	}
	return m, err
}

// outlive returns a context that ends farewell after ctx, or with end. The answer to initialize has the id of a
// session, which the server would keep if nobody read it.
func outlive(ctx context.Context) (longer context.Context, end func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(farewell, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() {
		stop()
		cancel(context.Canceled)
	}
}

// explain returns an error of a request as an *Error. Without one of its own it has had an effect, or not.
func (c *httpConn) explain(ctx context.Context, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Kind: Unknown, Err: err}
		if isInvalid(err) {
			e.Kind = Invalid
		}
	}
	if e.Kind != NotSent && e.Kind != Unknown {
		return e
	}
	if cause := context.Cause(ctx); cause == ErrClosed {
		return c.session.closedError(e.Kind)
	} else if cause != nil {
		e.Err = cause
	}
	return e
}

// isInvalid reports whether an error is about what the server sent.
func isInvalid(err error) bool {
	_, syntax := errors.AsType[*jsonscan.SyntaxError](err)
	_, limit := errors.AsType[*limitError](err)
	return syntax || limit || errors.Is(err, errNoMessage) || errors.Is(err, errManyBatched)
}

// post sends the frame of an exchange. The response has a status from 200 to 299.
func (c *httpConn) post(ctx context.Context, x *exchange) (*http.Response, error) {
	header, err := c.header(ctx)
	if err != nil {
		return nil, err
	}
	header["Accept"] = acceptBoth
	header["Content-Type"] = jsonType
	switch {
	case c.modern || x.method == "server/discover":
		c.addModern(header, x)
	case x.method == "initialize":
		delete(header, headerRevision)
	}
	return c.sendRequest(ctx, http.MethodPost, header, x.frame, x)
}

// header returns the headers of each request.
func (c *httpConn) header(ctx context.Context) (http.Header, error) {
	header := http.Header{}
	if c.config.Header != nil {
		own, err := c.config.Header(ctx)
		if err != nil {
			return nil, &Error{Kind: NotSent, Err: err}
		}
		if own != nil {
			header = own
		}
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = c.userAgent
	}
	delete(header, headerRevision)
	delete(header, headerSession)
	if c.revision != nil {
		header[headerRevision] = c.revision
	}
	if c.sessionID != nil {
		header[headerSession] = c.sessionID
	}
	return header, nil
}

// addModern adds the headers of 2026-07-28.
func (c *httpConn) addModern(header http.Header, x *exchange) {
	if c.revision == nil {
		header[headerRevision] = c.discovering
	}
	header["Mcp-Method"] = []string{x.method}
	if x.name != "" {
		header["Mcp-Name"] = []string{mcpheader.Encode(x.name)}
	}
	if x.call != nil {
		addMirrored(header, x.call)
	}
}

// sendRequest sends a request, and follows redirects on the same origin that repeat it. The response has a status
// from 200 to 299. The exchange is nil for requests that belong to none.
func (c *httpConn) sendRequest(
	ctx context.Context, method string, header http.Header, body []byte, x *exchange,
) (*http.Response, error) {
	to := c.url
	for redirects := 0; ; redirects++ {
		resp, err := c.roundTrip(ctx, method, to, header, body)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
			return resp, nil
		}
		if next := c.redirect(resp); next != nil && redirects < maxRedirects {
			discard(resp.Body)
			to = next
			continue
		}
		return nil, c.statusError(resp, x)
	}
}

// redirect returns the address of a redirect that is followed; nil for any other response. The server has not carried
// the request out, and is sent it once more.
func (c *httpConn) redirect(resp *http.Response) *url.URL {
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	to, err := resp.Location()
	if err != nil || to.User != nil || !hostname.HaveSameOrigin(to, c.url) {
		return nil
	}
	return to
}

// roundTrip sends one request.
func (c *httpConn) roundTrip(
	ctx context.Context, method string, to *url.URL, header http.Header, body []byte,
) (*http.Response, error) {
	r := &http.Request{
		Method: method, URL: to, Host: to.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if body == nil {
		resp, err := c.config.RoundTripper.RoundTrip(r.WithContext(ctx))
		if err != nil {
			err = &Error{Kind: Unknown, Err: err}
		}
		return resp, err
	}
	// The type of the body is one that net/http sends together with the headers.
	sent := &sending{}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	r.ContentLength = int64(len(body))
	resp, err := c.config.RoundTripper.RoundTrip(r.WithContext(sent.watch(ctx)))
	if err == nil {
		return resp, nil
	}
	if sent.nothing() || sendonce.IsUnprocessed(err) {
		return nil, &Error{Kind: NotSent, Err: err}
	}
	return nil, &Error{Kind: Unknown, Err: err}
}

// statusError returns the error for a response with a status from 300 on.
func (c *httpConn) statusError(resp *http.Response, x *exchange) error {
	defer resp.Body.Close()
	e := &Error{Kind: Status, Status: resp.StatusCode, RetryAfter: backoff.RetryAfter(resp.Header)}
	if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
		to.User, to.RawQuery, to.Fragment, to.RawFragment = nil, "", "", ""
		e.Location = to.String()
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil || resp.StatusCode < 400 {
		return e
	}
	isAnswer := false
	if list, err := parse(text); err == nil && len(list) == 1 && list[0].rpc != nil {
		e.RPC = list[0].rpc
		isAnswer = x != nil && list[0].isAnswerTo(x.id)
	}
	switch {
	case c.sessionID != nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest &&
		namesSession(text)):
		e.Kind = SessionLost
	case isAnswer && resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		e.Kind = Rejected
	}
	return e
}

// namesSession reports whether the text of status 400 is about the session. Servers of the TypeScript SDK answer so
// to the id of a session that they do not have, in place of 404.
func namesSession(text []byte) bool {
	text = bytes.ToLower(text)
	return bytes.Contains(text, []byte("session")) || bytes.Contains(text, []byte("not initialized"))
}

// send implements conn.
func (c *httpConn) send(ctx context.Context, frame []byte) error {
	header, err := c.header(ctx)
	if err != nil {
		return err
	}
	header["Accept"], header["Content-Type"] = acceptBoth, jsonType
	resp, err := c.sendRequest(ctx, http.MethodPost, header, frame, nil)
	if err != nil {
		return c.explain(ctx, err)
	}
	discard(resp.Body)
	return nil
}

// discard reads a body that should be empty, so that its connection can be used again.
func discard(body io.ReadCloser) {
	io.CopyN(io.Discard, body, 4<<10)
	body.Close()
}

// readAnswer reads the response to an exchange. Without an error it calls end when the connection is no longer
// needed, which may be later.
func (c *httpConn) readAnswer(ctx context.Context, resp *http.Response, x *exchange, end func()) (*message, error) {
	if x.method == "initialize" {
		c.keepSessionID(resp.Header)
	}
	switch kind := mediaType(resp.Header); kind {
	case "application/json":
		m, err := c.readJSON(ctx, resp, x)
		if err == nil {
			end()
		}
		return m, err
	case "text/event-stream":
		return c.readEvents(ctx, resp, x, end)
	default:
		resp.Body.Close()
		if kind == "" {
			return nil, invalid("the server answered with status %d and no content", resp.StatusCode)
		}
		return nil, invalid("the server answered with content of the type %q", jsonscan.Excerpt(kind))
	}
}

// keepSessionID notes the id of the session that the server has begun.
func (c *httpConn) keepSessionID(h http.Header) {
	id := h.Get(headerSession)
	if id == "" || len(id) > maxSessionID || strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' }) {
		return
	}
	c.sessionID = []string{id}
}

func mediaType(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// readJSON reads an answer that is one JSON text.
func (c *httpConn) readJSON(ctx context.Context, resp *http.Response, x *exchange) (*message, error) {
	defer resp.Body.Close()
	data, err := readBody(resp, x.maxSize)
	if err != nil {
		return nil, err
	}
	if err := x.count(len(data), 0); err != nil {
		return nil, err
	}
	m, err := c.handle(ctx, data, x)
	if m == nil && err == nil {
		err = invalid("the server answered with messages that are no answer to the request")
	}
	return m, err
}

// handle handles a JSON text of an exchange: its answer, which is returned, and other messages.
func (c *httpConn) handle(ctx context.Context, data []byte, x *exchange) (*message, error) {
	list, err := parse(data)
	if err != nil {
		return nil, err
	}
	if err := x.count(0, len(list)); err != nil {
		return nil, err
	}
	c.session.trace(false, data)
	var answer *message
	for _, m := range list {
		if m.isAnswerTo(x.id) {
			answer = m
		} else {
			c.session.incoming(x, m)
		}
	}
	if err := x.count(0, 0); err != nil && answer == nil {
		return nil, err
	}
	return answer, context.Cause(ctx)
}

// readBody reads a body of a limited size.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	if n := resp.ContentLength; n > int64(limit) {
		return nil, tooLarge(limit)
	} else if n >= 0 {
		data := make([]byte, n)
		_, err := io.ReadFull(resp.Body, data)
		return data, err
	}
	b := bodies.Get().(*bytes.Buffer)
	defer func() {
		if b.Cap() <= maxReusedBody {
			b.Reset()
			bodies.Put(b)
		}
	}()
	if _, err := b.ReadFrom(io.LimitReader(resp.Body, int64(limit)+1)); err != nil {
		return nil, err
	}
	if b.Len() > limit {
		return nil, tooLarge(limit)
	}
	return bytes.Clone(b.Bytes()), nil
}

// bodies are buffers for bodies whose size is not known.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxReusedBody = 256 << 10 // bytes of a buffer that is kept

// readEvents reads an answer that is a stream of events. A stream of a revision up to 2025-11-25 that breaks after an
// event with an id is asked for what is missing, once after each such event.
func (c *httpConn) readEvents(ctx context.Context, resp *http.Response, x *exchange, end func()) (*message, error) {
	resumed := ""
	for {
		events := newEventReader(resp.Body, x.maxSize, x.countBytes)
		m, err := c.readUntilAnswer(ctx, events, x)
		lastID, retry := events.lastID, events.retry
		events.release()
		if m != nil {
			finishing := func() {
				stop := context.AfterFunc(c.session.ctx, end)
				defer stop()
				finish(resp.Body, end)
			}
			if !c.session.goWhileOpen(finishing) {
				finishing()
			}
			return m, nil
		}
		resp.Body.Close()
		if isInvalid(err) || ctx.Err() != nil || c.modern || lastID == "" || lastID == resumed {
			return nil, brokenStream(err)
		}
		resumed = lastID
		if err := ctxtime.Sleep(ctx, max(retry, resumePause)); err != nil {
			return nil, err
		}
		next, resumeErr := c.get(ctx, lastID)
		if resumeErr != nil {
			return nil, brokenStream(err)
		}
		resp = next
	}
}

// resumePause is the shortest time after which a broken stream is asked for.
const resumePause = 100 * time.Millisecond

// brokenStream returns the error for a stream that ended without its answer.
func brokenStream(err error) error {
	if err == io.EOF {
		return fmt.Errorf("the stream ended without an answer: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// readUntilAnswer reads events up to the answer to an exchange. Without an answer it returns why the stream ended.
func (c *httpConn) readUntilAnswer(ctx context.Context, events *eventReader, x *exchange) (*message, error) {
	for {
		ev, err := events.next()
		if err != nil {
			return nil, err
		}
		if len(ev.data) == 0 || ev.name != "" && ev.name != "message" {
			if err := x.count(0, 1); err != nil {
				return nil, err
			}
			continue
		}
		if m, err := c.handle(ctx, ev.data, x); m != nil || err != nil {
			return m, err
		}
	}
}

// finish reads the end of a stream after its answer, so that its connection can be used again, and then calls end.
func finish(body io.ReadCloser, end func()) {
	timeout := time.AfterFunc(farewell, end)
	io.CopyN(io.Discard, body, maxErrorBody)
	timeout.Stop()
	body.Close()
	end()
}

// get opens a stream of events of a revision up to 2025-11-25.
func (c *httpConn) get(ctx context.Context, lastID string) (*http.Response, error) {
	header, err := c.header(ctx)
	if err != nil {
		return nil, err
	}
	header["Accept"] = acceptEvents
	if lastID != "" {
		header["Last-Event-Id"] = []string{lastID}
	}
	resp, err := c.sendRequest(ctx, http.MethodGet, header, nil, nil)
	if err != nil {
		return nil, err
	}
	if mediaType(resp.Header) != "text/event-stream" {
		resp.Body.Close()
		return nil, invalid("the server answered with no stream of events")
	}
	return resp, nil
}

// close implements conn. It tells a server with sessions that this one has ended.
func (c *httpConn) close() {
	c.closing.Do(func() {
		if c.sessionID == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.session.ctx), farewell)
		defer cancel()
		header, err := c.header(ctx)
		if err != nil {
			return
		}
		resp, err := c.sendRequest(ctx, http.MethodDelete, header, nil, nil)
		if err == nil {
			discard(resp.Body)
		}
	})
}
