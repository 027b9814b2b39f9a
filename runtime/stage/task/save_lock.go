package task

import "sync"

// saveLock is held while a task is saved and reported, so that reports arrive in the order of the saves.
type saveLock struct {
	sync.Mutex
	users int // that hold it or wait for it; guarded by Registry.mu
}

// lockSaves locks the saves of one task. The caller calls unlock.
func (r *Registry) lockSaves(id string) (unlock func()) {
	r.mu.Lock()
	l := r.saves[id]
	if l == nil {
		l = new(saveLock)
		r.saves[id] = l
	}
	l.users++
	r.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(r.saves, id)
		}
	}
}
