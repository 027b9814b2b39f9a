package legacy

import (
	"hatchel/runtime/mcp"

	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"hatchel/internal/ctxtime"
)

// A stream of a POST is resumed through the process that has it: the process of the client asks for the
// events after the last one, and receives them until the stream ends. Meanwhile it probes the other
// process, and ends the client's stream with an error when that process has ended.

// sentEvent is an event on its way.
type sentEvent struct {
	Seq   uint64          `json:"seq"`
	Frame json.RawMessage `json:"frame,omitempty"`
}

// streamEnd says why no events follow.
type streamEnd string

const (
	streamComplete streamEnd = "complete"
	streamLost     streamEnd = "lost" // the process does not know the stream
)

const (
	probeInterval   = 750 * time.Millisecond
	readerCheck     = 15 * time.Second // between events, after which a reader elsewhere is checked
	relayTimeout    = 10 * time.Second // for one message to a process
	sendAgain       = time.Second      // after a message that could not be sent
	maxQueuedEvents = 4 * maxEvents    // for a client that does not read
)

// errInterrupted is the reply to a request whose own reply is lost.
var errInterrupted = &mcp.Error{Code: mcp.CodeInternalError, Message: "The call was interrupted, or its result was lost " +
	"with the process that ran it. Whether it had an effect is not known"}

// serveRemoteStream sends the events of a stream that this process does not have.
func (s *Server) serveRemoteStream(ctx context.Context, w http.ResponseWriter, sess *session, pos position) {
	r := &s.relay
	if r.courier == nil || pos.process == sess.table.process {
		s.sendInterrupted(w, pos)
		return
	}
	d := &streamReader{id: rand.Text(), process: pos.process, wake: make(chan struct{}, 1)}
	if readers := r.streams.add(ctx, d); readers != nil {
		s.work.start(func() { r.probe(d.process, readers) })
	}
	defer r.streams.remove(d)
	asking, cancel := context.WithTimeout(ctx, relayTimeout)
	err := r.send(asking, d.process, &relayMessage{
		Kind: kindResume, Session: sess.name, Serial: pos.serial, Stream: pos.stream, Seq: pos.seq, Reader: d.id,
	})
	cancel()
	switch {
	case errors.Is(err, ErrNoReceiver) && !s.wasSuspended(ctx, sess, pos):
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
		r.stopReading(ctx, d.process, d.id)
	}
}

// stopReading reports to a process that a reader of a stream has stopped. After a failure the process sends the
// reader further events, and the report is repeated.
func (r *relay) stopReading(ctx context.Context, process, reader string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), broadcastTimeout)
	defer cancel()
	r.send(ctx, process, &relayMessage{Kind: kindStop, Reader: reader})
}

// copyEvents sends what a reader receives to its client. It reports whether the stream has ended.
func (s *Server) copyEvents(
	ctx context.Context, w http.ResponseWriter, sess *session, d *streamReader, pos position,
) (complete bool) {
	ref := sess.reference(pos)
	ended, alive := sess.awaitEnd(), time.NewTicker(mcp.KeepAliveInterval)
	defer alive.Stop()
	for {
		events, end, broken := d.take()
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
		case end == streamLost && !s.wasSuspended(ctx, sess, pos):
			s.sendErrors(w, pos)
			return true
		case end != "" || broken:
			return end != ""
		}
		select {
		case <-d.wake:
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
func (r *relay) serveResume(ctx context.Context, from string, sess *session, m *relayMessage) {
	ctx, cancel := context.WithCancel(ctx)
	r.served.add(m.Reader, cancel)
	r.server.work.start(func() {
		defer r.served.remove(m.Reader)
		if sess == nil || sess.serial != m.Serial {
			r.sendUntilReceived(ctx, from, &relayMessage{Kind: kindEvents, Reader: m.Reader, End: streamLost})
		} else {
			r.sendStream(ctx, from, sess, m)
		}
		if sess != nil {
			sess.release()
		}
	})
}

// sendStream sends the events of a stream until it ends, or the reader has stopped or its process has ended.
func (r *relay) sendStream(ctx context.Context, to string, sess *session, m *relayMessage) {
	sess.connections.Add(1)
	defer sess.connections.Add(-1)
	ended := sess.awaitEnd()
	check := time.NewTicker(readerCheck)
	defer check.Stop()
	from := eventID{m.Stream, m.Seq}
	for {
		_, events, open, more := sess.log.after(from)
		batch := &relayMessage{Kind: kindEvents, Reader: m.Reader}
		for _, e := range events {
			batch.Events = append(batch.Events, sentEvent{e.seq, e.frame})
			from.seq = e.seq
		}
		if !open {
			batch.End = streamComplete
		}
		if !r.sendUntilReceived(ctx, to, batch) || !open {
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

// sendUntilReceived sends a message until it has arrived. It reports false if there is no receiver, or ctx
// has ended.
func (r *relay) sendUntilReceived(ctx context.Context, to string, m *relayMessage) bool {
	for {
		attempt, cancel := context.WithTimeout(ctx, relayTimeout)
		err := r.send(attempt, to, m)
		cancel()
		if err == nil {
			return true
		}
		if !errors.Is(err, mcp.ErrUnavailable) {
			return false
		}
		if ctxtime.Sleep(ctx, sendAgain) != nil {
			return false
		}
	}
}

// streamReader is a client that reads a stream of another process here.
type streamReader struct {
	id      string
	process string
	wake    chan struct{}

	mu     sync.Mutex
	events []sentEvent // guarded by mu
	end    streamEnd   // after them; guarded by mu
	broken bool        // no more events arrive, but the client may return for them; guarded by mu
}

// take removes and returns what the reader has not sent to its client.
func (d *streamReader) take() (events []sentEvent, end streamEnd, broken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	events, d.events = d.events, nil
	return events, d.end, d.broken
}

func (d *streamReader) put(events []sentEvent, end streamEnd, broken bool) {
	d.mu.Lock()
	if !d.broken {
		d.events = append(d.events, events...)
	}
	if d.end == "" {
		d.end = end
	}
	d.broken = d.broken || broken || len(d.events) > maxQueuedEvents
	d.mu.Unlock()
	wake(d.wake)
}

// streamReaders are the clients that read streams of other processes here.
type streamReaders struct {
	mu        sync.Mutex
	byID      map[string]*streamReader   // guarded by mu
	byProcess map[string]*processReaders // guarded by mu
}

// processReaders are those of the streams of one process.
type processReaders struct {
	all    map[*streamReader]struct{} // guarded by streamReaders.mu
	ctx    context.Context            // ends when all have stopped
	cancel context.CancelFunc
}

// add adds a reader. For the first one of a process it returns the readers, and otherwise nil.
func (t *streamReaders) add(ctx context.Context, d *streamReader) (first *processReaders) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID, t.byProcess = make(map[string]*streamReader), make(map[string]*processReaders)
	}
	t.byID[d.id] = d
	if t.byProcess[d.process] == nil {
		first = &processReaders{all: make(map[*streamReader]struct{})}
		first.ctx, first.cancel = context.WithCancel(context.WithoutCancel(ctx))
		t.byProcess[d.process] = first
	}
	t.byProcess[d.process].all[d] = struct{}{}
	return first
}

func (t *streamReaders) remove(d *streamReader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, d.id)
	readers := t.byProcess[d.process]
	if delete(readers.all, d); len(readers.all) == 0 {
		readers.cancel()
		delete(t.byProcess, d.process)
	}
}

// receive gives events to their reader. It reports false if the reader has stopped.
func (t *streamReaders) receive(m *relayMessage) bool {
	t.mu.Lock()
	d := t.byID[m.Reader]
	t.mu.Unlock()
	if d != nil {
		d.put(m.Events, m.End, false)
	}
	return d != nil
}

func (t *streamReaders) list(readers *processReaders) []*streamReader {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(readers.all))
}

// probe checks while there are readers of streams of a process whether the process is there.
func (r *relay) probe(process string, readers *processReaders) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-readers.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(readers.ctx, relayTimeout)
		err := r.send(ctx, process, &relayMessage{Kind: kindProbe})
		cancel()
		for _, d := range r.streams.list(readers) {
			if errors.Is(err, ErrNoReceiver) {
				d.put(nil, streamLost, false)
			} else if err != nil {
				d.put(nil, "", true)
			}
		}
	}
}
