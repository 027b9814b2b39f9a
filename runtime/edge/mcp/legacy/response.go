package legacy

import (
	"sync"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// returnTimeout is how long a question waits for a disconnected client to return.
const returnTimeout = 30 * time.Second

// response is the response to one POST, or to the GET of a client that has returned for a suspended call. It
// keeps its events in the session, if there is one.
type response struct {
	*mcp.Response
	server  *Server
	session *session    // of a client that may return for missed events, or nil
	packet  *mcp.Packet // of a session
	stream  uint64      // of the session, once the response is an event stream; set once, by begin

	suspended *handover.Call       // that continues, or nil
	from      *handover.CallRecord // of suspended, which another process has stored
	asked     []askedQuestion      // before it was suspended

	disconnect disconnectState
}

// Begin implements mcp.KeptEvents.
func (resp *response) Begin() []byte {
	if resp.suspended == nil {
		resp.stream = resp.session.log.openStream(resp.packet.RequestIDs())
	}
	if !sendsPrimingEvent(resp.session.revision) {
		return nil
	}
	return resp.Add(nil, nil)
}

// Add implements mcp.KeptEvents.
func (resp *response) Add(dst, frame []byte) []byte {
	return resp.session.log.add(resp.stream, frame).append(dst)
}

// End implements mcp.KeptEvents.
func (resp *response) End() { resp.session.log.endStream(resp.stream) }

// Outlives reports whether the client has an event id to resume from, so that it may disconnect without cancelling
// the call.
func (resp *response) Outlives() bool { return resp.session != nil && resp.IsStreaming() }

// disconnectState records since when the client of a request is disconnected.
type disconnectState struct {
	mu       sync.Mutex
	detached bool      // the server has closed the connection; guarded by mu
	since    time.Time // when the client disconnected or should return; zero if it is connected; guarded by mu
}

// closeConnection ends the connection but not the stream: further events are kept in the session until the
// client returns after retry.
func (resp *response) closeConnection(retry time.Duration) bool {
	if resp.session == nil || !resp.AcceptsEvents() || !sendsPrimingEvent(resp.session.revision) ||
		!resp.Request.ProtoAtLeast(1, 1) || !resp.Detach(appendRetry(nil, retry)) {
		return false
	}
	resp.disconnect.mu.Lock()
	defer resp.disconnect.mu.Unlock()
	resp.disconnect.detached, resp.disconnect.since = true, time.Now().Add(retry)
	return true
}

// isDisconnected reports whether the client has been disconnected for too long: its connection is
// closed, and it reads no other stream of the session. During a shutdown no client can return, so
// any time is too long.
func (resp *response) isDisconnected() bool {
	d := &resp.disconnect
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.detached && resp.Request.Context().Err() == nil || resp.session.connections.Load() > 0 {
		d.since = time.Time{}
		return false
	}
	if d.since.IsZero() {
		d.since = time.Now()
	}
	return resp.server.core.IsClosing() || time.Since(d.since) >= returnTimeout
}

// askToReturn asks the client to return for the rest of the call to another process.
func (resp *response) askToReturn() { resp.Write(appendRetry(nil, resp.server.returnDelay())) }

// mayContinueElsewhere reports whether the client can return for the call to another process, which it does
// with the id of an event.
func (resp *response) mayContinueElsewhere() bool {
	return resp.session != nil && !resp.packet.Batch && resp.server.relay.KeepsCalls() && resp.AcceptsEvents() &&
		(sendsPrimingEvent(resp.session.revision) || resp.Outlives())
}

// streamName returns the name of the event stream.
func (resp *response) streamName() handover.StreamName {
	return handover.StreamName{
		Process: resp.server.relay.ProcessName(), Serial: resp.session.serial, Stream: resp.stream,
	}
}
