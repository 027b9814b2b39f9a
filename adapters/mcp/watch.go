package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/drift"
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// watcher has a server listed that no call uses.
type watcher struct {
	ctx context.Context // of visits, without end

	mu       sync.Mutex
	timer    *time.Timer    // of the next visit; nil before the first; guarded by mu
	closed   bool           // guarded by mu
	visiting sync.WaitGroup // visits
}

// minWatch is the shortest time between two visits.
const minWatch = 10 * time.Second

// Watch implements adapters.Upstream. A server whose list depends on the caller is listed by calls only, and a program
// while it runs.
func (s *server) Watch() {
	if s.launcher != nil {
		s.startAtLoad()
	} else if s.sessions != nil && !s.perCaller {
		s.visitAfter(0)
	}
}

func (s *server) visitAfter(pause time.Duration) {
	w := &s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case w.timer == nil:
		w.timer = time.AfterFunc(pause, s.visit)
	default:
		w.timer.Reset(pause)
	}
}

// visit has the tools listed if no session is open that has done so, and goes on with that.
func (s *server) visit() {
	w := &s.watcher
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.visiting.Add(1)
	w.mu.Unlock()
	defer w.visiting.Done()
	defer s.visitAfter(max(s.Refresh, minWatch))
	if slices.ContainsFunc(s.sessions.Sessions(), func(o *session) bool { return o.drift.IsListed() }) {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, client.MaxListTime)
	defer cancel()
	if opened, err := s.sessions.Warm(ctx, ""); err == nil {
		_ = opened.drift.Check(ctx) // the monitor reports its errors
	}
}

// stopWatching ends the visits. One that is under way ends with the sessions.
func (s *server) stopWatching() {
	w := &s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Ping implements adapters.Health. A server that gets the credentials of callers cannot be asked without one.
func (s *server) Ping(ctx context.Context) error {
	if s.sessions == nil || s.perCaller {
		return nil
	}
	if s.launcher != nil {
		return s.pingProgram(ctx)
	}
	lease, err := s.sessions.Acquire(ctx, "")
	if err != nil {
		return err
	}
	defer lease.Release()
	err = lease.Session().Ping(ctx)
	s.discardLost(lease, err)
	return err
}

// Probe implements adapters.Prober, for validate --connect: it reports that the tool is not as reviewed.
func (a *action) Probe(ctx context.Context) (*schema.Type, error) {
	s := a.server
	if s.sessions == nil || s.perCaller {
		return nil, nil // as Ping
	}
	lease, err := s.sessions.Acquire(ctx, "")
	if err == nil {
		defer lease.Release()
		err = lease.Session().drift.Admit(ctx, a.Call)
	}
	if differs, ok := errors.AsType[*drift.Error](err); ok {
		return nil, hcl.Blame(&a.Call, "%s. Review: %s", differs, adapters.ReviewCommand(s.name))
	}
	if err != nil {
		return nil, &adapters.ConnectionError{Cause: err}
	}
	return nil, nil
}

// Asks implements adapters.Prober. There are no statements.
func (a *action) Asks(string) bool { return false }
