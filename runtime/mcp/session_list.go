package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// SessionInfo is what a server knows of the session of a client over HTTP.
type SessionInfo struct {
	Name     string    // identifies the session in logs and traces. It is not the id, which is a credential
	Toolset  string    // empty for the whole server
	Owner    *Identity // without its token; nil for an unauthenticated client
	Client   json.RawMessage
	Revision Revision
	Began    time.Time
	Seen     time.Time // when this process has received the last request
	Streams  int       // connections that read events
}

// Sessions returns the sessions that this process serves, the oldest first. It may be called concurrently.
func (s *Server) Sessions() []*SessionInfo {
	t := &s.sessions
	t.mu.Lock()
	found := make([]*SessionInfo, 0, len(t.byName))
	for name, sess := range t.byName {
		found = append(found, &SessionInfo{
			Name: name.String(), Toolset: sess.toolset, Owner: sess.owner, Client: sess.info, Revision: sess.revision,
			Began: sess.expires.Add(-sessionLife), Seen: sess.seen, Streams: int(sess.connections.Load()),
		})
	}
	t.mu.Unlock()
	slices.SortFunc(found, func(a, b *SessionInfo) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// EndSession ends the session with a name, as the DELETE of its client would. It reports false if this process does
// not serve it. It may be called concurrently.
func (s *Server) EndSession(ctx context.Context, name string) bool {
	var n sessionName
	if n.UnmarshalText([]byte(name)) != nil {
		return false
	}
	sess := s.sessions.named(n)
	if sess == nil {
		return false
	}
	defer sess.release()
	s.endSession(ctx, sess)
	return true
}

// endSession ends a session in all processes.
func (s *Server) endSession(ctx context.Context, sess *session) {
	s.sessions.remove(sess)
	s.observeEnd(true, sess.expires.Add(-sessionLife))
	s.relay.broadcast(ctx, &news{Kind: newsDeleted, Session: sess.name})
}
