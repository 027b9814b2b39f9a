// Package service has the one shape of work in the background: it starts, it stops within a deadline, and its owner
// holds it in a list.
package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// StopTimeout is how long each service of a List has to stop.
const StopTimeout = time.Minute

// ErrStopped is the error of a start after the owner has stopped.
var ErrStopped = errors.New("the owner of the service has stopped")

// Service is work in the background.
type Service struct {
	// Name is a noun, for errors.
	Name string
	// Start begins the work and returns; after an error nothing goes on. Nil for work that goes on already. The context
	// has the values of the owner's, and never ends.
	Start func(ctx context.Context) error
	// Stop ends the work, and returns when it has ended.
	Stop func() error
}

// Ending returns a service that goes on already, and that end ends.
func Ending(name string, end func()) Service {
	return Service{Name: name, Stop: func() error { end(); return nil }}
}

// List is the services of one owner. They start in the order in which they are added, and stop in the reverse one, so
// that each may use those before it. Make one with NewList. Its methods may be called concurrently.
type List struct {
	ctx context.Context // of the services

	mu      sync.Mutex
	started []Service // guarded by mu
	stopped bool      // guarded by mu
}

// NewList returns an empty List. The services have the values of ctx, which does not end them.
func NewList(ctx context.Context) *List { return &List{ctx: context.WithoutCancel(ctx)} }

// Start starts services and adds each that has started. It ends at the first error.
func (l *List) Start(services ...Service) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range services {
		if l.stopped {
			return ErrStopped
		}
		if s.Start != nil {
			if err := s.Start(l.ctx); err != nil {
				return err
			}
		}
		l.started = append(l.started, s)
	}
	return nil
}

// Stop stops all services, the latest first, and starts no more. One that does not stop in time is left behind. The
// error joins those of the services.
func (l *List) Stop() error {
	l.mu.Lock()
	started := l.started
	l.started, l.stopped = nil, true
	l.mu.Unlock()
	var errs []error
	for _, s := range slices.Backward(started) {
		errs = append(errs, stop(s))
	}
	return errors.Join(errs...)
}

// stop stops a service within StopTimeout.
func stop(s Service) error {
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	timer := time.NewTimer(StopTimeout)
	defer timer.Stop()
	select {
	case err := <-stopped:
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("%s: not stopped within %s", s.Name, StopTimeout)
	}
}
