package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
)

// listenPauses are the pauses before a stream that has ended is opened again.
var listenPauses = backoff.Policy{First: time.Second, Max: time.Minute, Jitter: 0.5}

// listen implements conn.
func (c *httpConn) listen() {
	throttle := throttleMessages()
	for failures, first := 0, true; ; first = false {
		begun := time.Now()
		if !c.listenOnce(first, throttle) {
			return
		}
		if failures++; time.Since(begun) > listenPauses.Max {
			failures = 1
		}
		pause := time.NewTimer(listenPauses.Pause(failures))
		select {
		case <-pause.C:
		case <-c.session.done:
			pause.Stop()
			return
		}
	}
}

// listenOnce opens a stream and reads it to its end, throttled. It reports false if the server has none.
func (c *httpConn) listenOnce(first bool, throttle *Throttle) (again bool) {
	s := c.session
	x := s.newExchange("subscriptions/listen", []byte(`"notifications":{"toolsListChanged":true}`))
	x.endless = true
	resp, err := c.openStream(x)
	if err != nil {
		return !refuses(err)
	}
	defer resp.Body.Close()
	if !first && s.options.Changed != nil {
		s.options.Changed() // what changed meanwhile was not received
	}
	wait := func(n int) error { return ctxtime.Sleep(s.ctx, throttle.Pause(n)) }
	events := newEventReader(resp.Body, x.maxSize, wait)
	defer events.release()
	m, err := c.readUntilAnswer(s.ctx, events, x)
	return err != nil && !isInvalid(err) || m != nil && m.rpc == nil
}

// openStream opens the stream of what the server sends outside of calls.
func (c *httpConn) openStream(x *exchange) (*http.Response, error) {
	if !c.modern {
		return c.get(c.session.ctx, "")
	}
	resp, err := c.post(c.session.ctx, x)
	if err != nil {
		return nil, err
	}
	if mediaType(resp.Header) != "text/event-stream" {
		resp.Body.Close()
		return nil, invalid("the server answered with no stream of events")
	}
	return resp, nil
}

// refuses reports whether a server does not offer what was asked for.
func refuses(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case Rejected, Invalid, SessionLost:
		return true
	case Status:
		return e.Status < 500 && e.Status != http.StatusTooManyRequests
	case NotSent:
		return errors.Is(err, context.Canceled)
	}
	return false
}
