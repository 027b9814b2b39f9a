package mcp

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errEnded is why the requests of a session end when the session does.
var errEnded = errors.New("the session has ended")

// session is a legacy client over HTTP: a peer, and the events that it may come back for.
type session struct {
	*peer
	id    string
	of    *Identity // who opened it; nil when nobody has asked. Nobody else finds it
	log   events
	ended chan struct{}
	news  chan struct{} // receives when there is something to take from what the peer hears

	mu     sync.Mutex
	used   time.Time          // guarded by mu
	over   bool               // guarded by mu
	timer  *time.Timer        // ends the session when it has been idle; guarded by mu
	reader context.CancelFunc // ends the stream that follows the session's own events; guarded by mu

	followers int // connections that follow events of the session; guarded by mu
}

// touch says that the session is in use, and reports whether it still exists.
func (e *session) touch() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used = time.Now()
	return !e.over
}

// lastUsed returns the moment of the last touch. A session that is answering, or has a reader, is in use now.
func (e *session) lastUsed() time.Time {
	busy := !e.requests.idle()
	e.mu.Lock()
	defer e.mu.Unlock()
	if busy || e.reader != nil {
		e.used = time.Now()
	}
	return e.used
}

// attach makes cancel the end of the only reader; the one before, if any, ends now. What attach returns undoes it.
func (e *session) attach(cancel context.CancelFunc) (detach func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reader != nil {
		e.reader()
	}
	alone := true
	mine := func() { alone = false; cancel() }
	e.reader = mine
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if alone {
			e.reader = nil
		}
		e.used = time.Now()
	}
}

// end cancels what the session has under way. It may be called again.
func (e *session) end() {
	e.mu.Lock()
	if e.over {
		e.mu.Unlock()
		return
	}
	e.over = true
	e.timer.Stop()
	close(e.ended)
	e.mu.Unlock()
	e.requests.cancelAll(errEnded) // first, so that a call whose question ends knows that it is cancelled
	e.peer.asked.close(errEnded)
	e.hears.end()
	e.log.drop(true)
}

// sessions are those that exist now.
type sessions struct {
	limit   int
	idle    time.Duration
	keeping keeping

	mu   sync.Mutex
	byID map[string]*session // guarded by mu
}

// open makes a session for p. Where there is no room, the one idle longest ends.
func (t *sessions) open(p *peer, id string, of *Identity) *session {
	e := &session{peer: p, id: id, of: of, used: time.Now(), ended: make(chan struct{}), news: make(chan struct{}, 1)}
	e.log.init(&t.keeping)
	e.hears.deliver(wake(e.news))
	e.mu.Lock()
	e.timer = time.AfterFunc(t.idle, func() { t.expire(e) })
	e.mu.Unlock()
	t.mu.Lock()
	var evicted *session
	if len(t.byID) >= t.limit {
		var oldest time.Time
		for _, other := range t.byID {
			if used := other.lastUsed(); evicted == nil || used.Before(oldest) {
				evicted, oldest = other, used
			}
		}
		delete(t.byID, evicted.id)
	}
	if t.byID == nil {
		t.byID = make(map[string]*session)
	}
	t.byID[id] = e
	t.mu.Unlock()
	if evicted != nil {
		evicted.end()
	}
	return e
}

// expire ends e if it has been idle for long enough, and looks again later if it has not.
func (t *sessions) expire(e *session) {
	if rest := t.idle - time.Since(e.lastUsed()); rest > 0 {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.over {
			e.timer.Reset(rest)
		}
		return
	}
	t.close(e)
}

// find returns the session with this id that was begun in the toolset by who asks for it, or nil.
func (t *sessions) find(id, toolset string, of *Identity) *session {
	t.mu.Lock()
	e := t.byID[id]
	t.mu.Unlock()
	if e == nil || e.hears.toolset != toolset || (e.of != nil || of != nil) && e.of.Owner() != of.Owner() || !e.touch() {
		return nil
	}
	return e
}

// close ends e and forgets it.
func (t *sessions) close(e *session) {
	t.mu.Lock()
	delete(t.byID, e.id)
	t.mu.Unlock()
	e.end()
}

// retain ends the sessions of those who do not stand.
func (t *sessions) retain(stands func(*Identity) bool) {
	t.mu.Lock()
	var fallen []*session
	for id, e := range t.byID {
		if !stands(e.of) {
			delete(t.byID, id)
			fallen = append(fallen, e)
		}
	}
	t.mu.Unlock()
	for _, e := range fallen {
		e.end()
	}
}

func (t *sessions) endAll() {
	t.mu.Lock()
	all := t.byID
	t.byID = nil
	t.mu.Unlock()
	for _, e := range all {
		e.end()
	}
}
