package server

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hatchel/runtime/load/hold"
)

// heldClient is a client of one era: the headers and the members of params that its requests need.
type heldClient struct {
	t       testing.TB
	url     string
	client  *http.Client
	headers map[string]string
	meta    string
	listen  func(*heldClient) *http.Response // opens the stream of notifications
	calls   atomic.Int64
}

// newHeldClients returns a client with a session and a client of the revision without sessions.
func newHeldClients(t testing.TB, url string, client *http.Client) []*heldClient {
	legacy := &heldClient{t: t, url: url, client: client, headers: map[string]string{"MCP-Protocol-Version": "2025-11-25"}}
	hello := legacy.send("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, nil)
	io.Copy(io.Discard, hello.Body)
	hello.Body.Close()
	legacy.headers["Mcp-Session-Id"] = hello.Header.Get("Mcp-Session-Id")
	initialized := legacy.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	initialized.Body.Close()
	legacy.listen = func(c *heldClient) *http.Response { return c.send("GET", "", nil) }
	modern := &heldClient{t: t, url: url, client: client, headers: map[string]string{"MCP-Protocol-Version": "2026-07-28"},
		meta: `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`}
	modern.listen = func(c *heldClient) *http.Response {
		return c.send("POST", `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}`+
			c.meta+`}}`, map[string]string{"Mcp-Method": "subscriptions/listen"})
	}
	return []*heldClient{legacy, modern}
}

func (c *heldClient) send(method, body string, more map[string]string) *http.Response {
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/mcp", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	headers := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	if method == "GET" {
		headers["Accept"] = "text/event-stream"
	}
	maps.Copy(headers, c.headers)
	maps.Copy(headers, more)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	res, err := c.client.Do(r)
	if err != nil {
		c.t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	return res
}

// call calls greet and returns what it says.
func (c *heldClient) call() string {
	res := c.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"greet"%s}}`, c.calls.Add(1)+1, c.meta),
		map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "greet"})
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	for _, known := range []string{"old", "new"} {
		if strings.Contains(string(text), `"text":"`+known+`"`) {
			return known
		}
	}
	return res.Status + " " + string(text)
}

// TestClientsOfBothErasSeeAndHearOnlyTheOldToolUntilItsLockIsWritten calls as 200 clients while a reload is held and
// released. No call is lost, none reads the new tool before the lock is written, and neither does a listener hear of it.
func TestClientsOfBothErasSeeAndHearOnlyTheOldToolUntilItsLockIsWritten(t *testing.T) {
	files := greet("old")
	files["extra.hcl"] = extra
	s := newHeldServer(t, hold.Checker{Class: "breaking"}, files)
	web := httptest.NewServer(s.Server)
	defer web.Close()
	defer web.CloseClientConnections()
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	defer transport.CloseIdleConnections()
	clients := newHeldClients(t, web.URL, &http.Client{Transport: transport})

	var released atomic.Bool
	heard := make(chan string, 10)
	for _, c := range clients {
		stream := c.listen(c)
		defer stream.Body.Close()
		if stream.StatusCode != http.StatusOK {
			t.Fatalf("the stream of %s is answered with %s", c.headers["MCP-Protocol-Version"], stream.Status)
		}
		go func() {
			for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
				if strings.Contains(lines.Text(), "list_changed") {
					if !released.Load() {
						t.Error("a listener heard of a change that is held")
					}
					heard <- c.headers["MCP-Protocol-Version"]
				}
			}
		}()
	}

	const callers, calls = 100, 4 // of each era, and of each caller in each phase
	eachCaller := func(do func(c *heldClient)) *sync.WaitGroup {
		all := new(sync.WaitGroup)
		for _, c := range clients {
			for range callers {
				all.Go(func() { do(c) })
			}
		}
		return all
	}
	s.newerGreet()
	before := eachCaller(func(c *heldClient) {
		for range calls {
			if text := c.call(); text != "old" {
				t.Errorf("while the change is held a call reads %q", text)
			}
		}
	})
	if report := s.reload(); report.OK || report.Hold == nil {
		t.Errorf("the reload is not held: %+v", report)
	}
	before.Wait()
	released.Store(true)
	s.lock()
	during := eachCaller(func(c *heldClient) {
		isNew := false
		for range calls {
			text := c.call()
			if text != "new" && (text != "old" || isNew) {
				t.Errorf("while the change is released a call reads %q", text)
			}
			isNew = isNew || text == "new"
		}
	})
	if report := s.reload(); !report.OK || report.Released == nil {
		t.Errorf("the reload is not released: %+v", report)
	}
	during.Wait()
	eachCaller(func(c *heldClient) {
		if text := c.call(); text != "new" {
			t.Errorf("after the release a call reads %q", text)
		}
	}).Wait()
	if first, second := <-heard, <-heard; first == second || len(heard) > 0 {
		t.Errorf("%s and %s heard of the change, and %d more", first, second, len(heard))
	}
}
