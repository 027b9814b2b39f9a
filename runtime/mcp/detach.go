package mcp

import (
	"net/http"
	"strconv"
	"time"
)

// detach ends the connection and not the stream: what follows is kept in the session until the client comes back for it.
func (x *exchange) detach(retry time.Duration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over || x.detached || x.session == nil || !x.accepts.events || !x.session.revision.primes() || !x.r.ProtoAtLeast(1, 1) {
		return false
	}
	if !x.streaming {
		// Tells a client that it cannot use the connection again, which it would find out late otherwise.
		x.w.Header()["Connection"] = []string{"close"}
	}
	x.openLocked()
	x.sendLocked(strconv.AppendInt([]byte("retry: "), max(1, retry.Milliseconds()), 10))
	x.sendLocked([]byte("\n\n"))
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return false
	}
	x.detached = true
	x.absence.allow(retry)
	// The empty chunk ends the answer in form.
	conn.SetWriteDeadline(time.Now().Add(x.server.options.SendTimeout))
	conn.Write([]byte("0\r\n\r\n"))
	conn.Close()
	return true
}
