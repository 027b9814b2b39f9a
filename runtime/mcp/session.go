package mcp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// errSessionEnded is the cause of the contexts of requests whose session has ended.
var errSessionEnded = errors.New("the session has ended")

// session is a legacy client over HTTP, with the events that it may return for.
type session struct {
	*peer
	id    string
	owner *Identity // who opened the session and may use it; nil for unauthenticated clients
	log   eventLog
	ended chan struct{}
	wake  chan struct{} // receives when the subscription has notifications

	mu           sync.Mutex
	lastUse      time.Time          // guarded by mu
	over         bool               // guarded by mu
	expiry       *time.Timer        // ends the session when it is idle; guarded by mu
	cancelReader context.CancelFunc // ends the connection that reads the session's own stream; guarded by mu
	connections  int                // that read events of the session; guarded by mu
}

// touch records that the session is used. It reports false if the session has ended.
func (sess *session) touch() bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.lastUse = time.Now()
	return !sess.over
}

// lastUsed returns when the session was last used: now, if it has requests in progress or a reader.
func (sess *session) lastUsed() time.Time {
	busy := !sess.inflight.idle()
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if busy || sess.cancelReader != nil {
		sess.lastUse = time.Now()
	}
	return sess.lastUse
}

// attachReader makes cancel end the only reader and ends the previous one. The function that it
// returns undoes it.
func (sess *session) attachReader(cancel context.CancelFunc) (detach func()) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.cancelReader != nil {
		sess.cancelReader()
	}
	current := true
	sess.cancelReader = func() { current = false; cancel() }
	return func() {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		if current {
			sess.cancelReader = nil
		}
		sess.lastUse = time.Now()
	}
}

// end cancels the requests of the session. It may be called again.
func (sess *session) end() {
	sess.mu.Lock()
	if sess.over {
		sess.mu.Unlock()
		return
	}
	sess.over = true
	sess.expiry.Stop()
	close(sess.ended)
	sess.mu.Unlock()
	sess.inflight.cancelAll(errSessionEnded) // first, so that a call whose question fails is cancelled already
	sess.requests.close(errSessionEnded)
	sess.subscription.close()
	sess.log.drop(true)
}

// sessions are the open sessions.
type sessions struct {
	limit  int
	idle   time.Duration
	budget eventBudget

	mu   sync.Mutex
	byID map[string]*session // guarded by mu
}

// open creates a session for p. If the limit is reached, the session that was idle longest ends.
func (t *sessions) open(p *peer, id string, owner *Identity) *session {
	sess := &session{
		peer: p, id: id, owner: owner, lastUse: time.Now(), ended: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	sess.log.init(&t.budget)
	sess.subscription.start(trySend(sess.wake))
	sess.mu.Lock()
	sess.expiry = time.AfterFunc(t.idle, func() { t.expire(sess) })
	sess.mu.Unlock()
	t.mu.Lock()
	var evicted *session
	if len(t.byID) >= t.limit {
		byLastUse := func(a, b *session) int { return a.lastUsed().Compare(b.lastUsed()) }
		evicted = slices.MinFunc(slices.Collect(maps.Values(t.byID)), byLastUse)
		delete(t.byID, evicted.id)
	}
	t.byID[id] = sess
	t.mu.Unlock()
	if evicted != nil {
		evicted.end()
	}
	return sess
}

// expire ends sess if it was idle long enough, and otherwise checks again later.
func (t *sessions) expire(sess *session) {
	if rest := t.idle - time.Since(sess.lastUsed()); rest > 0 {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		if !sess.over {
			sess.expiry.Reset(rest)
		}
		return
	}
	t.remove(sess)
}

// find returns the session with this id if it was opened in the toolset by the same owner, or nil.
func (t *sessions) find(id, toolset string, owner *Identity) *session {
	t.mu.Lock()
	sess := t.byID[id]
	t.mu.Unlock()
	if sess == nil || sess.subscription.toolset != toolset || sess.owner.Owner() != owner.Owner() || !sess.touch() {
		return nil
	}
	return sess
}

// remove ends sess.
func (t *sessions) remove(sess *session) {
	t.mu.Lock()
	delete(t.byID, sess.id)
	t.mu.Unlock()
	sess.end()
}

// retain ends the sessions of owners that are not valid.
func (t *sessions) retain(valid func(*Identity) bool) {
	t.mu.Lock()
	var removed []*session
	for id, sess := range t.byID {
		if !valid(sess.owner) {
			delete(t.byID, id)
			removed = append(removed, sess)
		}
	}
	t.mu.Unlock()
	for _, sess := range removed {
		sess.end()
	}
}

func (t *sessions) closeAll() { t.retain(func(*Identity) bool { return false }) }

// byIdleness returns the sessions, the one that was idle longest first.
func (t *sessions) byIdleness() []*session {
	t.mu.Lock()
	lastUse := make(map[*session]time.Time, len(t.byID))
	for _, sess := range t.byID {
		lastUse[sess] = sess.lastUsed()
	}
	t.mu.Unlock()
	return slices.SortedFunc(maps.Keys(lastUse), func(a, b *session) int {
		return cmp.Or(lastUse[a].Compare(lastUse[b]), cmp.Compare(a.id, b.id))
	})
}

// eventBudget limits the memory of the events that all sessions keep. When it is exceeded, the
// sessions that were idle longest drop their events, and their clients miss them if they return.
type eventBudget struct {
	sessions *sessions
	limit    int64 // bytes
	used     atomic.Int64

	evicting sync.Mutex
}

// evictIdle drops events until the budget has some room. No lock of a session may be held.
func (b *eventBudget) evictIdle() {
	if b.used.Load() <= b.limit {
		return
	}
	b.evicting.Lock()
	defer b.evicting.Unlock()
	if b.used.Load() <= b.limit {
		return
	}
	for _, sess := range b.sessions.byIdleness() {
		if b.used.Load() <= b.limit-b.limit/8 {
			return
		}
		sess.log.drop(false)
	}
}
