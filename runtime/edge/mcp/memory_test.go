package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"hatchel/internal/sampletest"
	"hatchel/runtime/edge/mcp"
)

const largeBody = 3400 << 10 // bytes, within the limit of 4 MiB

// largeArguments are arguments of a call, by what they have many of.
var largeArguments = []struct {
	name string
	text func() string
}{
	{"ones", func() string { return repeat(`{"x":[`, `]}`, always("1")) }},
	{"empty objects", func() string { return repeat(`{"x":[`, `]}`, always("{}")) }},
	{"small objects", func() string { return repeat(`{"x":[`, `]}`, always(`{"a":1}`)) }},
	{"deep lists", func() string {
		return repeat(`{"x":[`, `]}`, always(strings.Repeat("[", 50)+strings.Repeat("]", 50)))
	}},
	{"keys", func() string { return repeat(`{`, `}`, func(i int) string { return fmt.Sprintf(`"%x":1`, i) }) }},
	{"escaped keys", func() string { return repeat(`{`, `}`, func(i int) string { return fmt.Sprintf(`"\n%x":1`, i) }) }},
	{"nested keys", func() string {
		return repeat(`{"x":[`, `]}`, func(i int) string { return fmt.Sprintf(`{"a":{"%x":1}}`, i) })
	}},
	{"digits", func() string { return `{"x":` + strings.Repeat("7", largeBody) + `}` }},
	{"a string", func() string { return `{"x":"` + strings.Repeat("a", largeBody) + `"}` }},
	{"escapes", func() string { return `{"x":"` + strings.Repeat(`\n`, largeBody/2) + `"}` }},
	{"white space", func() string { return `{"x":1` + strings.Repeat(" ", largeBody) + `}` }},
	{"unknown members", func() string {
		return repeat(`{"x":1,`, `}`, func(i int) string { return fmt.Sprintf(`"m%x":[]`, i) })
	}},
}

// repeat returns a text of largeBody bytes of elements between two texts.
func repeat(open, shut string, of func(i int) string) string {
	var b strings.Builder
	b.WriteString(open)
	for i := 0; b.Len() < largeBody; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(of(i))
	}
	return b.String() + shut
}

func always(text string) func(int) string { return func(int) string { return text } }

func callBody(arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool_0000","arguments":` + arguments + `,` + metaOfCall + `}}`
}

const metaOfCall = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// post serves a modern call without a connection.
func post(h http.Handler, remote string, body io.Reader, size int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/mcp", body)
	r.ContentLength, r.RemoteAddr = size, remote
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", "tool_0000")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// reservingHandler reserves memory for a call as its arguments would be decoded, and waits before it returns.
type reservingHandler struct {
	*constantHandler

	bytes   int64
	entered chan struct{}
	wait    chan struct{}
	failed  error // of the last Reserve that has failed
}

func (h *reservingHandler) CallTool(_ context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	if err := req.Reserve(h.bytes); err != nil {
		if err != mcp.ErrNoMemory {
			h.failed = err
		}
		return mcp.Outcome{}, err
	}
	if h.wait != nil {
		h.entered <- struct{}{}
		<-h.wait
	}
	return mcp.Outcome{Content: mcp.Text("ok")}, nil
}

// Until a body is handed to the handler, it costs at most four times its size, whatever it consists of and whether or
// not its size was announced.
func TestABodyCostsAtMostFourTimesItsSize(t *testing.T) {
	server := newServer(newConstantHandler(1, 2), mcp.Options{})
	for _, large := range sampletest.Of(t, 3, largeArguments) {
		name, body := large.name, callBody(large.text())
		for announced, size := range map[string]int64{"announced": int64(len(body)), "chunked": -1} {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			w := post(server.For(""), "192.0.2.1:1", strings.NewReader(body), size)
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			if limit := 4*int64(len(body)) + 64<<10; took > limit {
				t.Errorf("%s, %s: %d bytes for a body of %d", name, announced, took, len(body))
			}
			if w.Code != http.StatusOK {
				t.Errorf("%s, %s: %d %s", name, announced, w.Code, w.Body)
			}
		}
	}
}

// A filter of too many resources is refused before it is decoded.
func TestALongFilterCostsAtMostFourTimesItsSize(t *testing.T) {
	var uris strings.Builder
	for i := 0; uris.Len() < largeBody; i++ {
		fmt.Fprintf(&uris, `"d://%x",`, i)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[` +
		uris.String() + `""]},` + metaOfCall + `}}`
	server := newServer(newConstantHandler(1, 2), mcp.Options{})
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "subscriptions/listen")
	w := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	server.For("").ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if took := int64(after.TotalAlloc - before.TotalAlloc); took > 4*int64(len(body)) {
		t.Errorf("%d bytes for a filter of %d", took, len(body))
	}
	if !strings.Contains(w.Body.String(), "has more than") {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
}

// Bodies of one caller take at most half of the memory, and those of all callers at most all of it. The others are told
// to come back, and can when the first ones are answered.
func TestRequestsTakeABoundedAmountOfMemory(t *testing.T) {
	h := &reservingHandler{
		constantHandler: newConstantHandler(1, 2), bytes: 27 << 20, entered: make(chan struct{}), wait: make(chan struct{}),
	}
	server := newServer(h, mcp.Options{Network: func(remote string) string { return strings.Split(remote, ":")[0] }})
	body := callBody(`{"x":"` + strings.Repeat("a", largeBody) + `"}`) // of whatever it consists
	var mu sync.Mutex
	codes := map[string]map[int]int{"192.0.2.1": {}, "192.0.2.2": {}, "192.0.2.3": {}}
	var calls sync.WaitGroup
	const each = 40
	refused := make(chan struct{}, 3*each)
	for caller := range codes {
		for range each {
			calls.Go(func() {
				w := post(server.For(""), caller+":1", strings.NewReader(body), int64(len(body)))
				mu.Lock()
				codes[caller][w.Code]++
				mu.Unlock()
				if w.Code == http.StatusServiceUnavailable {
					if w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "Try again in a moment") {
						t.Errorf("a refusal without a time: %v %s", w.Header(), w.Body)
					}
					refused <- struct{}{}
				}
			})
		}
	}
	admitted := 0
	for range 3 * each {
		select {
		case <-refused:
		case <-h.entered:
			admitted++
		}
	}
	const most = 128 << 20 / (27<<20 + largeBody)
	if admitted > most || admitted < 1 {
		t.Errorf("%d calls were admitted, want at most %d", admitted, most)
	}
	close(h.wait)
	calls.Wait()
	for caller, of := range codes {
		if of[http.StatusOK] > most/2 || of[http.StatusOK]+of[http.StatusServiceUnavailable] != each {
			t.Errorf("%s: %v", caller, of)
		}
	}
	h.wait = nil
	if w := post(server.For(""), "192.0.2.1:1", strings.NewReader(body), int64(len(body))); w.Code != http.StatusOK {
		t.Errorf("after all were answered: %d %s", w.Code, w.Body)
	}
	h.bytes = 1 << 30
	w := post(server.For(""), "192.0.2.1:1", strings.NewReader(body), int64(len(body)))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Internal error") || h.failed == nil ||
		!errors.As(h.failed, new(*mcp.TooLargeError)) {
		t.Errorf("a call that takes more than a caller may have: %d %s, %v", w.Code, w.Body, h.failed)
	}
}
