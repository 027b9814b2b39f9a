package legacy

import (
	"context"
	"sync"
)

// background runs functions in the background, of which some start while others are awaited: what a message of another
// process begins. A service.Group starts none then.
type background struct {
	mu      sync.Mutex
	running int           // guarded by mu
	idle    chan struct{} // closed when nothing runs any more; nil while nobody waits; guarded by mu
}

// start runs do in the background.
func (b *background) start(do func()) {
	b.mu.Lock()
	b.running++
	b.mu.Unlock()
	go func() {
		defer b.done()
		do()
	}()
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running--; b.running == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// wait waits until nothing runs. It reports whether that was before the end of ctx, also when ctx has ended before.
func (b *background) wait(ctx context.Context) bool {
	b.mu.Lock()
	if b.running == 0 {
		b.mu.Unlock()
		return true
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}
