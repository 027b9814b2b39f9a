package legacy

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp/legacy/handover"
)

// TestOneOfSeveralAdoptersGetsTheAnswer lets several adopt one question at once. The one that has adopted it must get
// the answer of the user.
func TestOneOfSeveralAdoptersGetsTheAnswer(t *testing.T) {
	for range 50 {
		var requests clientRequests
		var adopters sync.WaitGroup
		var adopted atomic.Int32
		responses := make(chan (<-chan handover.Response), 4)
		requests.mu.Lock()
		for range cap(responses) {
			adopters.Go(func() {
				if response, ok := requests.adopt("q"); ok {
					adopted.Add(1)
					responses <- response
				}
			})
		}
		// A mutex for which one has waited in vain, for longer than 1 ms, goes to the others in turn.
		for range 2 {
			for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
				runtime.Gosched()
			}
			requests.mu.Unlock()
			requests.mu.Lock()
		}
		requests.mu.Unlock()
		adopters.Wait()
		if requests.resolve("q", handover.Response{}); adopted.Load() != 1 || len(<-responses) != 1 {
			t.Fatalf("%d have adopted the question", adopted.Load())
		}
	}
}

// slowStore answers nothing until it is told to.
type slowStore struct {
	handover.Store
	asked   chan struct{} // gets a value for each request that has begun
	release chan struct{}
}

func (s *slowStore) LoadDeleted(ctx context.Context, add func([]byte) bool) error {
	s.asked <- struct{}{}
	<-s.release
	add(make([]byte, len(handover.SessionName{})))
	return nil
}

func newSessionTable(store handover.Store) *sessions {
	server := &Server{log: slog.New(slog.DiscardHandler)}
	return &sessions{server: server, store: store}
}

// TestARequestWaitsForTheEndedSessionsThatAnotherOneReads begins two requests at once. The second one must not find a
// session that was ended.
func TestARequestWaitsForTheEndedSessionsThatAnotherOneReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{asked: make(chan struct{}, 2), release: make(chan struct{})}
		table := newSessionTable(store)
		var requests sync.WaitGroup
		var early atomic.Int32
		for range 2 {
			requests.Go(func() {
				table.awaitDeleted(t.Context())
				table.mu.Lock()
				defer table.mu.Unlock()
				if !table.deleted.has(handover.SessionName{}) {
					early.Add(1)
				}
			})
		}
		synctest.Wait()
		close(store.release)
		requests.Wait()
		if len(store.asked) != 1 || early.Load() != 0 || !table.deleted.loaded {
			t.Errorf("%d have read, %d did not wait", len(store.asked), early.Load())
		}
	})
}
