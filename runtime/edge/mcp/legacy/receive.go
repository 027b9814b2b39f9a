package legacy

import (
	"context"
	"encoding/json"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// Receive handles a message of another process, as mcp.Server.Receive does.
func (s *Server) Receive(ctx context.Context, from string, b []byte) {
	if from == "" {
		s.table.catchUp(ctx)
		return
	}
	var m handover.Message
	if err := json.Unmarshal(b, &m); err != nil {
		s.log.Error("message not readable", "process", from, "error", err)
		return
	}
	switch m.Kind {
	case handover.KindEvents:
		if !s.relay.ReceiveEvents(&m) && m.End == "" {
			s.work.start(func() { s.relay.StopReader(ctx, from, m.Reader) })
		}
		return
	case handover.KindStop:
		s.served.remove(m.Reader)
		return
	case handover.KindDeleted:
		s.table.forgetDeleted(m.Session)
		return
	}
	sess := s.table.named(m.Session)
	switch m.Kind {
	case handover.KindResume:
		s.serveResume(ctx, from, sess, &m)
		return
	case handover.KindAnswer:
		if sess == nil { // its calls may be suspended
			sess = &session{peer: peer{server: s}, table: &s.table, name: m.Session}
		}
		s.receiveAnswer(ctx, sess, &m)
		return
	}
	if sess == nil {
		return
	}
	defer sess.release()
	switch m.Kind {
	case handover.KindCancel:
		sess.inflight.Cancel(m.ID, mcp.ErrCancelled)
	case handover.KindAttached:
		sess.readElsewhere()
	case handover.KindChanged:
		sess.recordChanged(ctx)
	}
}

// receiveAnswer delivers an answer that another process has received. It releases sess.
func (s *Server) receiveAnswer(ctx context.Context, sess *session, m *handover.Message) {
	if s.relay.ReceiveAnswer(sess, m) {
		sess.release()
		return
	}
	s.work.start(func() {
		defer sess.release()
		s.relay.AnswerLate(ctx, sess, m)
	})
}
