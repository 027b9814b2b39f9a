package sql

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters/adaptertest"
)

// testConn is a connection whose close waits for a channel.
type testConn struct {
	closing chan struct{}
	closed  func()
}

func (c *testConn) close() error {
	<-c.closing
	c.closed()
	return nil
}

// testPool returns a pool whose connections close once closing is closed, and how many are closed.
func testPool(closing chan struct{}) (p *pool[*testConn], closed func() int) {
	var mu sync.Mutex
	n := 0
	count := func() {
		mu.Lock()
		defer mu.Unlock()
		n++
	}
	p = newPool(2, func(context.Context) (*testConn, error) { return &testConn{closing, count}, nil })
	return p, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func lend(t *testing.T, p *pool[*testConn]) *testConn {
	t.Helper()
	c, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPoolClosesWhileAConnectionIsLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, closed := testPool(closedChannel())
		idle, lent := lend(t, p), lend(t, p)
		p.release(idle, true)
		ended := false
		go func() {
			_ = p.close()
			ended = true
		}()
		synctest.Wait()
		if !ended || closed() != 1 {
			t.Errorf("closed: %v, connections closed: %d", ended, closed())
		}
		p.release(lent, true)
		synctest.Wait()
		if closed() != 2 {
			t.Errorf("%d connections are closed at the end", closed())
		}
		if _, err := p.acquire(t.Context()); err == nil {
			t.Error("a closed pool lends a connection")
		}
	})
}

func TestIdleConnectionsAreClosedOutsideOfTheLock(t *testing.T) {
	for name, discard := range map[string]func(*pool[*testConn]){
		"that expire":       func(*pool[*testConn]) { time.Sleep(2 * time.Minute) },
		"that are dead":     func(p *pool[*testConn]) { go p.discardIdle() },
		"of a closing pool": func(p *pool[*testConn]) { go p.close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closing := make(chan struct{})
				p, closed := testPool(closing)
				p.maxIdle = time.Minute
				p.release(lend(t, p), true)
				discard(p)
				synctest.Wait()
				free := make(chan struct{})
				go func() {
					p.mu.Lock()
					defer p.mu.Unlock()
					close(free)
				}()
				synctest.Wait()
				select {
				case <-free:
				default:
					t.Error("a connection that closes slowly holds the lock")
				}
				close(closing)
				synctest.Wait()
				if closed() != 1 {
					t.Errorf("%d connections are closed", closed())
				}
			})
		})
	}
}

func TestWatchdogOfAClosedDatabaseEndsALateCall(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, "", `query = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) AS n FROM c"`))
	ctx, cancel := context.WithCancel(t.Context())
	db := b.Handle("shop").(*sqliteDatabase)
	ended := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, `{}`)
		ended <- err
	}()
	for inUse := 0; inUse == 0; inUse, _ = db.readers.usage() { // until the statement runs
	}
	if err := db.close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the endless query ended")
	}
}
