package state_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

// inBubble runs a test with a store in memory and a clock of its own.
func inBubble(t *testing.T, test func(*testing.T, state.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t, "")
		defer s.Close()
		test(t, s)
	})
}

func TestHeartbeat(t *testing.T) {
	t.Run("keeps held records from being orphaned", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s state.Store) {
			p, l := worker(t, s)
			defer p.Close()
			defer begin(t, l, leaseRecord("a"), nil).Release()
			time.Sleep(10 * state.OwnerTTL)
			if !known(t, s, "a record").OwnerAlive {
				t.Error("the owner counts as dead")
			}
		})
	})
	t.Run("ends with the last hold", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s state.Store) {
			p, l := worker(t, s)
			defer p.Close()
			begin(t, l, leaseRecord("a"), nil).Release()
			time.Sleep(2 * state.OwnerTTL)
			if known(t, s, "a record").OwnerAlive {
				t.Error("the owner counts as alive")
			}
		})
	})
	t.Run("ends with the process", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s state.Store) {
			p, l := worker(t, s)
			begin(t, l, leaseRecord("a"), nil)
			p.Close()
			time.Sleep(state.OwnerTTL + time.Second)
			if known(t, s, "a record").OwnerAlive {
				t.Error("the owner counts as alive")
			}
		})
	})
}

func TestOrphanWaitsForItsOwner(t *testing.T) {
	inBubble(t, func(t *testing.T, s state.Store) {
		owner, l := worker(t, s)
		defer owner.Close()
		watcher, w := worker(t, s)
		defer watcher.Close()
		h := begin(t, l, leaseRecord("a"), nil)
		w.TTL = time.Minute
		w.OnOrphan = func(context.Context, state.Store, *state.Record) error {
			t.Error("the record was handled")
			return nil
		}
		time.Sleep(time.Second)
		h.Release() // without heartbeats the record looks orphaned
		w.Watch()
		time.Sleep(w.TTL + time.Second)
		if known(t, s, "a record").OwnerAlive {
			t.Fatal("the record was never orphaned")
		}
		begin(t, l, leaseRecord("another"), nil)
		time.Sleep(3 * w.TTL)
	})
}

func TestRetry(t *testing.T) {
	other := errors.New("another error")
	for name, c := range map[string]struct {
		answers []error
		want    error
		calls   int
	}{
		"ends with the first success":       {[]error{state.ErrUnavailable, state.ErrUnavailable, nil}, nil, 3},
		"ends with any other error":         {[]error{state.ErrUnavailable, other}, other, 2},
		"returns the last error on timeout": {[]error{state.ErrUnavailable, state.ErrUnavailable, state.ErrUnavailable, state.ErrUnavailable}, state.ErrUnavailable, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				defer cancel()
				calls := 0
				err := state.Retry(ctx, func(context.Context) error { calls++; return c.answers[calls-1] })
				if err != c.want || calls != c.calls {
					t.Errorf("error %v after %d calls", err, calls)
				}
			})
		})
	}
}

func TestRetryLater(t *testing.T) {
	t.Run("keeps the heartbeat on until it succeeds", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s state.Store) {
			p, l := worker(t, s)
			defer p.Close()
			h := begin(t, l, leaseRecord("a"), nil)
			unavailable := time.Now().Add(time.Minute)
			p.RetryLater(time.Hour, func(context.Context) error {
				if time.Now().Before(unavailable) {
					return state.ErrUnavailable
				}
				return nil
			}, func(err error) { t.Error(err) })
			h.Release()
			time.Sleep(59 * time.Second)
			if !known(t, s, "a record").OwnerAlive {
				t.Error("the owner counts as dead while it retries")
			}
			time.Sleep(time.Minute)
			if known(t, s, "a record").OwnerAlive {
				t.Error("the owner counts as alive after the retry")
			}
		})
	})
	t.Run("reports the error when its time is over", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s state.Store) {
			p, _ := worker(t, s)
			defer p.Close()
			failed := make(chan error, 1)
			p.RetryLater(time.Minute, func(context.Context) error { return state.ErrUnavailable }, func(err error) { failed <- err })
			if err := <-failed; err != state.ErrUnavailable {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("does not start on a closed process", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s state.Store) {
			p, _ := worker(t, s)
			p.Close()
			if p.RetryLater(time.Hour, func(context.Context) error { return nil }, nil) {
				t.Error("it was started")
			}
		})
	})
}

func TestRepeatedFailureIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var works atomic.Bool
		s := openFile(t, "")
		defer s.Close()
		p := state.NewProcess(t.Context(), func(context.Context) (state.Store, error) {
			if !works.Load() {
				return nil, errors.New("there is no disk")
			}
			return s, nil
		})
		p.SetLog(slog.New(slog.NewTextHandler(&log, nil)))
		l := &state.Lease{Process: p, Kind: "work", TTL: time.Second}
		l.Watch()
		time.Sleep(time.Hour)
		works.Store(true)
		time.Sleep(time.Minute)
		p.Close()
		if got := log.String(); strings.Count(got, "there is no disk") != 1 || strings.Count(got, "works again") != 1 || strings.Count(got, "\n") != 2 {
			t.Errorf("the log is\n%s", got)
		}
	})
}

func TestForgedNotificationIsLoggedAsNoFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, s state.Store) {
		p, _ := worker(t, s)
		defer p.Close()
		var log strings.Builder
		p.SetLog(slog.New(slog.NewTextHandler(&log, nil)))
		p.LogFailure("watching", state.ErrForged)
		p.LogFailure("watching", nil)
		if got := log.String(); !strings.Contains(got, "notification ignored") || strings.Count(got, "\n") != 1 {
			t.Errorf("the log is\n%s", got)
		}
	})
}
