package mcp_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/mcp"
)

// asked begins a call that asks, and returns once the question has arrived.
func (v *visitor) asked(ctx context.Context) (hangUp func()) {
	ctx, cancel := context.WithCancel(ctx)
	stream := v.call(ctx, 2, "ask")
	v.until(stream, `"id":"ask-1"`)
	return func() {
		cancel()
		stream.Body.Close()
		synctest.Wait()
	}
}

func TestAClientThatIsAskedAndDoesNotComeBackIsNotWaitedFor(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			atTheDesk(t, func(t *testing.T, desk *visit) {
				desk.enter(revision).asked(t.Context())()
				time.Sleep(25 * time.Second)
				if len(desk.shop.stopped) > 0 {
					t.Fatalf("the question has ended early: %v", <-desk.shop.stopped)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if len(desk.shop.stopped) != 1 {
					t.Fatal("the question still waits")
				}
				if err := <-desk.shop.stopped; err != mcp.ErrUnreachable {
					t.Errorf("the question came to %v", err)
				}
			})
		})
	}
}

func TestAClientThatFollowsItsSessionIsWaitedFor(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		ctx, cancel := context.WithCancel(t.Context())
		events := v.send(ctx, "GET", "")
		go io.Copy(io.Discard, events.Body)
		v.asked(t.Context())()
		time.Sleep(4 * time.Minute)
		if len(desk.shop.stopped) > 0 {
			t.Fatalf("the question has ended early: %v", <-desk.shop.stopped)
		}
		cancel()
		synctest.Wait()
		time.Sleep(20 * time.Second)
		// One that was away for a while begins to be away anew.
		ctx, cancel = context.WithCancel(t.Context())
		events = v.send(ctx, "GET", "")
		go io.Copy(io.Discard, events.Body)
		time.Sleep(5 * time.Second)
		cancel()
		time.Sleep(20 * time.Second)
		v.answer("ask-1", "Ada")
		if err := <-desk.shop.stopped; err != nil {
			t.Errorf("the question came to %v", err)
		}
	})
}

func TestAClientThatWasToldWhenToComeBackIsWaitedForUntilThen(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		stream := v.call(t.Context(), 2, "let-go-for-long")
		v.until(stream, "retry: 120000")
		stream.Body.Close()
		time.Sleep(140 * time.Second)
		v.answer("ask-1", "Ada")
		if err := <-desk.shop.stopped; err != nil {
			t.Errorf("the question came to %v", err)
		}
	})
}

func TestShutdownDoesNotWaitForAClientThatIsAskedAndHasGone(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		desk.enter("2025-11-25").asked(t.Context())()
		began := time.Now()
		if err := desk.server.Shutdown(t.Context()); err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("Shutdown took %v: %v", time.Since(began), err)
		}
	})
}

func TestShutdownWaitsForAClientThatIsAskedAndThere(t *testing.T) {
	atTheDesk(t, func(t *testing.T, desk *visit) {
		v := desk.enter("2025-11-25")
		stream := v.call(t.Context(), 2, "ask")
		v.until(stream, `"id":"ask-1"`)
		go io.Copy(io.Discard, stream.Body)
		down := make(chan error, 1)
		go func() { down <- desk.server.Shutdown(t.Context()) }()
		time.Sleep(20 * time.Second)
		v.answer("ask-1", "Ada")
		if err := <-down; err != nil {
			t.Error(err)
		}
		if err := <-desk.shop.stopped; err != nil {
			t.Errorf("the question came to %v", err)
		}
	})
}

func TestSessionsKeepOnlySoManyEventsTogether(t *testing.T) {
	visiting(t, mcp.Options{SessionEvents: 100_000}, func(t *testing.T, v *visit) {
		large := strings.Repeat("x", 20_000)
		var sessions []*visitor
		for i := range 10 {
			s := v.enter("2025-11-25")
			sessions = append(sessions, s)
			said := whole(s.send(t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"n":%d,"x":%q}}}`, i, large), "Accept", "text/event-stream"))
			if !strings.Contains(said, large) {
				t.Fatalf("session %d heard %.100s", i, said)
			}
			time.Sleep(time.Second)
		}
		var kept []int
		for i, s := range sessions {
			if strings.Contains(whole(s.send(t.Context(), "GET", "", "Last-Event-ID", "1-1")), large) {
				kept = append(kept, i)
			}
		}
		if len(kept) == 0 || len(kept) > 4 || kept[len(kept)-1] != 9 || kept[0] != 10-len(kept) {
			t.Errorf("what is kept is that of %v, and it should be that of the last few", kept)
		}
	})
}

func TestEventsOfSessionsThatHaveEndedTakeNoRoom(t *testing.T) {
	visiting(t, mcp.Options{SessionEvents: 100_000}, func(t *testing.T, v *visit) {
		large := strings.Repeat("x", 20_000)
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"x":%q}}}`, large)
		first := v.enter("2025-11-25")
		whole(first.send(t.Context(), "POST", call, "Accept", "text/event-stream"))
		for range 20 {
			s := v.enter("2025-11-25")
			whole(s.send(t.Context(), "POST", call, "Accept", "text/event-stream"))
			whole(s.send(t.Context(), "DELETE", ""))
		}
		if !strings.Contains(whole(first.send(t.Context(), "GET", "", "Last-Event-ID", "1-1")), large) {
			t.Error("a session has given way to those that are not there any more")
		}
	})
}
