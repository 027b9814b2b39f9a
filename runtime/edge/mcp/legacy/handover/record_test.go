package handover

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
)

// idleSession is a session of which no call waits.
type idleSession struct{ Session }

func (idleSession) Name() SessionName { return SessionName{} }

// slowCalls stores nothing until it is told to.
type slowCalls struct {
	Store
	asked   chan struct{} // gets a value for each request that has begun
	release chan struct{}
	err     error
}

func (s *slowCalls) SaveCall(context.Context, string, StoredCall, time.Time) (bool, error) {
	s.asked <- struct{}{}
	<-s.release
	return s.err == nil, s.err
}

// TestAnAnswerDoesNotWaitForTheStore gives the last answer to a call while its record is being stored.
func TestAnAnswerDoesNotWaitForTheStore(t *testing.T) {
	for name, failure := range map[string]error{"slow": nil, "unavailable": mcp.ErrUnavailable} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &slowCalls{asked: make(chan struct{}, 1000), release: make(chan struct{}), err: failure}
				record := &CallRecord{session: idleSession{}, relay: &Relay{store: store}}
				record.call.Asked = []Question{{Key: "k", ID: "q"}}
				if failure != nil {
					close(store.release)
				}
				var saving sync.WaitGroup
				saving.Go(func() { _ = record.Save(t.Context(), storeTimeout) })
				synctest.Wait()
				began := time.Now()
				if err := record.Answer(t.Context(), "q", Response{Result: []byte("{}")}); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("the answer has waited %v", took)
				}
				if failure == nil {
					close(store.release)
				}
				saving.Wait()
			})
		})
	}
}

// TestARecordThatWaitsForTheStoreHoldsNobodyUp gives the first of two answers to a call while its record cannot be
// stored.
func TestARecordThatWaitsForTheStoreHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowCalls{asked: make(chan struct{}, 1000), release: make(chan struct{}), err: mcp.ErrUnavailable}
		close(store.release)
		record := &CallRecord{session: idleSession{}, relay: &Relay{store: store}}
		record.call.Asked = []Question{{Key: "k", ID: "q"}, {Key: "l", ID: "r"}}
		var saving sync.WaitGroup
		saving.Go(func() { _ = record.Save(t.Context(), storeTimeout) })
		defer saving.Wait()
		synctest.Wait() // it waits for its next attempt
		if !record.storing.TryLock() {
			t.Fatal("a pause between two attempts holds the lock")
		}
		record.storing.Unlock()
		began := time.Now()
		if err := record.Answer(t.Context(), "q", Response{Result: []byte("{}")}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the answer has waited %v", took)
		}
	})
}
