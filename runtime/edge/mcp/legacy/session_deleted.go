package legacy

import (
	"context"
	"time"

	"hatchel/internal/ctxtime"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// The limits of the list of sessions that their clients have ended.
const (
	maxDeleted          = 100_000
	deletedLife         = 24 * time.Hour
	saveDeletedInterval = 10 * time.Second
	saveDeletedTimeout  = 5 * time.Second
)

// deletedSessions are the sessions that their clients have ended. Their ids stay valid, so this only
// keeps clients from using them by mistake. The oldest ones are forgotten.
type deletedSessions struct {
	names   map[handover.SessionName]struct{}
	order   []deletedSession   // oldest first
	unsaved []byte             // names
	saveNow context.CancelFunc // has them saved at once; nil if there are none
	loaded  bool               // those that were saved before are here
	loading chan struct{}      // closed when the first request has read them; nil while none does
}

type deletedSession struct {
	name handover.SessionName
	at   time.Time
}

func (d *deletedSessions) has(name handover.SessionName) bool {
	_, deleted := d.names[name]
	return deleted
}

func (d *deletedSessions) add(name handover.SessionName) {
	if d.has(name) {
		return
	}
	if d.names == nil {
		d.names = make(map[handover.SessionName]struct{})
	}
	now := time.Now()
	d.names[name] = struct{}{}
	d.order = append(d.order, deletedSession{name, now})
	for len(d.order) > maxDeleted || now.Sub(d.order[0].at) > deletedLife {
		delete(d.names, d.order[0].name)
		d.order = d.order[1:]
	}
}

// saveDeletedSoon saves that a session was ended, together with others.
func (t *sessions) saveDeletedSoon(ctx context.Context, name handover.SessionName) {
	if t.store == nil {
		return
	}
	t.mu.Lock()
	d := &t.deleted
	d.unsaved = append(d.unsaved, name[:]...)
	if d.saveNow == nil {
		ctx = context.WithoutCancel(ctx)
		var pause context.Context
		pause, d.saveNow = context.WithCancel(ctx)
		t.server.work.start(func() {
			ctxtime.Sleep(pause, saveDeletedInterval)
			t.saveDeleted(ctx)
		})
	}
	t.mu.Unlock()
	if t.server.core.IsRefusing() {
		t.saveDeletedNow()
	}
}

// saveDeletedNow has what saveDeletedSoon is about to save saved at once.
func (t *sessions) saveDeletedNow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deleted.saveNow != nil {
		t.deleted.saveNow()
	}
}

// saveDeleted saves which sessions were ended since the last time, and removes their records.
func (t *sessions) saveDeleted(ctx context.Context) {
	t.mu.Lock()
	d := &t.deleted
	names := d.unsaved
	d.saveNow()
	d.unsaved, d.saveNow = nil, nil
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, saveDeletedTimeout)
	defer cancel()
	err := t.store.SaveDeleted(ctx, names, time.Now().Add(deletedLife))
	for size := len(handover.SessionName{}); err == nil && len(names) >= size; names = names[size:] {
		err = t.store.RemoveSession(ctx, handover.SessionName(names).String())
	}
	if err != nil {
		t.server.log.WarnContext(ctx, "ended sessions not saved", "error", err)
	}
}

// awaitDeleted reads which sessions were ended, unless they are known. Of several requests one reads, and the others
// wait for it. After a failure the next request reads again.
func (t *sessions) awaitDeleted(ctx context.Context) {
	d := &t.deleted
	t.mu.Lock()
	loaded, loading := d.loaded, d.loading
	reads := !loaded && loading == nil
	if reads {
		loading = make(chan struct{})
		d.loading = loading
	}
	t.mu.Unlock()
	switch {
	case loaded:
	case reads:
		t.loadDeleted(ctx)
		t.mu.Lock()
		d.loading = nil
		t.mu.Unlock()
		close(loading)
	default:
		select {
		case <-loading:
		case <-ctx.Done():
		}
	}
}

// loadDeleted reads which sessions were ended.
func (t *sessions) loadDeleted(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // the client of the request that has come first may disconnect
	if t.store != nil {
		left := maxDeleted
		err := t.store.LoadDeleted(ctx, func(names []byte) bool {
			for size := len(handover.SessionName{}); len(names) >= size && left > 0; names = names[size:] {
				left--
				t.forgetDeleted(handover.SessionName(names))
			}
			return left > 0
		})
		if err != nil {
			t.server.log.WarnContext(ctx, "ended sessions not read", "error", err)
			return
		}
	}
	t.mu.Lock()
	t.deleted.loaded = true
	t.mu.Unlock()
}

// catchUp reads in the background the changes that this process may have missed: the sessions that were
// ended, the subscriptions of the clients that read their sessions here, and the answers that were stored for
// calls here, because this process was taken for dead.
func (t *sessions) catchUp(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.catchingUp {
		return
	}
	t.catchingUp = true
	t.server.work.start(func() { t.readMissed(ctx) })
}

func (t *sessions) readMissed(ctx context.Context) {
	t.mu.Lock()
	t.catchingUp = false // changes that are missed from now on are read once more
	t.mu.Unlock()
	t.loadDeleted(ctx)
	for _, sess := range t.byIdleness() {
		if sess.isRead() {
			sess.updateResources(ctx)
		}
	}
	for _, record := range t.waitingCalls() {
		record.Refresh(ctx)
	}
}
