// Package recent keeps the latest calls of tools of a process in memory, for the pages of the console, whether or not
// somebody looks at them.
//
// A call takes one of a fixed number of places when it begins, and what it came to is added there. The place is taken
// from the oldest call, so nothing has to be removed and a call takes no memory of its own. What is kept has no secrets
// and no sensitive inputs: the calls leave them out, as in events.
package recent

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/runtime/observe/event"
)

const (
	// Kept is how many calls a Log keeps.
	Kept = 1000
	// maxCall is how many bytes are kept of a call. With Kept it bounds the memory of a Log to 8 MiB.
	maxCall = 8 << 10
	// endRoom is how many bytes of maxCall are left for what the call came to.
	endRoom = 3 << 10
	// stepsRoom is how many more bytes elements leave for the steps after them.
	stepsRoom = 1 << 10
)

// Log keeps the latest calls. A nil Log keeps none. It is safe for concurrent use. Use [NewLog].
type Log struct {
	process string
	next    atomic.Uint64 // number of the latest call
	ended   atomic.Uint64 // how many calls have ended
	places  [Kept]place
}

// place holds one call.
type place struct {
	mu     sync.Mutex
	number uint64    // of the call, from 1 on; 0 for none; guarded by mu
	began  time.Time // guarded by mu
	record []byte    // its parts; guarded by mu
	left   int       // parts that found no room; guarded by mu
	ended  uint64    // how many calls had ended with this one; 0 while it runs; guarded by mu
}

// NewLog returns an empty Log of a process with this name.
func NewLog(process string) *Log { return &Log{process: process} }

// Entry is the place of a call that has begun. The zero Entry keeps nothing.
type Entry struct {
	log    *Log
	place  *place
	number uint64
}

// IsZero reports whether the Entry keeps nothing.
func (e Entry) IsZero() bool { return e.place == nil }

// Begin keeps the beginning of a call, and returns its Entry.
func (l *Log) Begin(c *event.Call, began time.Time) Entry {
	if l == nil {
		return Entry{}
	}
	number := l.next.Add(1)
	p := &l.places[number%Kept]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.number > number {
		return Entry{} // so many calls have begun since that this one is not kept
	}
	p.number, p.began, p.left, p.ended = number, began, 0, 0
	p.record = appendBeginning(p.record[:0], c)
	return Entry{l, p, number}
}

// Step adds what a step of the call came to, which began at a time, and reports whether there was room for it.
func (e Entry) Step(s *event.Step, began time.Time) bool {
	return e.add(maxCall-endRoom, func(dst []byte, call time.Time) []byte {
		return appendStep(dst, s, began.Sub(call))
	})
}

// Elements adds what the latest step of the call came to for each of n elements, and when that began. Some room is left
// for the steps that follow; for elements that find none, of is not called.
func (e Entry) Elements(n int, of func(i int) (Element, time.Time)) {
	if e.place == nil {
		return
	}
	p := e.place
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 0; i < n && p.number == e.number; i++ {
		element, began := of(i)
		record := appendElement(p.record, &element, began.Sub(p.began))
		if len(record) > maxCall-endRoom-stepsRoom {
			p.left += n - i
			return
		}
		p.record = record
	}
}

// Wait adds that the call has waited for people, from a time on.
func (e Entry) Wait(began time.Time, took time.Duration) {
	e.add(maxCall-endRoom, func(dst []byte, call time.Time) []byte { return appendWait(dst, began.Sub(call), took) })
}

// SetApproval adds the approval that the call has requested.
func (e Entry) SetApproval(id string) {
	e.add(maxCall, func(dst []byte, _ time.Time) []byte { return appendShort(append(dst, approvalPart), id) })
}

// End adds what the call came to. Cause is what only operators may read; empty for nothing.
func (e Entry) End(c *event.Call, cause string, now time.Time) {
	e.add(maxCall, func(dst []byte, call time.Time) []byte {
		e.place.ended = e.log.ended.Add(1)
		return appendEnd(dst, c, cause, now.Sub(call))
	})
}

// add adds a part if there is room for it, and reports whether there was.
func (e Entry) add(room int, part func(dst []byte, began time.Time) []byte) bool {
	if e.place == nil {
		return false
	}
	p := e.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.number != e.number {
		return false // another call has taken the place
	}
	record := part(p.record, p.began)
	if len(record) > room {
		p.left++
		return false
	}
	p.record = record
	return true
}

// Calls returns the calls that are kept, the oldest first.
func (l *Log) Calls() (calls []*Call) {
	if l == nil {
		return nil
	}
	last := l.next.Load()
	for number := last - min(last, Kept) + 1; number <= last; number++ {
		if c := l.read(number); c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// Ended returns the calls that have ended after so many others and are kept, in the order of their ends, and how many
// have ended now. A nil Log has none.
func (l *Log) Ended(after uint64) (calls []*Call, now uint64) {
	if l == nil {
		return nil, after
	}
	now = l.ended.Load() // those that end from now on are left for the next time
	type ended struct {
		at   uint64
		call *Call
	}
	var found []ended
	for i := range l.places {
		p := &l.places[i]
		p.mu.Lock()
		if after < p.ended && p.ended <= now {
			found = append(found, ended{p.ended, l.readLocked(p)})
		}
		p.mu.Unlock()
	}
	slices.SortFunc(found, func(a, b ended) int { return cmp.Compare(a.at, b.at) })
	for _, e := range found {
		calls = append(calls, e.call)
	}
	return calls, now
}

// read returns a call; nil if its place was taken by another one.
func (l *Log) read(number uint64) *Call {
	p := &l.places[number%Kept]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.number != number {
		return nil
	}
	return l.readLocked(p)
}

// readLocked returns the call of a place that is locked.
func (l *Log) readLocked(p *place) *Call {
	c := parse(p.record, p.began)
	c.Process, c.MoreSteps = l.process, p.left
	return c
}
