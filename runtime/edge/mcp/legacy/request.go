package legacy

import (
	"context"
	"sync"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// peerRequest is one request of a peer. It implements mcp.LegacyClient.
type peerRequest struct {
	peer    *peer
	caller  *mcp.Caller
	message *mcp.Message
	resp    *response // nil on a pair of streams

	ctx context.Context  // of the request, once the Handler gets it
	req *mcp.CallRequest // of the Handler

	mu      sync.Mutex
	asked   []askedQuestion      // before the call was suspended, and not answered; guarded by mu
	resumed []handover.Question  // of the process that the call was taken from; guarded by mu
	record  *handover.CallRecord // while the call waits for people; guarded by mu
	from    *handover.CallRecord // that the call was taken from, until it goes on; guarded by mu
}

// Serve implements mcp.LegacyClient.
func (c *peerRequest) Serve(
	ctx context.Context, dst []byte, m *mcp.Message,
) (_ []byte, failed *mcp.Error, served bool) {
	switch string(m.Method) {
	case "ping":
		return append(dst, "{}"...), nil, true
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		if c.peer.subscription != nil {
			return append(dst, "{}"...), c.update(ctx), true
		}
	}
	return dst, nil, false
}

// Begin implements mcp.LegacyClient. The questions of a suspended call were asked already.
func (c *peerRequest) Begin(ctx context.Context, req *mcp.CallRequest) {
	c.ctx, c.req = ctx, req
	if !c.Continues() {
		return
	}
	c.asked, c.resumed, c.from = c.resp.asked, c.resp.suspended.Asked, c.resp.from
	req.Resume(c.resp.suspended.State, c.resp.suspended.Progress)
}

// Explain implements mcp.LegacyClient.
func (c *peerRequest) Explain(failed *mcp.Error) *mcp.Error {
	if c.Continues() && failed.Message == mcp.InvalidState().Message {
		return errNotResumed
	}
	return failed
}

// SessionName implements mcp.LegacyClient.
func (c *peerRequest) SessionName() string {
	if c.peer.session == nil {
		return ""
	}
	return c.peer.session.nameText
}

// LogLevel implements mcp.LegacyClient.
func (c *peerRequest) LogLevel() int { return c.peer.level(c.ctx) }

// Detach implements mcp.LegacyClient.
func (c *peerRequest) Detach(retry time.Duration) bool {
	return c.resp != nil && c.resp.closeConnection(retry)
}
