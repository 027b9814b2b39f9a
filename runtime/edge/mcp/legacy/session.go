package legacy

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/queue"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// errSessionEnded is the cause of the contexts of requests whose session has ended.
var errSessionEnded = errors.New("the session has ended")

// session is a legacy client over HTTP, with the events that it may return for. Its id holds everything
// else, so this process may forget a session that it does not use.
type session struct {
	peer
	table    *sessions
	serial   uint64 // among the sessions that this process has opened
	reopened bool   // the client was initialized by another process, or before this one has forgotten the session
	name     handover.SessionName
	nameText string
	id       string
	expires  time.Time
	owner    *mcp.Identity // who opened the session and may use it; nil for unauthenticated clients
	log      eventLog
	recent   *list.Element // guarded by sessions.mu
	seen     time.Time     // when the last request has come; guarded by sessions.mu

	stale       atomic.Bool  // updateResources is about to read the record
	uses        atomic.Int32 // requests of the session here; a session in use is not forgotten
	connections atomic.Int32 // that read events of the session

	updating sync.Mutex // held during updateResources

	mu           sync.Mutex
	over         bool                   // guarded by mu
	record       handover.SessionRecord // without a store; guarded by mu
	reader       *mcp.Caller            // of the session's own stream; nil if it is not read here; guarded by mu
	ended        chan struct{}          // closed at the end; nil before a connection reads events; guarded by mu
	cancelReader context.CancelFunc     // ends the connection that reads the session's own stream; guarded by mu
}

// isRead reports whether the client reads the session's own stream here.
func (sess *session) isRead() bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.reader != nil
}

// release undoes sessions.open and sessions.find.
func (sess *session) release() { sess.uses.Add(-1) }

// attachReader makes reader the only one of the session's own stream, whose connection cancel ends,
// and ends the previous one. The reader is woken when the subscription has notifications. The function
// detach undoes it.
func (sess *session) attachReader(reader *mcp.Caller, cancel context.CancelFunc) (_ <-chan struct{}, detach func()) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.cancelReader != nil {
		sess.cancelReader()
	}
	sess.reader, sess.cancelReader = reader, cancel
	woken := queue.NewSignal()
	sess.subscription.Open(woken.Send)
	return woken, func() {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		if sess.reader == reader {
			sess.reader, sess.cancelReader = nil, nil
		}
	}
}

// readElsewhere ends the reader here, because another process has one.
func (sess *session) readElsewhere() {
	sess.mu.Lock()
	if sess.cancelReader != nil {
		sess.cancelReader()
	}
	sess.mu.Unlock()
	sess.subscription.Pause()
}

// awaitEnd returns a channel that is closed when the session ends.
func (sess *session) awaitEnd() <-chan struct{} {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.ended == nil {
		sess.ended = make(chan struct{})
		if sess.over {
			close(sess.ended)
		}
	}
	return sess.ended
}

// end cancels the requests of the session. It may be called again.
func (sess *session) end() {
	sess.mu.Lock()
	if sess.over {
		sess.mu.Unlock()
		return
	}
	sess.over = true
	if sess.ended != nil {
		close(sess.ended)
	}
	sess.mu.Unlock()
	sess.inflight.CancelAll(errSessionEnded) // first, so that a call whose question fails is cancelled already
	sess.questions.close(errSessionEnded)
	sess.subscription.Close()
	sess.log.drop(true)
}

// sessions are the sessions that this process has opened. When there are more than the limit, those
// that were not used for longest are forgotten until their next request. When the events that they
// keep exceed eventLimit, the sessions that were not used for longest drop theirs, and their clients
// miss them if they return.
type sessions struct {
	server     *Server
	sealer     mcp.Sealer
	store      handover.Store // or nil
	limit      int
	eventLimit int64 // bytes

	eventBytes atomic.Int64
	evicting   sync.Mutex // held while events are dropped

	mu         sync.Mutex
	byID       map[string]*session               // guarded by mu
	byName     map[handover.SessionName]*session // guarded by mu
	recent     list.List                         // of sessions, the one that was used last in front; guarded by mu
	lastSerial uint64                            // guarded by mu
	catchingUp bool                              // guarded by mu
	waiting    map[*handover.CallRecord]struct{} // calls that wait for people; guarded by mu
	deleted    deletedSessions                   // guarded by mu
}

// open opens a session for a client that has sent initialize. The caller must release it.
func (t *sessions) open(ctx context.Context, sess *session) error {
	err := t.newID(ctx, sess)
	if err == nil {
		t.add(sess)
		t.report(sess, "begun")
	}
	return err
}

// report tells the observer that a session has begun or has ended.
func (t *sessions) report(sess *session, state string) {
	if o := t.server.options.Observer; o != nil {
		o.SessionChanged(sess.nameText, sess.owner, state)
	}
}

// find returns the session with this id if it was opened in the toolset by the same owner, or nil.
// The caller must release it.
func (t *sessions) find(ctx context.Context, id, toolset string, owner *mcp.Identity) (*session, error) {
	now := time.Now()
	t.mu.Lock()
	sess := t.byID[id]
	if sess != nil {
		sess.uses.Add(1)
		sess.seen = now
		t.recent.MoveToFront(sess.recent)
	}
	t.mu.Unlock()
	switch {
	case sess == nil:
		return t.reopen(ctx, id, toolset, owner)
	case sess.toolset != toolset || !sess.owner.SameOwner(owner) || !now.Before(sess.expires):
		sess.release()
		return nil, nil
	}
	return sess, nil
}

// reopen is find for a session that is new to this process, or was forgotten.
func (t *sessions) reopen(ctx context.Context, id, toolset string, owner *mcp.Identity) (*session, error) {
	sess, stored := t.openID(id, toolset, owner)
	if sess == nil {
		return nil, nil
	}
	t.awaitDeleted(ctx)
	if stored {
		if found, err := t.loadClient(ctx, sess); !found {
			return nil, err
		}
	}
	return t.add(sess), nil
}

// add adds a session and returns it, or the same session if another request has added it. It returns
// nil for a session that was deleted.
func (t *sessions) add(sess *session) *session {
	sess.start()
	sess.table, sess.peer.session, sess.log.session, sess.nameText = t, sess, sess, sess.name.String()
	t.mu.Lock()
	existing := t.byID[sess.id]
	switch {
	case t.deleted.has(sess.name):
		t.mu.Unlock()
		return nil
	case existing != nil:
		existing.uses.Add(1)
		t.mu.Unlock()
		return existing
	}
	sess.uses.Add(1)
	sess.recent, sess.seen = t.recent.PushFront(sess), time.Now()
	t.lastSerial++
	sess.serial = t.lastSerial
	t.byID[sess.id], t.byName[sess.name] = sess, sess
	forgotten := t.forgetUnusedLocked()
	t.mu.Unlock()
	for _, old := range forgotten {
		old.end()
	}
	return sess
}

// maxForgetTries is how many sessions are tried to be forgotten for one that is added.
const maxForgetTries = 16

// forgetUnusedLocked forgets and returns sessions that were not used for longest, if there are too
// many. Those in use are skipped.
func (t *sessions) forgetUnusedLocked() (forgotten []*session) {
	for i := 0; i < maxForgetTries && len(t.byID) > t.limit; i++ {
		oldest := t.recent.Back().Value.(*session)
		if oldest.uses.Load() > 0 {
			t.recent.MoveToFront(oldest.recent)
			continue
		}
		t.forgetLocked(oldest)
		forgotten = append(forgotten, oldest)
	}
	return forgotten
}

func (t *sessions) forgetLocked(sess *session) {
	delete(t.byID, sess.id)
	delete(t.byName, sess.name)
	t.recent.Remove(sess.recent)
}

// remove ends sess for good.
func (t *sessions) remove(ctx context.Context, sess *session) {
	t.forgetDeleted(sess.name)
	sess.end()
	t.saveDeletedSoon(ctx, sess.name)
}

// forgetDeleted ends a session that its client has ended, if it is known here.
func (t *sessions) forgetDeleted(name handover.SessionName) {
	t.mu.Lock()
	t.deleted.add(name)
	sess := t.byName[name]
	if sess != nil {
		t.forgetLocked(sess)
	}
	t.mu.Unlock()
	if sess != nil {
		sess.end()
		t.report(sess, "ended")
	}
}

// named returns the session with a name if it is known here, or nil. The caller must release it.
func (t *sessions) named(name handover.SessionName) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	sess := t.byName[name]
	if sess != nil {
		sess.uses.Add(1)
	}
	return sess
}

// retain ends the requests and streams of sessions whose owners are not valid.
func (t *sessions) retain(valid func(*mcp.Identity) bool) {
	for _, sess := range t.removeInvalid(valid) {
		sess.end()
		t.report(sess, "ended")
	}
}

// closeAll ends all sessions here. They may go on in another process.
func (t *sessions) closeAll() {
	for _, sess := range t.removeInvalid(func(*mcp.Identity) bool { return false }) {
		sess.end()
	}
}

func (t *sessions) removeInvalid(valid func(*mcp.Identity) bool) (removed []*session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sess := range t.byID {
		if !valid(sess.owner) {
			t.forgetLocked(sess)
			removed = append(removed, sess)
		}
	}
	return removed
}

// byIdleness returns the sessions, those that were not used for longest first, and those in use last.
func (t *sessions) byIdleness() []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	unused, used := make([]*session, 0, len(t.byID)), []*session(nil)
	for e := t.recent.Back(); e != nil; e = e.Prev() {
		if sess := e.Value.(*session); sess.uses.Load() > 0 {
			used = append(used, sess)
		} else {
			unused = append(unused, sess)
		}
	}
	return append(unused, used...)
}

// evictIdle drops events until there is some room for more. No lock of a session may be held.
func (t *sessions) evictIdle() {
	if t.eventBytes.Load() <= t.eventLimit {
		return
	}
	t.evicting.Lock()
	defer t.evicting.Unlock()
	if t.eventBytes.Load() <= t.eventLimit {
		return
	}
	for _, sess := range t.byIdleness() {
		if t.eventBytes.Load() <= t.eventLimit-t.eventLimit/8 {
			return
		}
		sess.log.drop(false)
	}
}

// addWaiting registers a call that begins to wait for people here, until the function that it returns.
func (t *sessions) addWaiting(record *handover.CallRecord) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[*handover.CallRecord]struct{}{}
	}
	t.waiting[record] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, record)
	}
}

func (t *sessions) waitingCalls() []*handover.CallRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.waiting))
}

// Name returns what identifies the session in logs and between processes.
func (sess *session) Name() handover.SessionName { return sess.name }

// ResolveQuestion delivers the answer to a question, and reports whether a call here waits for it.
func (sess *session) ResolveQuestion(id string, r handover.Response) bool {
	return sess.questions.resolve(id, r)
}

// QuestionEvent returns the number and the message of the event of a question in a stream; 0 if it is not kept.
func (sess *session) QuestionEvent(stream uint64, id string) (seq uint64, frame []byte) {
	_, events, _, _ := sess.log.after(eventID{stream: stream})
	begin := append(jsonscan.AppendString([]byte(`{"jsonrpc":"2.0","id":`), id), ',')
	for _, e := range events {
		if bytes.HasPrefix(e.frame, begin) {
			seq, frame = e.seq, e.frame
		}
	}
	return seq, frame
}
