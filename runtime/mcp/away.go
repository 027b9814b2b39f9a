package mcp

import (
	"sync"
	"time"
)

// absence is that the client of a request is not there. It has a lock of its own: who sends to a client that takes nothing holds that of the exchange.
type absence struct {
	mu      sync.Mutex
	allowed bool      // the client was told to go; guarded by mu
	since   time.Time // when the client was first seen to be gone, or when it is to be back; zero while it is there; guarded by mu
}

// allow says that the connection was let go of, and when the client is to come back.
func (a *absence) allow(retry time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.allowed, a.since = true, time.Now().Add(retry)
}

// away reports whether the client of a session has been gone for too long: the connection of its request is over, and it follows no stream of the session. While
// the server shuts down nobody can come back, so that gone is gone at once.
func (x *exchange) away() bool {
	a := &x.absence
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.allowed && x.r.Context().Err() == nil || x.session.followed() {
		a.since = time.Time{}
		return false
	}
	select {
	case <-x.server.closing:
		return true
	default:
	}
	if a.since.IsZero() {
		a.since = time.Now()
	}
	return time.Since(a.since) >= x.server.options.SessionAway
}

// follows counts a connection on which a client follows events of the session, until what it returns is called.
func (e *session) follows() (done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.followers++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.followers--
	}
}

func (e *session) followed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.followers > 0
}
