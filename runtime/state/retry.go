package state

import (
	"context"
	"errors"
	"time"

	"hatchel/internal/ctxtime"
)

// retryInterval is the pause between two attempts while the store is unavailable.
const retryInterval = time.Second

// Retry calls do every second until it returns something other than [ErrUnavailable], or until ctx ends. It
// returns the last error of do.
func Retry(ctx context.Context, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if !errors.Is(err, ErrUnavailable) || ctxtime.Sleep(ctx, retryInterval) != nil {
			return err
		}
	}
}
