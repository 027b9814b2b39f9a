package mcp_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
)

// startQuestion starts a call that asks a question and returns when the question has arrived.
func (v *sessionClient) startQuestion(ctx context.Context) (disconnect func()) {
	ctx, cancel := context.WithCancel(ctx)
	stream := v.call(ctx, 2, "ask")
	v.until(stream, `"id":"ask-1"`)
	return func() {
		cancel()
		stream.Body.Close()
		synctest.Wait()
	}
}

func TestQuestionFailsWhenTheClientDoesNotReturn(t *testing.T) {
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			withAskingHandler(t, func(t *testing.T, c *testClient) {
				c.openSession(revision).startQuestion(t.Context())()
				time.Sleep(25 * time.Second)
				if len(c.handler.stopped) > 0 {
					t.Fatalf("the question ended early: %v", <-c.handler.stopped)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if len(c.handler.stopped) != 1 {
					t.Fatal("the question is still pending")
				}
				if err := <-c.handler.stopped; err != mcp.ErrUnreachable {
					t.Errorf("the question returned %v", err)
				}
			})
		})
	}
}

func TestQuestionWaitsWhileTheClientReadsItsSession(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		ctx, cancel := context.WithCancel(t.Context())
		events := v.send(ctx, "GET", "")
		go io.Copy(io.Discard, events.Body)
		v.startQuestion(t.Context())()
		time.Sleep(4 * time.Minute)
		if len(c.handler.stopped) > 0 {
			t.Fatalf("the question ended early: %v", <-c.handler.stopped)
		}
		cancel()
		synctest.Wait()
		time.Sleep(20 * time.Second)
		// A new connection restarts the time.
		ctx, cancel = context.WithCancel(t.Context())
		events = v.send(ctx, "GET", "")
		go io.Copy(io.Discard, events.Body)
		time.Sleep(5 * time.Second)
		cancel()
		time.Sleep(20 * time.Second)
		v.answer("ask-1", "Ada")
		if err := <-c.handler.stopped; err != nil {
			t.Errorf("the question returned %v", err)
		}
	})
}

func TestQuestionWaitsUntilTheRetryTimeOfADetachedCall(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "let-go-for-long")
		id := v.until(stream, "retry: 120000")
		stream.Body.Close()
		time.Sleep(140 * time.Second)
		back := v.send(t.Context(), "GET", "", "Last-Event-ID", id)
		defer back.Body.Close()
		v.until(back, `"id":"ask-1"`)
		v.answer("ask-1", "Ada")
		if err := <-c.handler.stopped; err != nil {
			t.Errorf("the question returned %v", err)
		}
	})
}

func TestShutdownDoesNotWaitForADisconnectedClient(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		c.openSession("2025-11-25").startQuestion(t.Context())()
		began := time.Now()
		if err := c.server.Shutdown(t.Context()); err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("Shutdown took %v: %v", time.Since(began), err)
		}
	})
}

func TestShutdownWaitsForAConnectedClientToAnswer(t *testing.T) {
	withAskingHandler(t, func(t *testing.T, c *testClient) {
		v := c.openSession("2025-11-25")
		stream := v.call(t.Context(), 2, "ask")
		v.until(stream, `"id":"ask-1"`)
		go io.Copy(io.Discard, stream.Body)
		down := make(chan error, 1)
		go func() { down <- c.server.Shutdown(t.Context()) }()
		time.Sleep(20 * time.Second)
		v.answer("ask-1", "Ada")
		if err := <-down; err != nil {
			t.Error(err)
		}
		if err := <-c.handler.stopped; err != nil {
			t.Errorf("the question returned %v", err)
		}
	})
}

func TestEventsOfAllSessionsStayWithinTheBudget(t *testing.T) {
	withServer(t, withLegacy(legacy.Options{Events: 100_000}), func(t *testing.T, v *testClient) {
		large := strings.Repeat("x", 20_000)
		var sessions []*sessionClient
		for i := range 10 {
			s := v.openSession("2025-11-25")
			sessions = append(sessions, s)
			reply := readAll(s.send(t.Context(), "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"n":%d,"x":%q}}}`, i, large), "Accept", "text/event-stream"))
			if !strings.Contains(reply, large) {
				t.Fatalf("session %d received %.100s", i, reply)
			}
			time.Sleep(time.Second)
		}
		var kept []int
		for i, s := range sessions {
			if strings.Contains(readAll(s.send(t.Context(), "GET", "", "Last-Event-ID", "1-1")), large) {
				kept = append(kept, i)
			}
		}
		if len(kept) == 0 || len(kept) > 4 || kept[len(kept)-1] != 9 || kept[0] != 10-len(kept) {
			t.Errorf("the events of the sessions %v are kept, want those of the last few", kept)
		}
	})
}

func TestEventsOfEndedSessionsDoNotCountAgainstTheBudget(t *testing.T) {
	withServer(t, withLegacy(legacy.Options{Events: 100_000}), func(t *testing.T, v *testClient) {
		large := strings.Repeat("x", 20_000)
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"x":%q}}}`, large)
		first := v.openSession("2025-11-25")
		readAll(first.send(t.Context(), "POST", call, "Accept", "text/event-stream"))
		for range 20 {
			s := v.openSession("2025-11-25")
			readAll(s.send(t.Context(), "POST", call, "Accept", "text/event-stream"))
			readAll(s.send(t.Context(), "DELETE", ""))
		}
		if !strings.Contains(readAll(first.send(t.Context(), "GET", "", "Last-Event-ID", "1-1")), large) {
			t.Error("a session lost its events to ended sessions")
		}
	})
}
