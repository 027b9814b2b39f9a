package handover

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"hatchel/internal/backoff"
	"hatchel/internal/queue"
	"hatchel/runtime/edge/mcp"
)

// Event is an event on its way.
type Event struct {
	Seq   uint64          `json:"seq"`
	Frame json.RawMessage `json:"frame,omitempty"`
}

// StreamEnd says why no events follow.
type StreamEnd string

const (
	StreamComplete StreamEnd = "complete"
	StreamLost     StreamEnd = "lost" // the process does not know the stream
)

const (
	probeInterval   = 750 * time.Millisecond
	relayTimeout    = 10 * time.Second // for one message to a process
	maxQueuedEvents = 1024             // for a client that does not read
)

// sending are the attempts to send a message that must arrive.
var sending = backoff.Policy{First: time.Second}

// Resume asks the process of a stream for its events after a number. The reader gets them until stop.
func (d *StreamReader) Resume(ctx context.Context, session SessionName, serial, stream, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	return d.relay.send(ctx, d.process, &Message{
		Kind: KindResume, Session: session, Serial: serial, Stream: stream, Seq: seq, Reader: d.id,
	})
}

// Stop reports to the process of the stream that the reader has stopped.
func (d *StreamReader) Stop(ctx context.Context) { d.relay.StopReader(ctx, d.process, d.id) }

// StopReader reports to a process that a reader of a stream has stopped. After a failure the process sends the
// reader further events, and the report is repeated.
func (r *Relay) StopReader(ctx context.Context, process, reader string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), broadcastTimeout)
	defer cancel()
	r.send(ctx, process, &Message{Kind: KindStop, Reader: reader})
}

// SendUntilReceived sends a message until it has arrived. It reports false if there is no receiver, or ctx
// has ended.
func (r *Relay) SendUntilReceived(ctx context.Context, to string, m *Message) bool {
	for range sending.Attempts(ctx) {
		attempt, cancel := context.WithTimeout(ctx, relayTimeout)
		err := r.send(attempt, to, m)
		cancel()
		if !errors.Is(err, mcp.ErrUnavailable) {
			return err == nil
		}
	}
	return false
}

// StreamReader is a client that reads a stream of another process here.
type StreamReader struct {
	relay   *Relay
	id      string
	process string
	wake    queue.Signal

	mu     sync.Mutex
	events []Event   // guarded by mu
	end    StreamEnd // after them; guarded by mu
	broken bool      // no more events arrive, but the client may return for them; guarded by mu
}

// OpenReader returns a reader of streams of a process, which must be closed. The process is probed meanwhile by a
// function that start runs in the background.
func (r *Relay) OpenReader(ctx context.Context, process string, start func(func())) *StreamReader {
	d := &StreamReader{relay: r, id: rand.Text(), process: process, wake: queue.NewSignal()}
	if readers := r.readers.add(ctx, d); readers != nil {
		start(func() { r.probe(process, readers) })
	}
	return d
}

// Close undoes openReader.
func (d *StreamReader) Close() { d.relay.readers.remove(d) }

// Woken returns a channel that has a value when there may be something to take.
func (d *StreamReader) Woken() <-chan struct{} { return d.wake }

// ReceiveEvents gives events to their reader. It reports false if the reader has stopped.
func (r *Relay) ReceiveEvents(m *Message) bool { return r.readers.receive(m) }

// Take removes and returns what the reader has not sent to its client.
func (d *StreamReader) Take() (events []Event, end StreamEnd, broken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	events, d.events = d.events, nil
	return events, d.end, d.broken
}

func (d *StreamReader) put(events []Event, end StreamEnd, broken bool) {
	d.mu.Lock()
	if !d.broken {
		d.events = append(d.events, events...)
	}
	if d.end == "" {
		d.end = end
	}
	d.broken = d.broken || broken || len(d.events) > maxQueuedEvents
	d.mu.Unlock()
	d.wake.Send()
}

// streamReaders are the clients that read streams of other processes here.
type streamReaders struct {
	mu        sync.Mutex
	byID      map[string]*StreamReader   // guarded by mu
	byProcess map[string]*processReaders // guarded by mu
}

// processReaders are those of the streams of one process.
type processReaders struct {
	all    map[*StreamReader]struct{} // guarded by streamReaders.mu
	ctx    context.Context            // ends when all have stopped
	cancel context.CancelFunc
}

// add adds a reader. For the first one of a process it returns the readers, and otherwise nil.
func (t *streamReaders) add(ctx context.Context, d *StreamReader) (first *processReaders) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID, t.byProcess = make(map[string]*StreamReader), make(map[string]*processReaders)
	}
	t.byID[d.id] = d
	if t.byProcess[d.process] == nil {
		first = &processReaders{all: make(map[*StreamReader]struct{})}
		first.ctx, first.cancel = context.WithCancel(context.WithoutCancel(ctx))
		t.byProcess[d.process] = first
	}
	t.byProcess[d.process].all[d] = struct{}{}
	return first
}

func (t *streamReaders) remove(d *StreamReader) {
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
func (t *streamReaders) receive(m *Message) bool {
	t.mu.Lock()
	d := t.byID[m.Reader]
	t.mu.Unlock()
	if d != nil {
		d.put(m.Events, m.End, false)
	}
	return d != nil
}

func (t *streamReaders) list(readers *processReaders) []*StreamReader {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(readers.all))
}

// probe checks while there are readers of streams of a process whether the process is there.
func (r *Relay) probe(process string, readers *processReaders) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-readers.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(readers.ctx, relayTimeout)
		err := r.send(ctx, process, &Message{Kind: KindProbe})
		cancel()
		for _, d := range r.readers.list(readers) {
			if errors.Is(err, ErrNoReceiver) {
				d.put(nil, StreamLost, false)
			} else if err != nil {
				d.put(nil, "", true)
			}
		}
	}
}
