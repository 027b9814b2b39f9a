package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
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
		`{"id":1,"method":"x","params":"LONG"}{"id":2}`:                                  `1`,
		`{"id":1,"method":"x","params":"LONG"`:                                           `1`,
		`{"method":"x","params":"LONG","id":12`:                                          `null`,
		`{"id":1,"params":"LONG"`:                                                        `null`,
		`{"id":1,"\u0069d":2,"method":"x","params":"LONG"}`:                              `null`,
		`{"\u0069d":2,"method":"x","params":"LONG"}`:                                     `2`,
		`{"id":1,"method":"x","params":` + strings.Repeat("[", 2000) + `LONG`:            `1`,
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

// A text that is no acceptable JSON is answered with the id of its request, over both transports, and a batch with the
// ids of all of its requests.
func TestWhatIsNoJSONIsAnsweredWithItsIDs(t *testing.T) {
	s := newServer(newFakeHandler(), mcp.Options{})
	for text, want := range map[string][]string{
		`{"jsonrpc":"2.0","id":2,"method":"x","params":{"s":"x\ud83d"}}`:                              {`2`},
		`{"jsonrpc":"2.0","method":"x","params":{"s":"x\ud83d","id":7},"id":"b"}`:                     {`"b"`},
		"{\"method\":\"x\",\"params\":{\"s\":\"\xff\xfe\"},\"id\":3}":                                 {`3`},
		`{"id":4,"method":"x","params":{"a":1,"a":2}}`:                                                {`4`},
		`{"id":5,"method":"x","method":"x"}`:                                                          {`5`},
		`{"id":"\ud83d","method":"x"}`:                                                                {`null`},
		`{"id":6,"id":6,"method":"x"}`:                                                                {`6`},
		`{"id":6,"id":7,"method":"x"}`:                                                                {`null`},
		"\ufeff" + `{"id":12,"method":"x","params":{"s":"\ud83d"}}`:                                   {`12`},
		`{"id":8,"method":"x","params":{"s":"a\qb"}}`:                                                 {`8`},
		`{"id":9,"method":"x","params":{"s":NaN}}`:                                                    {`9`},
		`{"id":10,"method":"x","params":{"s":`:                                                        {`10`},
		`{"id":11,"result":{"s":"\ud83d"}}`:                                                           {`null`},
		`{"method":"x","params":{"s":"\ud83d"}}`:                                                      {`null`},
		`[{"id":1,"method":"x","params":["\ud83d",{"id":3}]},{"method":"n"},{"id":"2","method":"y"}]`: {`1`, `"2"`},
		`[{"id":1,"method":"x"},{"id":2,"method":"x","params":{"a":1,"a":2}}`:                         {`1`, `2`},
		`[1,"\ud83d"]`: {`null`},
		`"\ud83d"`:     {`null`},
	} {
		var out strings.Builder
		if err := s.For("").Serve(t.Context(), io.NopCloser(strings.NewReader(text+"\n")), &out); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.For("").ServeHTTP(w, r)
		for over, got := range map[string]string{"stdio": out.String(), "HTTP": w.Body.String()} {
			var ids []string
			for _, reply := range strings.SplitAfter(got, "}}") {
				if _, after, ok := strings.Cut(reply, `"id":`); ok && strings.Contains(after, `"error":{"code":-32700`) {
					ids = append(ids, strings.Split(after, ",")[0])
				}
			}
			if isArray := strings.HasPrefix(got, "["); !slices.Equal(ids, want) || isArray != (len(want) > 1) {
				t.Errorf("%s over %s: got %s", text, over, got)
			}
		}
	}
}

// Shells of Windows write a byte order mark before the first line.
func TestAByteOrderMarkIsNoPartOfAMessage(t *testing.T) {
	const ping = "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	s := newServer(newFakeHandler(), mcp.Options{MaxFrame: 1000})
	for line, want := range map[string]string{
		ping: `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"\ufeff" + `{"id":2,"method":"x","params":"` + strings.Repeat("x", 2000) + `"}`: `{"jsonrpc":"2.0","id":2,"error":`,
		"\ufeff": `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`,
	} {
		var out strings.Builder
		if err := s.For("").Serve(t.Context(), io.NopCloser(strings.NewReader(line+"\n")), &out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%.60q: got %s", line, out.String())
		}
	}
}

// A server that accepts values in strings accepts all arguments of a call in one.
func TestArgumentsInAStringAreAcceptedWhereTheServerSaysSo(t *testing.T) {
	for arguments, want := range map[string][2]string{ // without coerce, and with it
		`"{\"a\":\"1\"}"`:                {"Send it as JSON, without the quotes", `"text":"{\"a\":\"1\"}"`},
		`" {\"s\":\"\\ud83d\\ude00\"} "`: {"Send it as JSON, without the quotes", `"text":"{\"s\":\"\\ud83d\\ude00\"}"`},
		`"{\"a\":1"`:                     {`must be an object"`, `must be an object"`},
		`"{a: 1}"`:                       {`must be an object"`, `must be an object"`},
		`"[]"`:                           {`must be an object"`, `must be an object"`},
		`""`:                             {`must be an object"`, `must be an object"`},
		`[{"a":1}]`:                      {`must be an object"`, `must be an object"`},
		`5`:                              {`must be an object"`, `must be an object"`},
	} {
		for i, want := range want {
			h := newFakeHandler()
			h.info = mcp.NewInfo(mcp.ServerInfo{Name: "shop", Version: "1.2.3", Coerce: i == 1})
			line := expand(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":` + arguments + `,"META"}}`)
			var out strings.Builder
			err := newServer(h, mcp.Options{}).For("").Serve(t.Context(), io.NopCloser(strings.NewReader(line+"\n")), &out)
			if err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("%s with coerce = %v: got %s, %v", arguments, i == 1, out.String(), err)
			}
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

// Hosts and tunnels repeat initialize. The reply is the same, and what the client has goes on.
func TestInitializeIsAnsweredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newFakeHandler()
		handler.started, handler.release = make(chan string, 1), make(chan struct{})
		w := &conversation{handler: handler, server: newServer(handler, mcp.Options{})}
		disconnect := connectStreams(t, w)
		const initialize = `{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		w.send(strings.Replace(initialize, "ID", "1", 1))
		first := w.takeReceived()
		w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
		<-handler.started
		w.send(strings.Replace(initialize, "ID", "1", 1))
		if again := w.takeReceived(); again != first || !strings.Contains(again, `"result"`) {
			t.Errorf("got %s, want %s", again, first)
		}
		w.server.ListsChanged(toolsOnly{}.changed)
		close(handler.release)
		if got := w.takeReceived(); !strings.Contains(got, `"id":2,"result"`) || strings.Count(got, "list_changed") != 1 {
			t.Errorf("the first client got %s", got)
		}
		disconnect()
	})
}

// An initialize with other parameters is that of another client, which uses the ids of the first one again.
func TestAnotherClientInitializesAsIfTheProcessHadStartedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newFakeHandler()
		handler.started, handler.stopped = make(chan string, 2), make(chan error, 4)
		w := &conversation{handler: handler, server: newServer(handler, mcp.Options{})}
		disconnect := connectStreams(t, w)
		const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"REVISION","capabilities":{"elicitation":{}}}}`
		w.send(strings.Replace(initialize, "REVISION", "2025-06-18", 1))
		w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
		<-handler.started
		w.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask"}}`)
		w.send(expand(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"wait","META"}}`))
		<-handler.started
		w.send(expand(`{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"META"}}`))
		w.takeReceived()
		w.server.ListsChanged(toolsOnly{}.changed)
		w.takeReceived()
		w.send(strings.Replace(initialize, "REVISION", "2025-11-25", 1))
		for range 3 {
			if err := <-handler.stopped; err == nil {
				t.Error("a request of the first client goes on")
			}
		}
		if got := w.takeReceived(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"id":1,"result":{"protocolVersion":"2025-11-25"`) {
			t.Errorf("the second client got %s", got)
		}
		w.server.ListsChanged(toolsOnly{}.changed)
		if got := w.takeReceived(); got != "" {
			t.Errorf("the second client has the subscriptions of the first: %s", got)
		}
		for _, id := range []string{"2", "3", "4", "5"} {
			w.send(strings.Replace(expand(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","META"}}`), "ID", id, 1))
			if got := w.takeReceived(); !strings.Contains(got, `"id":`+id+`,"result"`) {
				t.Errorf("the id %s is not free: %s", id, got)
			}
		}
		w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`)
		w.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if got := w.takeReceived(); !strings.Contains(got, `"id":1,"error"`) || !strings.Contains(got, `"id":2,"result"`) {
			t.Errorf("after an initialize that is wrong, the client got %s", got)
		}
		disconnect()
	})
}
