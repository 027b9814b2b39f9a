package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/pool"
)

// session is a session of a test.
type session struct {
	owner  string
	number int
	ended  chan struct{}
	once   sync.Once
	using  atomic.Int32
	single bool
	server *server
}

func (s *session) Done() <-chan struct{} { return s.ended }

func (s *session) end() { s.once.Do(func() { close(s.ended) }) }

func (s *session) Close() {
	time.Sleep(s.server.closing)
	s.end()
	s.server.closed.Add(1)
	s.server.open.Add(-1)
}

func isEnded(s *session) bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// server opens sessions.
type server struct {
	opening, closing     time.Duration
	opened, closed, open atomic.Int32
	most                 atomic.Int32 // that were open at the same time
	fail                 func(n int32) error
	single               bool
}

func (s *server) Open(ctx context.Context, owner string) (*session, error) {
	n := s.opened.Add(1)
	if open := s.open.Add(1); open > s.most.Load() {
		s.most.Store(open)
	}
	select {
	case <-time.After(s.opening):
	case <-ctx.Done():
		s.open.Add(-1)
		return nil, context.Cause(ctx)
	}
	if s.fail != nil {
		if err := s.fail(n); err != nil {
			s.open.Add(-1)
			return nil, err
		}
	}
	return &session{owner: owner, number: int(n), ended: make(chan struct{}), single: s.single, server: s}, nil
}

func (s *server) pool(t *testing.T, c pool.Config[*session]) *pool.Pool[*session] {
	c.Connection, c.Open = "files", s.Open
	if c.Max == 0 {
		c.Max = 16
	}
	p := pool.New(t.Context(), c)
	t.Cleanup(p.Close)
	return p
}

func acquire(t *testing.T, p *pool.Pool[*session], owner string) *pool.Lease[*session] {
	t.Helper()
	l, err := p.Acquire(t.Context(), owner)
	if err != nil {
		t.Fatalf("%s: %v", owner, err)
	}
	return l
}

func TestEachOwnerHasOneSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{opening: time.Second}
		p := s.pool(t, pool.Config[*session]{})
		defer p.Close()
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				owner := fmt.Sprint("owner ", i%5)
				l := acquire(t, p, owner)
				defer l.Release()
				if l.Session().owner != owner {
					t.Errorf("%s got the session of %s", owner, l.Session().owner)
				}
			})
		}
		calls.Wait()
		if n := s.opened.Load(); n != 5 {
			t.Errorf("%d sessions were opened for 5 owners", n)
		}
	})
}

func TestCallsWaitForAPlaceAndIdleSessionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{closing: time.Second}
		p := s.pool(t, pool.Config[*session]{Max: 2})
		defer p.Close()
		a, b := acquire(t, p, "a"), acquire(t, p, "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.Acquire(ctx, "c")
		fault := new(adapters.Fault)
		if !errors.As(err, &fault) || !fault.NotSent ||
			fault.Message != `"files" was busy with 2 sessions for as long as this call could wait` {
			t.Fatalf("got %v", err)
		}
		a.Release()
		acquire(t, p, "c").Release() // that of a was closed for it
		if s.closed.Load() != 1 || s.most.Load() != 2 {
			t.Errorf("%d sessions were closed, and %d were open at the same time", s.closed.Load(), s.most.Load())
		}
		if b.Session().number != acquire(t, p, "b").Session().number {
			t.Error("the session in use was replaced")
		}
	})
}

func TestWaitingCallsAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{opening: time.Millisecond, closing: time.Millisecond}
		p := s.pool(t, pool.Config[*session]{Max: 1})
		defer p.Close()
		first := acquire(t, p, "first")
		var mu sync.Mutex
		var order []int
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				l := acquire(t, p, fmt.Sprint(i))
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				l.Release()
			})
			synctest.Wait()
		}
		first.Release()
		calls.Wait()
		if got := fmt.Sprint(order); got != "[0 1 2 3 4 5 6 7 8 9]" {
			t.Errorf("the order was %s", got)
		}
	})
}

func TestASessionForOneCallServesOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{opening: time.Second, single: true}
		p := s.pool(t, pool.Config[*session]{Single: func(s *session) bool { return s.single }})
		defer p.Close()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				l := acquire(t, p, "a")
				defer l.Release()
				if l.Session().using.Add(1) != 1 {
					t.Error("two calls used the session at the same time")
				}
				time.Sleep(time.Second)
				l.Session().using.Add(-1)
			})
		}
		calls.Wait()
		if n := s.opened.Load(); n != 1 {
			t.Errorf("%d sessions were opened", n)
		}
	})
}

func TestASessionForEachCallIsClosedAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.pool(t, pool.Config[*session]{PerCall: true, Max: 3})
		defer p.Close()
		var calls sync.WaitGroup
		seen := sync.Map{}
		for range 30 {
			calls.Go(func() {
				l := acquire(t, p, "a")
				defer l.Release()
				if _, again := seen.LoadOrStore(l.Session().number, true); again {
					t.Error("two calls had the same session")
				}
				time.Sleep(time.Second)
			})
		}
		calls.Wait()
		synctest.Wait()
		if s.opened.Load() != 30 || s.closed.Load() != 30 || s.most.Load() > 3 {
			t.Errorf("%d opened, %d closed, %d at the same time", s.opened.Load(), s.closed.Load(), s.most.Load())
		}
	})
}

func TestIdleSessionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.pool(t, pool.Config[*session]{Idle: 10 * time.Minute})
		defer p.Close()
		acquire(t, p, "a").Release()
		time.Sleep(6 * time.Minute)
		acquire(t, p, "b").Release()
		used := acquire(t, p, "c")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := len(p.Sessions()); n != 2 {
			t.Errorf("%d sessions are open, want those of b and c", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(p.Sessions()); n != 1 {
			t.Errorf("%d sessions are open, want that of c", n)
		}
		used.Release()
	})
}

func TestASessionThatHasEndedIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p := s.pool(t, pool.Config[*session]{Max: 1})
		defer p.Close()
		l := acquire(t, p, "a")
		l.Session().end()
		l.Release()
		again := acquire(t, p, "a")
		if again.Session().number != 2 {
			t.Errorf("got session %d", again.Session().number)
		}
		again.Discard() // lost at the server
		again.Discard()
		if s.closed.Load() != 1 {
			t.Error("a session in use was closed")
		}
		again.Release()
		if n := acquire(t, p, "a").Session().number; n != 3 {
			t.Errorf("got session %d after one that was discarded", n)
		}
	})
}

func TestTheErrorOfAnOpeningIsThatOfAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s := &server{opening: time.Second, fail: func(n int32) error {
			if n == 1 {
				return broken
			}
			return nil
		}}
		p := s.pool(t, pool.Config[*session]{Max: 1})
		defer p.Close()
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() {
				if _, err := p.Acquire(t.Context(), "a"); err != broken {
					t.Errorf("got %v", err)
				}
			})
		}
		calls.Wait()
		acquire(t, p, "a").Release()
	})
}

func TestACallThatLeavesDoesNotEndTheOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{opening: time.Minute}
		p := s.pool(t, pool.Config[*session]{})
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Acquire(ctx, "a")
		if fault := new(adapters.Fault); !errors.As(err, &fault) || !fault.NotSent {
			t.Fatalf("got %v", err)
		}
		if acquire(t, p, "a").Session().number != 1 {
			t.Error("the session was opened again")
		}
	})
}

func TestTheFirstOwnerGetsTheWarmSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, perCall := range []bool{false, true} {
			s := &server{opening: time.Second}
			p := s.pool(t, pool.Config[*session]{PerCall: perCall})
			warm, err := p.Warm(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			a, b := acquire(t, p, "a"), acquire(t, p, "b")
			if a.Session() != warm || b.Session() == warm {
				t.Error("the warm session was not that of the first owner alone")
			}
			if again, err := p.Warm(t.Context(), "c"); err != nil || again == warm {
				t.Errorf("a warm session is missing: %v", err)
			} else {
				again.end()
			}
			if again, err := p.Warm(t.Context(), "c"); err != nil || isEnded(again) {
				t.Errorf("a warm session that has ended is not replaced: %v", err)
			}
			a.Release()
			b.Release()
			p.Close()
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{opening: time.Second}
		p := s.pool(t, pool.Config[*session]{Max: 3})
		l := acquire(t, p, "a")
		acquire(t, p, "b").Release()
		var calls sync.WaitGroup
		for _, owner := range []string{"opening", "waiting"} {
			calls.Go(func() {
				if l, err := p.Acquire(t.Context(), owner); err == nil {
					l.Release()
					t.Errorf("%s: no error", owner)
				}
			})
			synctest.Wait()
		}
		p.Close()
		calls.Wait()
		l.Release()
		if s.open.Load() != 0 {
			t.Errorf("%d sessions are open", s.open.Load())
		}
		if _, err := p.Acquire(t.Context(), "a"); err == nil {
			t.Error("a closed pool opens sessions")
		}
	})
}

// TestNoSessionIsUsedForTwoOwners runs everything at once.
func TestNoSessionIsUsedForTwoOwners(t *testing.T) {
	for _, single := range []bool{false, true} {
		s := &server{single: single, fail: func(n int32) error {
			if n%7 == 0 {
				return errors.New("broken")
			}
			return nil
		}}
		p := s.pool(t, pool.Config[*session]{
			Max: 5, Idle: time.Millisecond, Single: func(s *session) bool { return s.single },
		})
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				for range 100 {
					owner := fmt.Sprint(rand.IntN(20))
					l, err := p.Acquire(t.Context(), owner)
					if err != nil {
						continue
					}
					if n := l.Session().using.Add(1); single && n != 1 {
						t.Error("two calls used a session at the same time")
					}
					if l.Session().owner != owner {
						t.Errorf("%s got the session of %s", owner, l.Session().owner)
					}
					switch rand.IntN(10) {
					case 0:
						l.Session().end()
					case 1:
						l.Discard()
					}
					l.Session().using.Add(-1)
					l.Release()
				}
			})
		}
		calls.Wait()
		p.Close()
		if s.open.Load() != 0 || s.most.Load() > 5 {
			t.Errorf("%d sessions are open; at most %d were", s.open.Load(), s.most.Load())
		}
	}
}
