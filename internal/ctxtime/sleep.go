// Package ctxtime has waits that end with a context.
package ctxtime

import (
	"context"
	"time"
)

// Sleep waits for d. It returns early with the error of ctx when ctx ends first, and at once
// when d is not positive and ctx has not ended.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
