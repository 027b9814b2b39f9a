package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
)

// endlessReader repeats a text, up to the size of floods, and counts what was read.
type endlessReader struct {
	text string
	read atomic.Int64
}

// maxFlood is how much a server sends that sends without end; without a limit all of it is read at once.
const maxFlood = 256 << 20

func (e *endlessReader) Read(b []byte) (int, error) {
	at := e.read.Load()
	if at >= maxFlood {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = e.text[(int(at)+i)%len(e.text)]
	}
	e.read.Add(int64(len(b)))
	return len(b), nil
}

func (e *endlessReader) Close() error { return nil }

// floods are what a server sends without end, as a program writes it.
var floods = map[string]string{
	"empty lines":         "\n",
	"changes":             `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n",
	"log messages":        `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n",
	"progress of nothing": `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}` + "\n",
	"batches":             "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"x"},`, 900) + `{"jsonrpc":"2.0","method":"x"}]` + "\n",
	"large messages":      `{"jsonrpc":"2.0","method":"x","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n",
}

// What a server sends without end and without a request is read slowly, so that it takes little of a processor.
func TestAFloodIsReadSlowly(t *testing.T) {
	const seconds = 4
	for name, text := range floods {
		t.Run("program "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &mcptest.Server{Era: mcptest.Legacy}
				r, w := server.Pipes(t)
				flood, begins := &endlessReader{text: text}, make(chan struct{})
				s := open(t, client.NewStdio(&thenReader{r, flood, begins}, w), client.Options{Changed: func() {}})
				synctest.Wait() // until the server tells of changes
				close(begins)
				server.SetTools() // wakes the reader
				time.Sleep(seconds * time.Second)
				if n := flood.read.Load(); n > (4+seconds+2)<<20 || n < 16<<10 {
					t.Errorf("%d bytes are read in %d s", n, seconds)
				}
				if err := s.Err(); err != nil {
					t.Errorf("the session ended: %v", err)
				}
				flood.read.Store(maxFlood)
			})
		})
	}
	for _, era := range []mcptest.Era{mcptest.Legacy, mcptest.Modern} {
		synctest.Test(t, func(t *testing.T) {
			server := &mcptest.Server{Era: era, Stateful: true}
			flood := &endlessReader{text: "data: " + floods["changes"] + "\n"}
			tripper := tripperFunc(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen" {
					return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: flood}, nil
				}
				if r.Body == nil {
					r.Body = http.NoBody
				}
				answer := httptest.NewRecorder()
				server.ServeHTTP(answer, r)
				return answer.Result(), nil
			})
			var changes atomic.Int64
			s := open(t, client.NewHTTP(client.HTTPConfig{URL: "http://server.example/mcp", RoundTripper: tripper}),
				client.Options{Changed: func() { changes.Add(1) }})
			time.Sleep(seconds * time.Second)
			if n := flood.read.Load(); n > (4+seconds+2)<<20 || changes.Load() < 1000 {
				t.Errorf("%d bytes are read in %d s, with %d changes", n, seconds, changes.Load())
			}
			if _, err := s.Call(t.Context(), &client.Request{Name: "other"}); err != nil {
				t.Errorf("another call: %v", err)
			}
			flood.read.Store(maxFlood)
		})
	}
}

type tripperFunc func(*http.Request) (*http.Response, error)

func (f tripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// thenReader reads from one reader, and after a signal from another one.
type thenReader struct {
	first, then io.Reader
	signal      chan struct{}
}

func (r *thenReader) Read(b []byte) (int, error) {
	select {
	case <-r.signal:
		return r.then.Read(b)
	default:
		return r.first.Read(b)
	}
}

// Answers are not delayed, however large they are.
func TestAnswersAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &mcptest.Server{Era: mcptest.Legacy}
		server.Handle("x", func(*mcptest.Call) (any, error) { return mcptest.Text("%s", strings.Repeat("x", 3<<20)), nil })
		s := open(t, overPipes(t, server), client.Options{})
		began := time.Now()
		for range 5 {
			if _, err := s.Call(t.Context(), &client.Request{Name: "x"}); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("they took %v", took)
		}
	})
}
