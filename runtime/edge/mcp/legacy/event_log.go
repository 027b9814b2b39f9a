package legacy

import (
	"hatchel/runtime/edge/mcp"

	"bytes"
	"slices"
	"strconv"
	"sync"
)

// eventLog is what a session has sent, or will send, on its event streams. It is kept for a client
// that returns with the id of the last event that it has seen. Stream 0 is the session's own; every
// other stream belongs to one POST. New events replace old ones.
type eventLog struct {
	session *session // whose table limits the logs of all

	mu          sync.Mutex
	over        bool              // no client can return, so nothing is kept; guarded by mu
	events      []event           // guarded by mu
	size        int               // bytes of events; guarded by mu
	lastSeq     uint64            // of the last event; guarded by mu
	lastStream  uint64            // that was opened; guarded by mu
	open        map[uint64]string // the references of the streams of POSTs that may get more events; guarded by mu
	own         string            // the reference of stream 0, once it has events; guarded by mu
	lastSent0   uint64            // the last event of stream 0 that was sent; guarded by mu
	lastDropped uint64            // the last event of stream 0 that was dropped; guarded by mu
	more        chan struct{}     // closed when an event is added or a stream ends; nil if nobody waits; guarded by mu
}

// event is one message of a stream. An event without a frame carries only its id.
type event struct {
	eventID
	ref   string // of its stream
	frame []byte
}

// eventID identifies an event by its stream and its number among all events of the session. The
// number 0 is before all events.
type eventID struct{ stream, seq uint64 }

// The limits of one log.
const (
	maxEvents     = 256
	maxEventBytes = 1 << 20
)

// openStream opens the stream of one POST with these requests.
func (l *eventLog) openStream(requests []byte) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastStream++
	if l.open == nil {
		l.open = make(map[uint64]string)
	}
	l.open[l.lastStream] = l.session.streamReference(l.lastStream, requests)
	return l.lastStream
}

// referenceLocked returns the reference of a stream that may get more events.
func (l *eventLog) referenceLocked(stream uint64) string {
	if stream != 0 {
		return l.open[stream]
	}
	if l.own == "" {
		l.own = l.session.streamReference(0, nil)
	}
	return l.own
}

// add adds a copy of frame as the next event of a stream.
func (l *eventLog) add(stream uint64, frame []byte) event {
	e := l.append(stream, frame)
	l.session.table.evictIdle()
	return e
}

func (l *eventLog) append(stream uint64, frame []byte) event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastSeq++
	e := event{eventID{stream, l.lastSeq}, l.referenceLocked(stream), frame}
	if l.over {
		return e
	}
	e.frame = bytes.Clone(frame)
	l.events = append(l.events, e)
	l.resize(len(frame))
	for len(l.events) > maxEvents || l.size > maxEventBytes && len(l.events) > 1 {
		l.dropOldest(1)
	}
	l.wakeReaders()
	return e
}

// drop drops all events. If final is set, later ones are not kept either.
func (l *eventLog) drop(final bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropOldest(len(l.events))
	l.events, l.over = nil, l.over || final
	l.wakeReaders()
}

func (l *eventLog) dropOldest(n int) {
	for _, e := range l.events[:n] {
		l.resize(-len(e.frame))
		if e.stream == 0 {
			l.lastDropped = e.seq
		}
	}
	l.events = slices.Delete(l.events, 0, n)
}

func (l *eventLog) resize(by int) {
	l.size += by
	l.session.table.eventBytes.Add(int64(by))
}

func (l *eventLog) wakeReaders() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// endStream records that the stream gets no more events.
func (l *eventLog) endStream(stream uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, stream)
	l.wakeReaders()
}

// after returns the events that follow an event on its stream, and whether the stream may get more,
// when more is closed. From is the event before them, which is later than id if events of stream 0
// were dropped.
func (l *eventLog) after(id eventID) (from eventID, events []event, open bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id.stream == 0 {
		id.seq = max(id.seq, l.lastDropped)
	}
	for _, e := range l.events {
		if e.stream == id.stream && e.seq > id.seq {
			events = append(events, e)
		}
	}
	if l.more == nil {
		l.more = make(chan struct{})
	}
	_, open = l.open[id.stream]
	return id, events, open || id.stream == 0, l.more
}

// lastSent returns the last event of stream 0 that was sent, after which a reader without an id
// begins.
func (l *eventLog) lastSent() eventID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return eventID{0, l.lastSent0}
}

// markSent records that an event was sent.
func (l *eventLog) markSent(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.stream == 0 {
		l.lastSent0 = max(l.lastSent0, e.seq)
	}
}

// append appends the event in the format of an event stream. Only events of a session have an id.
func (e event) append(dst []byte) []byte {
	if e.seq > 0 {
		dst = append(append(append(dst, "id: "...), e.ref...), '.')
		dst = append(strconv.AppendUint(dst, e.seq, 10), '\n')
	}
	if e.frame == nil {
		return append(dst, "retry: 1000\ndata:\n\n"...)
	}
	return mcp.AppendEvent(dst, e.frame)
}
