package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/client/mcptest"
)

func TestAStatusTellsWhetherTheCallWasCarriedOut(t *testing.T) {
	const rpc = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no"}}`
	for name, c := range map[string]struct {
		status int
		header [2]string
		body   string
		kind   client.Kind
		rpc    bool
		after  time.Duration
	}{
		"401":                   {401, [2]string{"WWW-Authenticate", "Bearer"}, "", client.Status, false, 0},
		"403 with an answer":    {403, [2]string{}, rpc, client.Status, true, 0},
		"400 with an answer":    {400, [2]string{}, rpc, client.Rejected, true, 0},
		"500 with an answer":    {500, [2]string{}, rpc, client.Rejected, true, 0},
		"400 of a lost session": {400, [2]string{}, "Bad Request: No valid session ID provided", client.SessionLost, false, 0},
		"404":                   {404, [2]string{}, "", client.SessionLost, false, 0},
		"429":                   {429, [2]string{"Retry-After", "7"}, "", client.Status, false, 7 * time.Second},
		"503":                   {503, [2]string{"Retry-After", "2"}, "<html>", client.Status, false, 2 * time.Second},
		"502":                   {502, [2]string{}, "", client.Status, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
			server.Intercept = func(w http.ResponseWriter, _ *http.Request, method string, body []byte) bool {
				if method != "tools/call" {
					return false
				}
				if c.header[0] != "" {
					w.Header().Set(c.header[0], c.header[1])
				}
				w.WriteHeader(c.status)
				if strings.Contains(c.body, "%s") {
					fmt.Fprintf(w, c.body, idOf(body))
				} else {
					fmt.Fprint(w, c.body)
				}
				return true
			}
			s := open(t, overHTTP(t, server), client.Options{})
			_, err := s.Call(testContext(t), &client.Request{Name: "x"})
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Kind != c.kind || (e.RPC != nil) != c.rpc || e.RetryAfter != c.after || e.Status != c.status {
				t.Errorf("%#v", e)
			}
		})
	}
}

func TestARedirectOnTheSameOriginIsFollowed(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Modern}
	server.Intercept = func(w http.ResponseWriter, r *http.Request, _ string, _ []byte) bool {
		if r.URL.Path == "/moved" {
			return false
		}
		http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
		return true
	}
	s := open(t, overHTTP(t, server), client.Options{})
	if _, err := s.Call(testContext(t), &client.Request{Name: "x"}); err != nil {
		t.Error(err)
	}
	if n := len(server.Calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestABrokenStreamIsResumedAfterItsLastEvent ends a stream after each of its events.
func TestABrokenStreamIsResumedAfterItsLastEvent(t *testing.T) {
	for _, events := range []int{0, 1, 3} {
		server := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
		var gets atomic.Int64
		id := ""
		server.Intercept = func(w http.ResponseWriter, r *http.Request, method string, body []byte) bool {
			switch {
			case method == "tools/call":
				id = idOf(body)
				w.Header().Set("Content-Type", "text/event-stream")
				if events > 0 {
					fmt.Fprint(w, "id: event-0\r\nretry: 1\r\ndata:\r\n\r\n")
				}
				return true
			case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != "":
				n := gets.Add(1)
				if want := fmt.Sprintf("event-%d", n-1); r.Header.Get("Last-Event-ID") != want {
					t.Errorf("the client asks for what follows %s", r.Header.Get("Last-Event-ID"))
				}
				w.Header().Set("Content-Type", "text/event-stream")
				if int(n) < events {
					fmt.Fprintf(w, "id: event-%d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", n)
					return true
				}
				fmt.Fprintf(w, "id: last\rdata: {\"jsonrpc\":\"2.0\",\"id\":%s,\rdata: \"result\":{\"content\":[]}}\r\r", id)
				return true
			}
			return false
		}
		s := open(t, overHTTP(t, server), client.Options{})
		_, err := s.Call(testContext(t), &client.Request{Name: "x"})
		e, ok := errors.AsType[*client.Error](err)
		if events == 0 && (!ok || e.Kind != client.Unknown) || events > 0 && err != nil || int(gets.Load()) != events {
			t.Errorf("%d events: %d requests, %v", events, gets.Load(), err)
		}
	}
}

// TestAStreamThatBreaksWithoutProgressIsResumedOnce has a server that answers each request for what is missing with
// nothing.
func TestAStreamThatBreaksWithoutProgressIsResumedOnce(t *testing.T) {
	server := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
	var gets atomic.Int64
	server.Intercept = func(w http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
		resumes := r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != ""
		if resumes {
			gets.Add(1)
		}
		if method == "tools/call" || resumes {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\ndata:\n\n")
			return true
		}
		return false
	}
	s := open(t, overHTTP(t, server), client.Options{})
	_, err := s.Call(testContext(t), &client.Request{Name: "x"})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != client.Unknown || gets.Load() != 1 {
		t.Errorf("%d requests, %v", gets.Load(), err)
	}
}

func TestHeadersOf20260728RepeatTheRequest(t *testing.T) {
	schema := []byte(`{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"at":{"properties":{
		"n":{"type":"integer","x-mcp-header":"N"}}},"off":{"type":"boolean","x-mcp-header":"Off"},
		"gone":{"type":"string","x-mcp-header":"Gone"}}}`)
	mirrored, err := client.MirroredArguments(schema)
	if err != nil {
		t.Fatal(err)
	}
	server := &mcptest.Server{Era: mcptest.Modern}
	s := open(t, overHTTP(t, server), client.Options{})
	_, err = s.Call(testContext(t), &client.Request{
		Name: "größe", Mirrored: mirrored, Arguments: []byte(`{"region":" eu","at":{"n":4.0},"off":false,"gone":null}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	h := server.Calls()[0].Header
	for name, want := range map[string]string{
		"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=", "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Param-Region": "=?base64?IGV1?=", "Mcp-Param-N": "4", "Mcp-Param-Off": "false", "Mcp-Param-Gone": "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAHeaderThatCannotRepeatAnArgumentIsRefused(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`: `x-mcp-header of "a" is no name of a header`,
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:    `x-mcp-header of "a" is no name of a header`,
		`{"properties":{"a":{"type":"number","x-mcp-header":"a"}}}`: `"a" has x-mcp-header, and is no string, ` +
			`integer or boolean`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a"},"b":{"properties":{"c":` +
			`{"type":"string","x-mcp-header":"A"}}}}}`: `two arguments have the x-mcp-header "A"`,
	} {
		if _, err := client.MirroredArguments([]byte(schema)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
