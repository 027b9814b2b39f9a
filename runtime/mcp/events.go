package mcp

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
)

// events are what a session has sent, or is to send, on its event streams, kept for a client that comes back with the id of the last
// event it has seen. Stream 0 is the session's own; every other belongs to one POST. Old events give way to new ones.
type events struct {
	all *keeping // what all sessions keep

	mu      sync.Mutex
	over    bool                // nobody can come back, so nothing is kept; guarded by mu
	kept    []event             // guarded by mu
	size    int                 // bytes of kept; guarded by mu
	seq     uint64              // of the event added last; guarded by mu
	streams uint64              // the number of the stream opened last; guarded by mu
	open    map[uint64]struct{} // streams that have more to come; guarded by mu
	seen    uint64              // the last event of stream 0 that was sent; guarded by mu
	gone    uint64              // the last event of stream 0 that gave way; guarded by mu
	more    chan struct{}       // closed and replaced when an event is added or a stream ends; guarded by mu
}

// event is one message on a stream. An event without a frame only carries its id.
type event struct {
	place
	frame []byte
}

// place is where an event stands: the stream, and its number among all of the session. The number 0 is before all events.
type place struct{ stream, seq uint64 }

// What is kept at most.
const (
	keptEvents = 256
	keptBytes  = 1 << 20
)

func (l *events) init(all *keeping) {
	l.all = all
	l.open = map[uint64]struct{}{0: {}}
	l.more = make(chan struct{})
}

// begin opens the stream of one POST.
func (l *events) begin() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams++
	l.open[l.streams] = struct{}{}
	return l.streams
}

// add keeps a copy of frame as the next event of a stream.
func (l *events) add(stream uint64, frame []byte) event {
	e := l.keep(stream, frame)
	l.all.relieve()
	return e
}

func (l *events) keep(stream uint64, frame []byte) event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	if l.over {
		return event{place{stream, l.seq}, frame}
	}
	e := event{place{stream, l.seq}, bytes.Clone(frame)}
	before := l.size
	l.kept = append(l.kept, e)
	l.size += len(frame)
	drop := 0
	for len(l.kept)-drop > keptEvents || l.size > keptBytes && len(l.kept)-drop > 1 {
		l.size -= len(l.kept[drop].frame)
		if l.kept[drop].stream == 0 {
			l.gone = l.kept[drop].seq
		}
		drop++
	}
	l.kept = append(l.kept[:0], l.kept[drop:]...)
	l.all.bytes.Add(int64(l.size - before))
	l.wake()
	return e
}

// drop gives up what is kept, and with over for good.
func (l *events) drop(over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.kept {
		if e.stream == 0 {
			l.gone = e.seq
		}
	}
	l.all.bytes.Add(int64(-l.size))
	l.kept, l.size, l.over = nil, 0, l.over || over
	l.wake()
}

func (l *events) wake() {
	close(l.more)
	l.more = make(chan struct{})
}

// finish says that the stream has no more to come.
func (l *events) finish(stream uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, stream)
	l.wake()
}

// since is what there is of a stream after an event.
type since struct {
	from place // of the event that next follows: a later one, where those between are of stream 0 and not kept any more
	next []event
	open bool            // more may come
	more <-chan struct{} // closed when it does
}

// after returns what follows p on its stream.
func (l *events) after(p place) since {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.stream == 0 {
		p.seq = max(p.seq, l.gone)
	}
	s := since{from: p, more: l.more}
	for _, e := range l.kept {
		if e.stream == p.stream && e.seq > p.seq {
			s.next = append(s.next, e)
		}
	}
	_, s.open = l.open[p.stream]
	return s
}

// unseen returns where a reader of stream 0 begins that does not say.
func (l *events) unseen() place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return place{0, l.seen}
}

// sent says that an event has gone out.
func (l *events) sent(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.stream == 0 {
		l.seen = max(l.seen, e.seq)
	}
}

// id is what the client is given to come back with.
func (p place) id() string {
	return strconv.FormatUint(p.stream, 10) + "-" + strconv.FormatUint(p.seq, 10)
}

// parsePlace undoes place.id.
func parsePlace(id string) (place, bool) {
	a, b, found := strings.Cut(id, "-")
	stream, errA := strconv.ParseUint(a, 10, 64)
	seq, errB := strconv.ParseUint(b, 10, 64)
	return place{stream, seq}, found && errA == nil && errB == nil
}
