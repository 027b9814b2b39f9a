package mcp

import (
	"context"
	"sync"
)

// semaphore limits how many holders there are at a time. It can be closed and drained.
type semaphore struct {
	limit int

	mu      sync.Mutex
	held    int           // guarded by mu
	closed  bool          // guarded by mu
	drained chan struct{} // closed when held is 0 after close, which creates it; guarded by mu
}

// acquire reports whether the caller has become a holder, who must call release.
func (s *semaphore) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.held >= s.limit {
		return false
	}
	s.held++
	return true
}

func (s *semaphore) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held--; s.held == 0 && s.closed {
		close(s.drained)
	}
}

// close makes acquire fail. It may be called again.
func (s *semaphore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed, s.drained = true, make(chan struct{})
	if s.held == 0 {
		close(s.drained)
	}
}

// wait waits until a closed semaphore has no holder.
func (s *semaphore) wait(ctx context.Context) error {
	select {
	case <-s.drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
