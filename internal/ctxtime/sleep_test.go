package ctxtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/internal/ctxtime"
)

func TestSleep(t *testing.T) {
	t.Run("waits for the duration", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if err := ctxtime.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
				t.Errorf("slept %v, error %v", time.Since(began), err)
			}
		})
	})
	t.Run("ends with the context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := ctxtime.Sleep(ctx, time.Minute); err != context.DeadlineExceeded {
				t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
			}
		})
	})
	t.Run("returns at once without a duration", func(t *testing.T) {
		if err := ctxtime.Sleep(t.Context(), 0); err != nil {
			t.Error(err)
		}
	})
}
