package state

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
	"hatchel/internal/logonce"
	"hatchel/internal/service"
)

const (
	heartbeatInterval = 2 * time.Second

	// OwnerTTL is how long a process counts as alive after its last heartbeat.
	OwnerTTL = 3 * heartbeatInterval
)

// Process is this process as an owner of records. While it holds records it reports itself alive to
// the store every 2 seconds, once for all of its leases. The records of a process that has not done
// so for OwnerTTL are orphaned. Its methods may be called concurrently.
type Process struct {
	*service.Group // the heartbeat and all background work

	name    string
	open    func(context.Context) (Store, error)
	failing logonce.Changes // work that fails

	mu          sync.Mutex
	held        int          // records and retries that keep the heartbeat on; guarded by mu
	beating     bool         // the heartbeat goroutine was started; guarded by mu
	heartbeatAt time.Time    // of the last heartbeat; guarded by mu
	log         *slog.Logger // nil discards; guarded by mu
}

// NewProcess returns a process with a name of its own. It calls open whenever it needs the store,
// which stays the property of the caller and must be closed after the Process. Background work has the values of ctx.
func NewProcess(ctx context.Context, open func(context.Context) (Store, error)) *Process {
	return &Process{Group: service.NewGroup(ctx), name: rand.Text(), open: open}
}

// SetLog sets where failures of background work are logged; before, they are not.
func (p *Process) SetLog(log *slog.Logger) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = log
}

// Log returns where failures of background work are logged; nil before SetLog.
func (p *Process) Log() *slog.Logger {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log
}

// LogFailure is called with the result of each attempt of some background work, which is named by a noun. It logs that
// the work fails, once, and that it works again. [ErrForged] is no failure, and is logged each time.
func (p *Process) LogFailure(work string, err error) {
	switch log := p.Log(); {
	case log == nil || p.Context().Err() != nil:
	case errors.Is(err, ErrForged):
		log.Warn("notification ignored", "error", err)
	case err == nil && p.failing.Set(work, ""):
		log.Info(work + " works again")
	case err != nil && p.failing.Set(work, "fails"):
		log.Warn(work+" failed, will be tried again", "error", err)
	}
}

// Name is the Owner of the records that this process holds.
func (p *Process) Name() string { return p.name }

// Store returns the store that the process works with, and opens it when it is not open.
func (p *Process) Store(ctx context.Context) (Store, error) { return p.open(ctx) }

// RetryLater is Retry in the background, for timeout at most; the first call is made after a second.
// The heartbeat stays on meanwhile. It calls failed with the last error of do, if there is one. It
// reports false, and does nothing, when the Process is closed.
func (p *Process) RetryLater(timeout time.Duration, do func(context.Context) error, failed func(error)) bool {
	p.retain()
	started := p.Go(func(ctx context.Context) {
		defer p.release()
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if ctxtime.Sleep(ctx, storeBackoff.First) != nil {
			failed(ErrUnavailable)
		} else if err := Retry(ctx, do); err != nil {
			failed(err)
		}
	})
	if !started {
		p.release()
	}
	return started
}

// retain keeps the heartbeat on until release is called.
func (p *Process) retain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held++
	if !p.beating {
		p.beating = p.Go(p.beat)
	}
}

func (p *Process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held--
}

// beat sends heartbeats while the process holds anything. A failed heartbeat is made up for by the
// next one.
func (p *Process) beat(ctx context.Context) {
	for ctxtime.Sleep(ctx, heartbeatInterval) == nil {
		p.mu.Lock()
		holding := p.held > 0
		p.mu.Unlock()
		if !holding {
			continue
		}
		if store, err := p.open(ctx); err == nil {
			p.heartbeat(ctx, store)
		}
	}
}

// heartbeat reports the process alive, unless it just has.
func (p *Process) heartbeat(ctx context.Context, store Store) error {
	now := time.Now()
	p.mu.Lock()
	recent := now.Sub(p.heartbeatAt) < heartbeatInterval/2
	p.mu.Unlock()
	if recent {
		return nil
	}
	if err := store.Heartbeat(ctx, p.name, now.Add(OwnerTTL)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heartbeatAt = now
	return nil
}

// storeBackoff is how often the store is tried again while it is unavailable.
var storeBackoff = backoff.Policy{First: time.Second}

// Retry calls do every second until it returns something other than [ErrUnavailable], or until ctx ends. It
// returns the last error of do.
func Retry(ctx context.Context, do func(context.Context) error) (err error) {
	for range storeBackoff.Attempts(ctx) {
		if err = do(ctx); !errors.Is(err, ErrUnavailable) {
			break
		}
	}
	return err
}
