package legacy

import (
	"cmp"
	"context"
	"slices"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// Sessions returns the sessions that this process serves, the oldest first.
func (s *Server) Sessions() []*mcp.SessionInfo {
	t := &s.table
	t.mu.Lock()
	found := make([]*mcp.SessionInfo, 0, len(t.byName))
	for name, sess := range t.byName {
		found = append(found, &mcp.SessionInfo{
			Name: name.String(), Toolset: sess.toolset, Owner: sess.owner, Client: sess.info, Revision: sess.revision,
			Began: sess.expires.Add(-sessionLife), Seen: sess.seen, Streams: int(sess.connections.Load()),
		})
	}
	t.mu.Unlock()
	slices.SortFunc(found, func(a, b *mcp.SessionInfo) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// EndSession ends the session with a name, as the DELETE of its client would. It reports false if this process does
// not serve it.
func (s *Server) EndSession(ctx context.Context, name string) bool {
	var n handover.SessionName
	if n.UnmarshalText([]byte(name)) != nil {
		return false
	}
	sess := s.table.named(n)
	if sess == nil {
		return false
	}
	defer sess.release()
	s.endSession(ctx, sess)
	return true
}

// endSession ends a session in all processes.
func (s *Server) endSession(ctx context.Context, sess *session) {
	s.table.remove(ctx, sess)
	s.core.ObserveEnd(true, sess.expires.Add(-sessionLife))
	s.relay.Broadcast(ctx, &handover.Message{Kind: handover.KindDeleted, Session: sess.name})
}
