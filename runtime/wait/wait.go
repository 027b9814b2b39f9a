// Package wait pauses a goroutine until a time has passed or something else has happened.
package wait

import (
	"context"
	"time"
)

// Sleep returns nil when d has passed, or the error of ctx if that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Until reports whether done is closed before d has passed and before interrupt, which may be nil, is closed.
func Until(done <-chan struct{}, d time.Duration, interrupt <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-interrupt:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
