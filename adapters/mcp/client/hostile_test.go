package client_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
)

// maxMoreMemory is how much more memory a hostile server may take.
const maxMoreMemory = 32 << 20

// watchMemory fails the test if the heap grows beyond maxMoreMemory until the function that it returns is called.
func watchMemory(t *testing.T) (stop func()) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	percent := debug.SetGCPercent(10)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if runtime.ReadMemStats(&now); now.HeapAlloc > before.HeapAlloc+maxMoreMemory {
				t.Errorf("%d MiB more memory", (now.HeapAlloc-before.HeapAlloc)>>20)
				return
			}
		}
	})
	return func() {
		close(done)
		watching.Wait()
		debug.SetGCPercent(percent)
	}
}

// idOf returns the raw id of a message.
func idOf(body []byte) string {
	var m struct{ ID json.RawMessage }
	json.Unmarshal(body, &m)
	return string(m.ID)
}

// hostileAnswers are bodies in place of the answer to a call, and what the error says of them.
var hostileAnswers = map[string]struct {
	write func(w http.ResponseWriter, id string)
	kind  client.Kind
	want  string
}{
	"a body of 1 GB": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000000000")
		endless(w, `"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`)
	}, client.Invalid, "the server sent a message of more than 4194304 bytes"},
	"an endless body": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/json")
		endless(w, `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`)
	}, client.Invalid, "the server sent a message of more than 4194304 bytes"},
	"an endless line": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, `data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`)
	}, client.Invalid, "the server sent a message of more than 4194304 bytes"},
	"an endless event": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n")
	}, client.Invalid, "the server sent a message of more than 4194304 bytes"},
	"endless comments": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, ": xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\n")
	}, client.Invalid, "the server sent more than 16777216 bytes during one call"},
	"endless empty events": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, "data:\n\n")
	}, client.Invalid, "the server sent more than 1000 messages during one call"},
	"endless notifications": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n\n")
	}, client.Invalid, "the server sent more than 1000 messages during one call"},
	"endless pings": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, `data: {"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n\n")
	}, client.Invalid, "the server sent 100 messages that belong to no request"},
	"a body that is small until it is decompressed": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		compressed := gzip.NewWriter(w)
		endless(compressed, strings.Repeat(" ", 64<<10))
	}, client.Invalid, "the server sent a message of more than 4194304 bytes"},
	"deep JSON": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":%s1%s}}`, id, strings.Repeat("[", 100_000),
			strings.Repeat("]", 100_000))
	}, client.Invalid, "more than 64 levels of nesting"},
	"a key that appears twice": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"a":1,"\u0061":2}}}`, id)
	}, client.Invalid, `the key "a" appears twice in one object`},
	"a second result": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]},"result":{}}`, id)
	}, client.Invalid, `the key "result" appears twice in one object`},
	"invalid UTF-8": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, "\xff")
	}, client.Invalid, "invalid UTF-8"},
	"no JSON": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "<html>")
	}, client.Invalid, "a value is expected"},
	"HTML": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<html>")
	}, client.Invalid, `the server answered with content of the type "text/html"`},
	"no content": {func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusAccepted) },
		client.Invalid, "the server answered with status 202 and no content"},
	"the answer to another request": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":"1-0000000000000000","result":{"content":[]}}`)
	}, client.Invalid, "the server answered with messages that are no answer to the request"},
	"a result without content": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	}, client.Invalid, "the result of the call has no content"},
	"a result of an unknown type": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"task","content":[]}}`, id)
	}, client.Invalid, `the result of the call has the unknown type "task"`},
	"five questions": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		var asks []string
		for i := range 5 {
			asks = append(asks, fmt.Sprintf(`"%d":{"method":"elicitation/create","params":{}}`, i))
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{%s}}}`, id,
			strings.Join(asks, ","))
	}, client.Invalid, "the server asked more than 4 questions at once"},
	"a question of an unknown kind": {func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"a":`+
			`{"method":"tools/call","params":{}}}}}`, id)
	}, client.Invalid, `the server asked a question of the unknown kind "tools/call"`},
	"a redirect to another host": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Location", "http://169.254.169.254/latest/meta-data?x=1")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}, client.Status, "the server answered with status 307"},
	"endless redirects": {func(w http.ResponseWriter, _ string) {
		w.Header().Set("Location", "/again")
		w.WriteHeader(http.StatusPermanentRedirect)
	}, client.Status, "the server answered with status 308"},
}

// endless writes a text again and again until the client has had enough.
func endless(w io.Writer, text string) {
	text = strings.Repeat(text, 1+4096/len(text))
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

func TestAHostileAnswerFailsItsCallOnly(t *testing.T) {
	for name, hostile := range hostileAnswers {
		t.Run(name, func(t *testing.T) {
			server := &mcptest.Server{Era: mcptest.Modern}
			server.Intercept = func(w http.ResponseWriter, _ *http.Request, method string, body []byte) bool {
				if method != "tools/call" || !strings.Contains(string(body), `"hostile"`) {
					return false
				}
				hostile.write(w, idOf(body))
				return true
			}
			s := open(t, overHTTP(t, server), client.Options{})
			stop := watchMemory(t)
			_, err := s.Call(testContext(t), &client.Request{Name: "hostile"})
			stop()
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Kind != hostile.kind || !strings.Contains(err.Error(), hostile.want) {
				t.Errorf("%v", err)
			}
			if strings.Contains(e.Location, "x=1") {
				t.Errorf("location %s", e.Location)
			}
			if _, err := s.Call(testContext(t), &client.Request{Name: "other"}); err != nil {
				t.Errorf("another call: %v", err)
			}
		})
	}
}

func TestAHostileProgramEndsItsSession(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an endless line": {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
			"the server sent a message of more than 4194304 bytes"},
		"lines that are no messages": {"Server is running\n", "the server sent 100 messages that belong to no request"},
		"answers to no request": {`{"jsonrpc":"2.0","id":"1-0123456789abcdef","result":{}}` + "\n",
			"the server sent 100 messages that belong to no request"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &mcptest.Server{Era: mcptest.Legacy}
			r, w := server.Pipes(t)
			hostile := make(chan struct{})
			s := open(t, client.NewStdio(&thenEndless{r: r, from: hostile, text: c.text}, w), client.Options{})
			stop := watchMemory(t)
			server.Handle("x", func(c *mcptest.Call) (any, error) {
				close(hostile)
				<-c.Context.Done()
				return nil, errors.New("late")
			})
			_, err := s.Call(testContext(t), &client.Request{Name: "x"})
			stop()
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != client.Unknown ||
				!errors.Is(err, client.ErrClosed) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the session: %v", err)
			}
		})
	}
}

// thenEndless reads from r, and a text again and again as soon as from is closed, until 64 MiB were read.
type thenEndless struct {
	r    io.Reader
	from chan struct{}
	text string
	rest int
	read int
}

func (e *thenEndless) Read(b []byte) (int, error) {
	select {
	case <-e.from:
		if e.read += len(b); e.read > 64<<20 {
			return 0, io.EOF
		}
		for i := range b {
			b[i] = e.text[e.rest]
			e.rest = (e.rest + 1) % len(e.text)
		}
		return len(b), nil
	default:
	}
	type result struct {
		n   int
		err error
	}
	got := make(chan result, 1)
	go func() {
		n, err := e.r.Read(b)
		got <- result{n, err}
	}()
	select {
	case g := <-got:
		return g.n, g.err
	case <-e.from:
		return 0, nil
	}
}

// hostileLists are results of tools/list, by the number of the page.
var hostileLists = map[string]struct {
	result func(page int) string
	want   string
}{
	"100,000 tools": {func(int) string {
		return `{"tools":[` + strings.Repeat(`{"name":"a"},`, 99_999) + `{"name":"a"}]}`
	}, "the server lists more than 1000 tools"},
	"endless pages": {func(int) string { return `{"tools":[],"nextCursor":"again"}` },
		"the server lists its tools on more than 100 pages"},
	"large pages": {func(int) string {
		return `{"tools":[{"name":"a"}],"nextCursor":"again","x":"` + strings.Repeat("x", 1<<20) + `"}`
	}, "the list of tools has more than 4194304 bytes"},
	"a definition of 1000 levels": {func(int) string {
		return `{"tools":[{"name":"a","inputSchema":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}]}`
	}, "more than 1000 levels of nesting"},
	"deep JSON elsewhere": {func(int) string {
		return `{"tools":[],"_meta":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`
	}, "more than 64 levels of nesting"},
	"a cursor that is a number": {func(int) string { return `{"tools":[],"nextCursor":1}` },
		"nextCursor of the list of tools is no string"},
	"no tools": {func(int) string { return `{}` }, "the list of tools is no array"},
	"a key that appears twice": {func(int) string { return `{"tools":[{"name":"a","name":"b"}]}` },
		`the key "name" appears twice in one object`},
}

// A definition that is too large or too deep to be pinned is listed like the others, which it leaves usable.
func TestADefinitionThatCannotBePinnedLeavesTheOthers(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Modern}
	deep := strings.Repeat(`{"items":`, 990) + "{}" + strings.Repeat("}", 990)
	server.SetTools(`{"name":"deep","inputSchema":`+deep+`}`,
		`{"name":"large","description":"`+strings.Repeat("x", 1<<20)+`"}`, `{"title":"nameless"}`, `{"name":"ok"}`)
	list, err := open(t, overHTTP(t, server), client.Options{}).Tools(testContext(t))
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"deep", "large", "", "ok"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the tools are %q: %v", names, err)
	}
}

func TestAHostileListIsRefusedWhole(t *testing.T) {
	for name, hostile := range hostileLists {
		t.Run(name, func(t *testing.T) {
			server := &mcptest.Server{Era: mcptest.Modern}
			var pages atomic.Int64
			server.Intercept = func(w http.ResponseWriter, _ *http.Request, method string, body []byte) bool {
				if method != "tools/list" {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, idOf(body), hostile.result(int(pages.Add(1))))
				return true
			}
			s := open(t, overHTTP(t, server), client.Options{})
			stop := watchMemory(t)
			list, err := s.Tools(testContext(t))
			stop()
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Kind != client.Invalid || !strings.Contains(err.Error(), hostile.want) || list.Tools != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAStormOfNotificationsLeavesCallsUnharmed tells a client without end that the list has changed, on the stream that
// is open for as long as the session.
func TestAStormOfNotificationsLeavesCallsUnharmed(t *testing.T) {
	for _, era := range []mcptest.Era{mcptest.Legacy, mcptest.Modern} {
		server := &mcptest.Server{Era: era, Stateful: true}
		server.Intercept = func(w http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
			if r.Method != http.MethodGet && method != "subscriptions/listen" {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
			return true
		}
		var changes atomic.Int64
		stormy := make(chan struct{})
		s := open(t, overHTTP(t, server), client.Options{Changed: func() {
			if changes.Add(1) == 10_000 {
				close(stormy)
			}
		}})
		stop := watchMemory(t)
		select {
		case <-stormy:
		case <-time.After(maxWait):
			t.Fatalf("%d changes are told", changes.Load())
		}
		for range 10 {
			if _, err := s.Call(testContext(t), &client.Request{Name: "other"}); err != nil {
				t.Error(err)
			}
		}
		stop()
		s.Close()
	}
}

func TestAStormOfQuestionsReachesTheUserFourTimes(t *testing.T) {
	eachWay(t, func(t *testing.T, server *mcptest.Server, transport client.Transport) {
		if server.Era != mcptest.Legacy || !server.Stateful && strings.Contains(t.Name(), "HTTP") {
			t.Skip("it cannot ask")
		}
		server.Handle("ask", func(c *mcptest.Call) (any, error) {
			for range 10 {
				if _, err := c.Ask(mcptest.Form("Again?", "name")); err != nil {
					return nil, err
				}
			}
			return mcptest.Text("done"), nil
		})
		s := open(t, transport, client.Options{Asks: []string{client.AskForm}})
		var asked atomic.Int64
		ask := func(context.Context, client.Question) (client.Answer, error) {
			asked.Add(1)
			return client.Answer{Result: []byte(`{"action":"decline"}`)}, nil
		}
		if _, err := s.Call(testContext(t), &client.Request{Name: "ask", Ask: ask}); err != nil {
			t.Error(err)
		}
		if asked.Load() != client.MaxQuestions {
			t.Errorf("%d questions", asked.Load())
		}
	})
}

func TestAQuestionThatNamesNoCallIsRefusedWhileTwoRun(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Legacy}
	begun := make(chan struct{}, 2)
	proceed := make(chan struct{})
	server.Handle("ask", func(c *mcptest.Call) (any, error) {
		begun <- struct{}{}
		<-proceed
		answer, err := c.Ask(mcptest.Form("Who?", "name"))
		return mcptest.Text("%s", answer), err
	})
	s := open(t, overPipes(t, server), client.Options{Asks: []string{client.AskForm}})
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			s.Call(testContext(t), &client.Request{Name: "ask", Ask: func(context.Context, client.Question) (client.Answer, error) {
				t.Error("a user is asked")
				return client.Answer{}, errors.New("refused")
			}})
		})
	}
	<-begun
	<-begun
	proceed <- struct{}{} // the other one still runs
	for deadline := time.Now().Add(maxWait); ; {
		answered := 0
		for _, m := range server.Methods() {
			if m == "" {
				answered++
			}
		}
		if answered > 0 || time.Now().After(deadline) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	s.Close()
	close(proceed)
	calls.Wait()
}
