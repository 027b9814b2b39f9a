package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// A stream of a POST is resumed through the process that has it: the process of the client asks for the
// events after the last one, and receives them until the stream ends. Meanwhile it probes the other
// process, and ends the client's stream with an error when that process has ended.

// readerCheck is how long after an event a reader elsewhere is checked.
const readerCheck = 15 * time.Second

// errInterrupted is the reply to a request whose own reply is lost.
var errInterrupted = &mcp.Error{Code: mcp.CodeInternalError, Message: "The call was interrupted, or its result was " +
	"lost with the process that ran it. Whether it had an effect is not known"}

// serveRemoteStream sends the events of a stream that this process does not have.
func (s *Server) serveRemoteStream(ctx context.Context, w http.ResponseWriter, sess *session, pos position) {
	r := s.relay
	if !r.HasOthers() || pos.process == r.ProcessName() {
		s.sendInterrupted(w, pos)
		return
	}
	d := r.OpenReader(ctx, pos.process, s.work.start)
	defer d.Close()
	err := d.Resume(ctx, sess.name, pos.serial, pos.stream, pos.seq)
	switch {
	case errors.Is(err, handover.ErrNoReceiver) && !s.wasSuspended(ctx, sess, pos):
		s.sendInterrupted(w, pos)
		return
	case err != nil:
		s.postponeStream(w)
		return
	}
	mcp.BeginEventStream(w)
	http.NewResponseController(w).Flush()
	defer http.NewResponseController(w).SetWriteDeadline(time.Time{})
	if !s.copyEvents(ctx, w, sess, d, pos) {
		d.Stop(ctx)
	}
}

// copyEvents sends what a reader receives to its client. It reports whether the stream has ended.
func (s *Server) copyEvents(
	ctx context.Context, w http.ResponseWriter, sess *session, d *handover.StreamReader, pos position,
) (complete bool) {
	ref := sess.reference(pos)
	ended, alive := sess.awaitEnd(), time.NewTicker(mcp.KeepAliveInterval)
	defer alive.Stop()
	for {
		events, end, broken := d.Take()
		for _, e := range events {
			if e.Seq <= pos.seq {
				continue // it was sent twice, because the first time had no answer
			}
			pos.seq = e.Seq
			if mcp.SendPart(w, event{pos.eventID, ref, e.Frame}.append(nil)) != nil {
				return false
			}
		}
		switch {
		case end == handover.StreamLost && !s.wasSuspended(ctx, sess, pos):
			s.sendErrors(w, pos)
			return true
		case end != "" || broken:
			return end != ""
		}
		select {
		case <-d.Woken():
		case <-alive.C:
			if mcp.SendPart(w, []byte(mcp.KeepAliveComment)) != nil {
				return false
			}
		case <-ctx.Done():
			return false
		case <-ended:
			return false
		case <-s.core.Ending():
			return false
		}
	}
}

// sendInterrupted answers the requests of a stream that no process has.
func (s *Server) sendInterrupted(w http.ResponseWriter, pos position) {
	mcp.BeginEventStream(w)
	s.sendErrors(w, pos)
	http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

func (s *Server) sendErrors(w http.ResponseWriter, pos position) {
	var ids []json.RawMessage
	json.Unmarshal(pos.requests, &ids) // nil has none
	for _, id := range ids {
		mcp.SendPart(w, event{frame: errInterrupted.AppendReply(nil, id)}.append(nil))
	}
}

// remoteReaders are the readers elsewhere of streams of this process.
type remoteReaders struct {
	mu     sync.Mutex
	cancel map[string]context.CancelFunc // by reader; guarded by mu
}

func (t *remoteReaders) add(reader string, cancel context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel == nil {
		t.cancel = make(map[string]context.CancelFunc)
	}
	t.cancel[reader] = cancel
}

func (t *remoteReaders) remove(reader string) {
	t.mu.Lock()
	cancel := t.cancel[reader]
	delete(t.cancel, reader)
	t.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// serveResume sends the events of a stream to the process that asks, in the background. It releases
// sess, which may be nil.
func (s *Server) serveResume(ctx context.Context, from string, sess *session, m *handover.Message) {
	ctx, cancel := context.WithCancel(ctx)
	s.served.add(m.Reader, cancel)
	s.work.start(func() {
		defer s.served.remove(m.Reader)
		if sess == nil || sess.serial != m.Serial {
			s.relay.SendUntilReceived(ctx, from, &handover.Message{
				Kind: handover.KindEvents, Reader: m.Reader, End: handover.StreamLost,
			})
		} else {
			s.sendStream(ctx, from, sess, m)
		}
		if sess != nil {
			sess.release()
		}
	})
}

// sendStream sends the events of a stream until it ends, or the reader has stopped or its process has ended.
func (s *Server) sendStream(ctx context.Context, to string, sess *session, m *handover.Message) {
	sess.connections.Add(1)
	defer sess.connections.Add(-1)
	ended := sess.awaitEnd()
	check := time.NewTicker(readerCheck)
	defer check.Stop()
	from := eventID{m.Stream, m.Seq}
	for {
		_, events, open, more := sess.log.after(from)
		batch := &handover.Message{Kind: handover.KindEvents, Reader: m.Reader}
		for _, e := range events {
			batch.Events = append(batch.Events, handover.Event{Seq: e.seq, Frame: e.frame})
			from.seq = e.seq
		}
		if !open {
			batch.End = handover.StreamComplete
		}
		if !s.relay.SendUntilReceived(ctx, to, batch) || !open {
			return
		}
		select {
		case <-more:
		case <-check.C:
		case <-ended:
			return
		case <-ctx.Done():
			return
		}
	}
}
