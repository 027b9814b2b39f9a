package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// disconnectState records since when the client of a request is disconnected. It has its own lock,
// because that of the response is held while a client does not read.
type disconnectState struct {
	mu       sync.Mutex
	detached bool      // the server has closed the connection; guarded by mu
	since    time.Time // when the client disconnected or should return; zero if it is connected; guarded by mu
}

// detach ends the connection but not the stream: further events are kept in the session until the
// client returns after retry.
func (resp *postResponse) detach(retry time.Duration) bool {
	resp.mu.Lock()
	defer resp.mu.Unlock()
	if resp.over || resp.detached || resp.session == nil || !resp.accepts.events ||
		!resp.session.revision.sendsPrimingEvent() || !resp.r.ProtoAtLeast(1, 1) {
		return false
	}
	if !resp.streaming {
		// The client learns early that it cannot reuse the connection.
		resp.w.Header()["Connection"] = []string{"close"}
	}
	resp.startStreamLocked()
	resp.writeLocked(strconv.AppendInt([]byte("retry: "), max(1, retry.Milliseconds()), 10))
	resp.writeLocked([]byte("\n\n"))
	conn, _, err := http.NewResponseController(resp.w).Hijack()
	if err != nil {
		return false
	}
	resp.detached = true
	resp.disconnect.mu.Lock()
	resp.disconnect.detached, resp.disconnect.since = true, time.Now().Add(retry)
	resp.disconnect.mu.Unlock()
	conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	conn.Write([]byte("0\r\n\r\n")) // the last chunk completes the response
	conn.Close()
	return true
}

// disconnected reports whether the client has been disconnected for too long: its connection is
// closed, and it reads no other stream of the session. During a shutdown no client can return, so
// any time is too long.
func (resp *postResponse) disconnected() bool {
	d := &resp.disconnect
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.detached && resp.r.Context().Err() == nil || resp.session.connected() {
		d.since = time.Time{}
		return false
	}
	if d.since.IsZero() {
		d.since = time.Now()
	}
	return resp.server.isClosing() || time.Since(d.since) >= returnTimeout
}

// addConnection counts a connection that reads events of the session until done is called.
func (sess *session) addConnection() (done func()) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.connections++
	return func() {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		sess.connections--
	}
}

func (sess *session) connected() bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.connections > 0
}
