package event

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/internal/queue"
)

// Listener reads events from a position in a ring. It belongs to one goroutine, and must be closed.
type Listener struct {
	ring   *Ring
	query  Query
	viewer Viewer
	owner  string
	cutoff int64  // of Query.Since
	after  uint64 // events up to this number are skipped
	end    uint64 // number after the last event that the listener gets; the largest one for a listener that follows
	idle   *time.Timer

	ended   atomic.Bool // gets io.EOF at the end
	wake    queue.Signal
	waiting bool // wants to be woken by the next event; guarded by Ring.mu

	epoch      string
	generation uint64
	position   uint64 // of the next record
	number     uint64 // of the next record
	gap        bool   // it is unknown what the listener has missed before its first event
	decisions  map[string]decision
	rested     time.Time // when the listener has read everything
	batch      []byte
	events     []Event
	gapData    []byte
}

const (
	batchSize = 16 << 10 // bytes that are read at once: calls wait meanwhile
	// restTime is the least time between two wakes of a listener. Events come in batches when there
	// are many.
	restTime = 20 * time.Millisecond
	idleTime = 15 * time.Second
)

// Listen returns a listener for a viewer. The error is ErrTooMany, ErrTooManyOfCaller or ErrClosed.
// Only listeners that follow are counted.
func (r *Ring) Listen(q Query, v Viewer) (*Listener, error) {
	l := &Listener{
		ring: r, query: q, viewer: v, owner: v.Owner(), wake: queue.NewSignal(), decisions: map[string]decision{},
		generation: r.generation.Load(),
	}
	l.ended.Store(!q.Follow)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, ErrClosed
	case q.Follow && len(r.listeners) >= maxListeners:
		return nil, ErrTooMany
	case q.Follow && r.byOwner[l.owner] >= maxListenersOfCaller:
		return nil, ErrTooManyOfCaller
	}
	r.holdLocked()
	if q.Follow {
		r.listeners[l] = struct{}{}
		r.byOwner[l.owner]++
		l.idle = time.NewTimer(idleTime)
	}
	l.epoch, l.position, l.number, l.end = r.epoch, r.start, r.first, math.MaxUint64
	if !q.Follow {
		l.end = r.next
	}
	l.placeLocked()
	if q.Replay > 0 {
		end := r.next
		r.mu.Unlock()
		l.seekReplay(end)
		r.mu.Lock()
	}
	return l, nil
}

// placeLocked sets the first position of a new listener, as its query says.
func (l *Listener) placeLocked() {
	r, q := l.ring, &l.query
	switch {
	case q.After != "":
		epoch, number, _ := parseID(q.After)
		if epoch == r.epoch && number < r.next {
			l.after, l.number = number, min(r.first, number+1)
		} else {
			l.gap = true // of another recording
		}
	case !q.Since.IsZero():
		l.cutoff = q.Since.UnixMicro()
		oldest := r.began.UnixMicro()
		if r.first > 1 {
			var at [8]byte
			r.readLocked(at[:], r.start+lengthSize+1)
			oldest = int64(binary.BigEndian.Uint64(at[:]))
		}
		l.gap = oldest > l.cutoff
	case q.Replay == 0 && q.Follow:
		l.position, l.number = r.end, r.next
	}
}

// seekReplay goes back to the oldest one of the latest events that the listener gets, up to the
// number end.
func (l *Listener) seekReplay(end uint64) {
	type place struct{ number, position uint64 }
	var places []place
	for l.number < end {
		if _, open := l.read(); !open {
			return
		}
		from, at := l.number-countRecords(l.batch), l.position-uint64(len(l.batch))
		for b := l.batch; len(b) > 0; from++ {
			size := lengthSize + int(binary.BigEndian.Uint32(b))
			r := parseRecord(b[lengthSize:size])
			if from < end && l.wants(from, &r) {
				places = append(places, place{from, at})
			}
			b, at = b[size:], at+uint64(size)
		}
		if len(places) > 2*l.query.Replay {
			places = slices.Delete(places, 0, len(places)-l.query.Replay)
		}
	}
	if places = places[max(0, len(places)-l.query.Replay):]; len(places) > 0 {
		l.number, l.position = places[0].number, places[0].position
	}
}

// End makes a listener that follows get io.EOF after what was published until now. It may be called concurrently with
// Next.
func (l *Listener) End() {
	l.ended.Store(true)
	l.wake.Send()
}

// Close removes the listener from the ring.
func (l *Listener) Close() {
	r := l.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, follows := r.listeners[l]; follows {
		l.idle.Stop()
		l.setWaitingLocked(false)
		delete(r.listeners, l)
		if r.byOwner[l.owner]--; r.byOwner[l.owner] == 0 {
			delete(r.byOwner, l.owner)
		}
	}
	r.releaseLocked()
}

// Next returns the next events, which are valid until it is called again. A listener that follows
// waits for them until ctx ends, and gets none after 15 seconds without any. Another one gets io.EOF
// at the end. Other errors are ErrClosed, the cause of ctx, and those of Viewer.Check and Query.Check.
func (l *Listener) Next(ctx context.Context) ([]Event, error) {
	if l.idle != nil {
		l.idle.Reset(idleTime)
	}
	for {
		// Rest may take the wake that says that another configuration is served, so refresh comes after it.
		if err := l.rest(ctx); err != nil {
			return nil, err
		}
		if err := l.refresh(); err != nil {
			return nil, err
		}
		lost, open := l.read()
		switch {
		case !open:
			return nil, ErrClosed
		case len(l.batch) == 0 && lost == 0 && !l.gap && l.ended.Load():
			return nil, io.EOF
		case len(l.batch) > 0 || lost > 0 || l.gap:
			if l.choose(lost); len(l.events) > 0 {
				return l.events, nil
			}
			continue
		}
		select {
		case <-l.wake:
		case <-l.idle.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// refresh drops the decisions about what the viewer sees, if another configuration is served.
func (l *Listener) refresh() error {
	generation := l.ring.generation.Load()
	if generation == l.generation {
		return nil
	}
	l.generation = generation
	clear(l.decisions)
	if err := l.viewer.Check(); err != nil || l.query.Check == nil {
		return err
	}
	return l.query.Check()
}

// rest waits for a moment after the listener has read everything, so that it is not woken for each event.
func (l *Listener) rest(ctx context.Context) error {
	if l.rested.IsZero() || l.ended.Load() {
		return nil
	}
	left := restTime - time.Since(l.rested)
	l.rested = time.Time{}
	if left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-l.wake: // of End, or because another configuration is served
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read copies the next records into the batch: as many as fit, and at least one. It returns how many
// were lost before them, and whether the ring is open. When there are none, the next event wakes the
// listener.
func (l *Listener) read() (lost uint64, open bool) {
	r := l.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	l.batch = l.batch[:0]
	if r.closed {
		return 0, false
	}
	if l.number < r.first {
		from := max(l.number, l.after+1)
		if r.first > from {
			lost = r.first - from
		}
		l.number, l.position = r.first, r.start
	}
	from := l.position
	for l.number < min(r.next, l.end) {
		size := lengthSize + uint64(r.lengthLocked(l.position))
		if n := l.position - from; n > 0 && n+size > batchSize {
			break
		}
		l.position += size
		l.number++
	}
	if n := int(l.position - from); n > 0 {
		l.batch = slices.Grow(l.batch, n)[:n]
		r.readLocked(l.batch, from)
	}
	l.setWaitingLocked(len(l.batch) == 0 && lost == 0 && l.query.Follow)
	if len(l.batch) > 0 && l.number == r.next && l.query.Follow {
		l.rested = time.Now()
	}
	return lost, true
}

// choose returns the events of the batch that the listener gets.
func (l *Listener) choose(lost uint64) {
	number := l.number - countRecords(l.batch)
	l.events = l.events[:0]
	if lost > 0 || l.gap {
		l.events = append(l.events, l.gapEvent(number-1, lost))
		l.gap = false
	}
	for b := l.batch; len(b) > 0; number++ {
		size := lengthSize + int(binary.BigEndian.Uint32(b))
		record := parseRecord(b[lengthSize:size])
		b = b[size:]
		if l.wants(number, &record) {
			l.events = append(l.events, Event{record.kind, record.data, record, l.epoch, number})
		}
	}
}

// setWaitingLocked says whether the next event wakes the listener.
func (l *Listener) setWaitingLocked(waiting bool) {
	switch {
	case waiting && !l.waiting:
		l.ring.waiting++
	case !waiting && l.waiting:
		l.ring.waiting--
	}
	l.waiting = waiting
}

func countRecords(batch []byte) (n uint64) {
	for ; len(batch) > 0; n++ {
		batch = batch[lengthSize+binary.BigEndian.Uint32(batch):]
	}
	return n
}

// gapEvent returns the event that some were lost, or that it is unknown how many.
func (l *Listener) gapEvent(number, lost uint64) Event {
	p := NewPublisher(Options{Process: l.ring.process})
	d := p.begin(Meta{Kind: eventkind.Gap, Time: time.Now()})
	l.gapData = append(appendInt(append(l.gapData[:0], d.data...), "lost", int(lost)), '}')
	drafts.Put(d)
	return Event{Kind: eventkind.Gap, Data: l.gapData, epoch: l.epoch, number: number}
}
