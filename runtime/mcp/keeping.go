package mcp

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// keeping is what the events take that all sessions keep. When they take more than they may, the sessions that have been idle longest give up theirs: their clients
// miss what they did not come back for.
type keeping struct {
	sessions *sessions
	most     int64 // bytes
	bytes    atomic.Int64

	relieving sync.Mutex // held by the one who looks for sessions that give way
}

// relieve has sessions give way, the one idle longest first, until there is some room. It must be called without any lock of a session.
func (k *keeping) relieve() {
	if k.bytes.Load() <= k.most {
		return
	}
	k.relieving.Lock()
	defer k.relieving.Unlock()
	if k.bytes.Load() <= k.most {
		return
	}
	for _, e := range k.sessions.byIdleness() {
		if k.bytes.Load() <= k.most-k.most/8 {
			return
		}
		e.log.drop(false)
	}
}

// byIdleness are the sessions, the one idle longest first.
func (t *sessions) byIdleness() []*session {
	type idle struct {
		session *session
		since   time.Time
	}
	t.mu.Lock()
	all := make([]idle, 0, len(t.byID))
	for _, e := range t.byID {
		all = append(all, idle{session: e})
	}
	t.mu.Unlock()
	for i := range all {
		all[i].since = all[i].session.lastUsed()
	}
	slices.SortFunc(all, func(a, b idle) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.session.id, b.session.id)) })
	out := make([]*session, len(all))
	for i := range all {
		out[i] = all[i].session
	}
	return out
}
