package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"hatchel/runtime/edge/mcp"
)

const modernEcho = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","META"}}` + "\n"

// serveOverPipes serves a pair of pipes. The result of Serve is sent to served.
func serveOverPipes(t *testing.T, s *mcp.Server) (client *io.PipeWriter, replies *io.PipeReader, served <-chan error) {
	in, client := io.Pipe()
	replies, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- s.For("").Serve(t.Context(), in, out)
		out.Close()
	}()
	return client, replies, ended
}

func TestLongLineIsRefusedAndTheStreamContinues(t *testing.T) {
	s := newServer(newFakeHandler(), mcp.Options{MaxFrame: 1000})
	in := strings.NewReader(strings.Repeat("x", 200_000) + "\n" + expand(fmt.Sprintf(modernEcho, 1)))
	var out strings.Builder
	if err := s.For("").Serve(t.Context(), io.NopCloser(in), &out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != 2 || !strings.Contains(got[0], "longer than 1000 bytes") || !strings.Contains(got[1], `"id":1,"result"`) {
		t.Errorf("got %q", got)
	}
}

// A client waits for the answer to its id, wherever it is in the line.
func TestARefusedLineIsAnsweredWithItsID(t *testing.T) {
	s := newServer(newFakeHandler(), mcp.Options{MaxFrame: 1000})
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"x","params":{"x":"LONG"}}`:                    `7`,
		`{"method":"x","params":{"id":1,"x":["LONG"]},"jsonrpc":"2.0", "id" : "a\"}"}`:   `"a\"}"`,
		`{"params":{"x":"LONG\\","id":{"id":1}},"id":-1.5e3,"method":"x"}`:               `-1.5e3`,
		`{"id":1,"method":"x","params":"LONG","id":2}`:                                   `null`,
		`{"id":{"id":1},"method":"x","params":"LONG"}`:                                   `null`,
		`{"id":01,"method":"x","params":"LONG"}`:                                         `null`,
		`{"id":true,"method":"x","params":"LONG"}`:                                       `null`,
		`{"id":,"method":"x","params":"LONG"}`:                                           `null`,
		`{"id":"LONG","method":"x"}`:                                                     `null`,
		`{"method":"x","params":"LONG"}`:                                                 `null`,
		`{"id":1,"result":{"method":"LONG"}}`:                                            `null`,
		`{"id":1,"method":"x","params":"LONG"}{"id":2}`:                                  `null`,
		`{"id":1,"method":"x","params":"LONG"`:                                           `null`,
		`[{"id":1,"method":"x","params":"LONG"}]`:                                        `null`,
		`{"id":1,"method":"x","params":` + strings.Repeat("[", 2000) + `LONG`:            `null`,
		`{"id":1,"method":"x","params":"` + strings.Repeat("\\", 2000) + `","y":"LONG"}`: `1`,
	} {
		line = strings.ReplaceAll(line, "LONG", strings.Repeat("x", 200_000))
		var out strings.Builder
		if err := s.For("").Serve(t.Context(), io.NopCloser(strings.NewReader(line+"\n")), &out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), `{"jsonrpc":"2.0","id":`+want+`,"error":`) {
			t.Errorf("%.60s: got %q, want the id %s", line, out.String(), want)
		}
	}
}

func TestALineWithoutMemoryIsAnsweredWithItsID(t *testing.T) {
	h := &reservingHandler{
		constantHandler: newConstantHandler(1, 2), bytes: 62 << 20, entered: make(chan struct{}), wait: make(chan struct{}),
	}
	client, replies, served := serveOverPipes(t, newServer(h, mcp.Options{}))
	lines := bufio.NewScanner(replies)
	send := func(line string) {
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	send(callBody(`{}`))
	<-h.entered
	send(strings.Replace(callBody(repeat(`{"x":[`, `]}`, always("1"))), `"id":1`, `"id":2`, 1))
	if !lines.Scan() || !strings.Contains(lines.Text(), `"id":2,"error"`) || !strings.Contains(lines.Text(), "take all the memory") {
		t.Errorf("got %q", lines.Text())
	}
	close(h.wait)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"id":1,"result"`) {
		t.Errorf("got %q", lines.Text())
	}
	client.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestCallsInProgressAreAnsweredAfterTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newFakeHandler(), mcp.Options{})
		in := strings.NewReader(expand(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","META"}}` + "\n"))
		var out strings.Builder
		if err := s.For("").Serve(t.Context(), io.NopCloser(in), &out); err != nil || !strings.Contains(out.String(), "at last") {
			t.Errorf("%v, %q", err, out.String())
		}
	})
}

func TestEndOfContextCancelsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newFakeHandler()
		handler.started, handler.stopped = make(chan string, 1), make(chan error, 1)
		s := newServer(handler, mcp.Options{})
		in, client := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.For("").Serve(ctx, in, io.Discard) }()
		io.WriteString(client, expand(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","META"}}`+"\n"))
		<-handler.started
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve returned %v", err)
		}
		if err := <-handler.stopped; err == nil {
			t.Error("the call was not cancelled")
		}
	})
}

func TestPeerThatDoesNotReadDelaysNoNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newFakeHandler(), mcp.Options{})
		in, client := io.Pipe()
		replies, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.For("").Serve(t.Context(), in, out) }()
		io.WriteString(client, expand(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"META"}}`+"\n"))
		synctest.Wait() // the acknowledgement is being written, and the client does not read it
		for range 1000 {
			s.ListsChanged(toolsOnly{}.changed)
		}
		go client.Close()
		lines := bufio.NewScanner(replies)
		var changes int
		for lines.Scan() {
			if strings.Contains(lines.Text(), "list_changed") {
				changes++
			}
			if strings.Contains(lines.Text(), `"id":"L","result"`) {
				break
			}
		}
		if changes != 1 {
			t.Errorf("%d notifications were queued", changes)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func TestFailedWriteCancelsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newFakeHandler()
		handler.stopped = make(chan error, 1)
		s := newServer(handler, mcp.Options{})
		in, client := io.Pipe()
		replies, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.For("").Serve(t.Context(), in, out) }()
		io.WriteString(client, expand(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","META"}}`+"\n"))
		replies.Close()
		io.WriteString(client, expand(fmt.Sprintf(modernEcho, 2)))
		if err := <-served; err == nil || !strings.Contains(err.Error(), "writing messages") {
			t.Errorf("Serve returned %v", err)
		}
		<-handler.stopped
	})
}

func TestConcurrentCallsGetTheirOwnReplies(t *testing.T) {
	s := newServer(newFakeHandler(), mcp.Options{})
	in, client := io.Pipe()
	replies, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.For("").Serve(t.Context(), in, out)
		out.Close()
	}()
	const n = 2000
	slots := make(chan struct{}, 64)
	go func() {
		for i := range n {
			slots <- struct{}{}
			fmt.Fprintf(client, "%s\n", expand(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"n":%d},"META"}}`, i, i)))
		}
		client.Close()
	}()
	seen := map[string]bool{}
	lines := bufio.NewScanner(replies)
	for lines.Scan() {
		var id, in int
		line := lines.Text()
		if _, err := fmt.Sscanf(line, `{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"n\":%d}"`, &id, &in); err != nil || id != in {
			t.Fatalf("%v: %s", err, line)
		}
		seen[line] = true
		<-slots
	}
	if err := <-served; err != nil || len(seen) != n {
		t.Errorf("%d replies, %v", len(seen), err)
	}
}
