package credential_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
)

// source is a source of credentials that a test makes slow, or fails.
type source struct {
	life    time.Duration // 0 for credentials whose end is unknown
	takes   time.Duration
	fails   atomic.Bool
	fetches atomic.Int64
}

func (s *source) fetch(ctx context.Context) (string, credential.Life, error) {
	requested, n := time.Now(), s.fetches.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return "", credential.Life{}, ctx.Err()
	}
	switch {
	case s.fails.Load():
		return "", credential.Life{}, errors.New("the source is down")
	case s.life == 0:
		return fmt.Sprint("token ", n), credential.Life{}, nil
	}
	return fmt.Sprint("token ", n), credential.NewLife(requested, s.life), nil
}

// open returns a cache of the source, and what closes the connection.
func (s *source) open(t *testing.T) (cache *credential.Cache[string], closed func()) {
	var cleanups []func() error
	env := adapters.Env{Defer: func(f func() error) { cleanups = append(cleanups, f) }}
	cache = credential.NewCache(credential.NewFetches(t.Context(), env), s.fetch)
	return cache, func() {
		for _, f := range cleanups {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	}
}

func want(t *testing.T, c *credential.Cache[string], token string) {
	t.Helper()
	began := time.Now()
	if got, err := c.Get(t.Context()); got != token || err != nil {
		t.Errorf("%q, %v after %v, want %q", got, err, time.Since(began), token)
	}
}

func TestCallsAtTheStartShareOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{life: time.Hour, takes: time.Second}
		c, closed := s.open(t)
		defer closed()
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() { want(t, c, "token 1") })
		}
		calls.Wait()
		if n := s.fetches.Load(); n != 1 {
			t.Errorf("%d fetches", n)
		}
	})
}

func TestACallWithAValidCredentialNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{life: time.Hour, takes: 10 * time.Second}
		c, closed := s.open(t)
		defer closed()
		want(t, c, "token 1")
		time.Sleep(54 * time.Minute)
		want(t, c, "token 1")
		synctest.Wait()
		if n := s.fetches.Load(); n != 1 {
			t.Fatalf("%d fetches before the renewal", n)
		}
		time.Sleep(time.Minute)
		for range 3 {
			began := time.Now()
			if want(t, c, "token 1"); time.Since(began) != 0 {
				t.Errorf("the call waited %v", time.Since(began))
			}
		}
		time.Sleep(11 * time.Second)
		want(t, c, "token 2")
		if n := s.fetches.Load(); n != 2 {
			t.Errorf("%d fetches", n)
		}
	})
}

// A token server that is down is not asked by every call.
func TestTheOldCredentialIsUsedToItsEndWhileRenewalsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{life: time.Hour}
		c, closed := s.open(t)
		defer closed()
		want(t, c, "token 1")
		s.fails.Store(true)
		for range (59*60 + 45) * 10 {
			want(t, c, "token 1")
			time.Sleep(time.Second / 10)
		}
		if n := s.fetches.Load(); n < 8 || n > 20 {
			t.Errorf("%d fetches in 5 minutes of renewals that fail", n)
		}
		if status := c.Status(); !status.Valid || status.Failure == nil || time.Until(status.Expires) <= 0 {
			t.Errorf("%+v", status)
		}
		time.Sleep(6 * time.Second)
		if _, err := c.Get(t.Context()); err == nil {
			t.Error("a credential is used after its end")
		}
		s.fails.Store(false)
		if _, err := c.Get(t.Context()); err != nil {
			t.Errorf("%v, although the source is up again", err)
		}
		if status := c.Status(); !status.Valid || status.Failure != nil {
			t.Errorf("%+v", status)
		}
	})
}

func TestACredentialIsRenewedAfterThreeQuartersOfAShortLife(t *testing.T) {
	now := time.Now()
	for lifetime, want := range map[time.Duration][2]time.Duration{
		time.Hour:        {55 * time.Minute, time.Hour - 10*time.Second},
		8 * time.Minute:  {6 * time.Minute, 8*time.Minute - 10*time.Second},
		20 * time.Second: {15 * time.Second, 18 * time.Second},
	} {
		life := credential.NewLife(now, lifetime)
		if life.Renew.Sub(now) != want[0] || life.Expires.Sub(now) != want[1] {
			t.Errorf("%v: renewed after %v, ends after %v", lifetime, life.Renew.Sub(now), life.Expires.Sub(now))
		}
	}
}

func TestAFetchDoesNotEndWithTheCallThatStartedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: time.Minute}
		c, closed := s.open(t)
		defer closed()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		want(t, c, "token 1")
		time.Sleep(1000 * time.Hour)
		want(t, c, "token 1")
	})
}

func TestClosingAConnectionEndsItsFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: time.Hour}
		c, closed := s.open(t)
		failed := make(chan error)
		go func() {
			_, err := c.Get(t.Context())
			failed <- err
		}()
		synctest.Wait()
		closed()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestOnlyTheRefusedCredentialIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{life: time.Hour}
		c, closed := s.open(t)
		defer closed()
		want(t, c, "token 1")
		drop := func(token string) { c.Invalidate(func(current string) bool { return current == token }) }
		drop("token 0")
		want(t, c, "token 1")
		drop("token 1")
		want(t, c, "token 2")
	})
}
