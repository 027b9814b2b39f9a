package mcp

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

// wake returns what makes one receiver of c receive.
func wake(c chan<- struct{}) func() {
	return func() {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// mostWished is how many bytes a request for a subscription may have, which stays in memory as long as the subscription.
const mostWished = 256 << 10

// listenHTTP serves a subscription until the client goes away or takes nothing any more, its credentials are good no more, or the server shuts down.
func (s *Server) listenHTTP(x *exchange, m *message, c *Caller) {
	if !x.accepts.events {
		refuse(x.w, http.StatusNotAcceptable, "The Accept header must allow text/event-stream")
		return
	}
	w, err := m.wishes(c)
	if err == nil && x.size > mostWished {
		err = errorf(CodeInvalidParams, "A request for a subscription may have %d bytes, and this one has %d", mostWished, x.size)
	}
	if err != nil {
		x.fail(err, m.id)
		return
	}
	if !s.waits.enter() {
		x.fail(errorf(CodeBusy, "Too many subscriptions at once. Try again shortly"), m.id)
		return
	}
	defer s.waits.leave()
	ctx, cancel := s.streams.open(x.r.Context())
	defer cancel()
	u := s.newSubscription(x.view.toolset, bytes.Clone(m.id))
	defer u.end()
	u.looks = func(id string) ([]byte, error) {
		return s.standing(ctx, &TaskRequest{Method: "tasks/get", ID: id, Caller: c})
	}
	x.await()
	acknowledged, some, refused := s.grant(ctx, u, c, w)
	x.quiet()
	if refused != nil {
		x.fail(s.refused(ctx, m, refused), m.id)
		return
	}
	x.notify(acknowledged)
	if some && !s.deliver(ctx, x, u) {
		return
	}
	x.finish(u.ended(x.view.info), http.StatusOK)
}

// fewNotices is how many messages are put together to be sent at once: each may be as large as the result of a task.
const fewNotices = 16

// deliver sends what u hears, and reports whether the subscription is to be ended in form.
func (s *Server) deliver(ctx context.Context, x *exchange, u *subscription) bool {
	news := make(chan struct{}, 1)
	u.deliver(wake(news))
	alive := time.NewTicker(s.options.KeepAlive)
	defer alive.Stop()
	for closing := false; !closing; {
		chunk := []byte(nil)
		select {
		case <-news:
		case <-alive.C:
			chunk = []byte(": keep-alive\n\n")
		case <-s.closing:
			closing = true
		case <-ctx.Done():
			return false
		}
		for more := true; more; chunk = chunk[:0] {
			more = u.take(fewNotices, func(frame []byte) { chunk = event{frame: frame}.append(chunk) })
			if len(chunk) > 0 && s.send(x.w, chunk) != nil {
				return false
			}
		}
	}
	return true
}
