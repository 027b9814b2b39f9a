package legacy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// Messages of other processes arrive while a process stops: what they begin is awaited, too.
func TestWhatStartsWhileTheOthersAreAwaitedIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work background
		if !work.wait(t.Context()) {
			t.Error("nothing was awaited")
		}
		first, second, ended := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
		work.start(func() { <-first })
		go func() { ended <- work.wait(t.Context()) }()
		synctest.Wait()
		work.start(func() { <-second })
		close(first)
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("what was started last was not awaited")
		}
		bounded, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if work.wait(bounded) {
			t.Error("it was awaited, and runs")
		}
		close(second)
		if !<-ended {
			t.Error("the wait has ended early")
		}
	})
}

// slowDeleted takes a second to save which sessions were ended.
type slowDeleted struct {
	handover.Store
	saved int // names
}

func (s *slowDeleted) SaveDeleted(_ context.Context, names []byte, _ time.Time) error {
	time.Sleep(time.Second)
	s.saved += len(names) / len(handover.SessionName{})
	return nil
}

func (s *slowDeleted) RemoveSession(context.Context, string) error { return nil }

// A process that stops saves at once which sessions were ended, and waits for it.
func TestShutdownSavesWhichSessionsWereEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(slowDeleted)
		s := newServer(mcp.New(nil, mcp.Options{}), Options{Store: store})
		began := time.Now()
		for i := range 3 {
			s.table.saveDeletedSoon(t.Context(), handover.SessionName{byte(i)})
		}
		if !s.Shutdown(t.Context()) || store.saved != 3 {
			t.Errorf("%d of 3 ended sessions are saved", store.saved)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
