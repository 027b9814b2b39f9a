package call

import "sync"

// maxWaitersPerCaller is how many calls of one caller may wait for an operator at once.
const maxWaitersPerCaller = 256

// Waiters are the calls that wait for people. It outlives generations, and its methods may be
// called concurrently.
type Waiters struct {
	Stop    func()          // ends all waiting calls, now and from now on
	stopped <-chan struct{} // closed when no call may wait any more

	mu       sync.Mutex
	count    map[string]int // by caller; guarded by mu
	reloaded chan struct{}  // closed at the next reload, and replaced; guarded by mu
}

// NewWaiters returns Waiters without calls.
func NewWaiters() *Waiters {
	stopped := make(chan struct{})
	return &Waiters{
		Stop: sync.OnceFunc(func() { close(stopped) }), stopped: stopped, count: map[string]int{},
		reloaded: make(chan struct{}),
	}
}

// NotifyReload has all waiting calls check whether the approval that they wait for is still valid
// for them.
func (w *Waiters) NotifyReload() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.reloaded)
	w.reloaded = make(chan struct{})
}

// nextReload is closed at the next reload.
func (w *Waiters) nextReload() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reloaded
}

// enter counts a call that begins to wait. It reports whether the call may.
func (w *Waiters) enter(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[owner] >= maxWaitersPerCaller {
		return false
	}
	w.count[owner]++
	return true
}

func (w *Waiters) leave(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[owner]--; w.count[owner] == 0 {
		delete(w.count, owner)
	}
}

// Len returns how many calls wait for an operator.
func (w *Waiters) Len() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, count := range w.count {
		n += count
	}
	return n
}
