package event

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	ringSize = 4 << 20 // bytes, a power of two
	// Linger is how long a ring records after the last listener has gone: one that comes back has
	// missed nothing.
	Linger = 5 * time.Minute

	epochLength = 10

	maxListeners         = 64
	maxListenersOfCaller = 8
)

var (
	// ErrTooMany is returned when there are too many listeners.
	ErrTooMany = errors.New("there are 64 listeners already")
	// ErrTooManyOfCaller is returned when a caller has too many listeners.
	ErrTooManyOfCaller = errors.New("this caller has 8 listeners already")
	// ErrClosed is returned after the ring was closed.
	ErrClosed = errors.New("the server is shutting down")
)

// Ring keeps the latest events of a process. Use [NewRing]. Its methods may be called concurrently.
type Ring struct {
	process    string
	recording  atomic.Bool
	generation atomic.Uint64 // counts changes of who may see what

	mu        sync.Mutex
	epoch     string                 // names this recording; guarded by mu
	began     time.Time              // when it began; guarded by mu
	buf       []byte                 // nil while nothing is recorded; guarded by mu
	start     uint64                 // position of the oldest record; guarded by mu
	end       uint64                 // position after the latest record; guarded by mu
	first     uint64                 // number of the oldest record; guarded by mu
	next      uint64                 // number of the next record; guarded by mu
	holders   int                    // listeners and holds; guarded by mu
	listeners map[*Listener]struct{} // that follow; guarded by mu
	byOwner   map[string]int         // how many of them; guarded by mu
	waiting   int                    // how many of them want to be woken; guarded by mu
	stopping  *time.Timer            // ends the recording; nil for none; guarded by mu
	closed    bool                   // guarded by mu
}

// NewRing returns a Ring of a process with this name. It records nothing yet.
func NewRing(process string) *Ring {
	return &Ring{process: process, listeners: map[*Listener]struct{}{}, byOwner: map[string]int{}}
}

// isRecording reports whether events are kept. A nil Ring keeps none.
func (r *Ring) isRecording() bool { return r != nil && r.recording.Load() }

// Hold makes the ring record until release is called, which may be called again.
func (r *Ring) Hold() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holdLocked()
	var once sync.Once
	return func() {
		once.Do(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.releaseLocked()
		})
	}
}

// holdLocked makes the ring record. A recording has an epoch, which is part of the IDs of its events: an ID of
// another recording or process is recognised by it.
func (r *Ring) holdLocked() {
	r.holders++
	if r.stopping != nil {
		r.stopping.Stop()
		r.stopping = nil
	}
	if r.buf == nil && !r.closed {
		r.buf, r.epoch, r.began = make([]byte, ringSize), strings.ToLower(rand.Text()[:epochLength]), time.Now()
		r.start, r.end, r.first, r.next = 0, 0, 1, 1
		r.recording.Store(true)
	}
}

func (r *Ring) releaseLocked() {
	r.holders--
	if r.holders > 0 || r.buf == nil || r.closed {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(Linger, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.stopping == timer {
			r.stopLocked()
		}
	})
	r.stopping = timer
}

func (r *Ring) stopLocked() {
	r.recording.Store(false)
	r.buf, r.stopping = nil, nil
}

// Close ends all listeners, and the recording.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping != nil {
		r.stopping.Stop()
	}
	r.closed = true
	r.stopLocked()
	r.wakeLocked(false)
}

// Changed is called when another configuration is served, and when the sign-in of a person has ended: all listeners
// decide again what they see.
func (r *Ring) Changed() {
	r.generation.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLocked(false)
}

// lengthSize is the size of the length before each record.
const lengthSize = 4

// add adds a record. It overwrites the oldest records if the ring is full.
func (r *Ring) add(record []byte) {
	size := uint64(lengthSize + len(record))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buf == nil {
		return
	}
	for r.end+size-r.start > ringSize {
		r.start += lengthSize + uint64(r.lengthLocked(r.start))
		r.first++
	}
	var length [lengthSize]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(record)))
	r.writeLocked(r.end, length[:])
	r.writeLocked(r.end+lengthSize, record)
	r.end += size
	r.next++
	r.wakeLocked(true)
}

func (r *Ring) lengthLocked(at uint64) uint32 {
	var length [lengthSize]byte
	r.readLocked(length[:], at)
	return binary.BigEndian.Uint32(length[:])
}

func (r *Ring) writeLocked(at uint64, b []byte) {
	n := copy(r.buf[at%ringSize:], b)
	copy(r.buf, b[n:])
}

func (r *Ring) readLocked(b []byte, at uint64) {
	n := copy(b, r.buf[at%ringSize:])
	copy(b[n:], r.buf)
}

// wakeLocked wakes the listeners that wait: for an event, those that do not rest.
func (r *Ring) wakeLocked(forEvent bool) {
	if forEvent && r.waiting == 0 {
		return
	}
	for l := range r.listeners {
		if l.waiting || !forEvent {
			l.setWaitingLocked(false)
			l.wake.Send()
		}
	}
}
