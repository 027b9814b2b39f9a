package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
)

// constantHandler answers every call with the same text, so that benchmarks measure the protocol.
type constantHandler struct {
	toolsOnly

	info *mcp.Info
	list *mcp.List
	text mcp.Text
}

func newConstantHandler(tools, size int) *constantHandler {
	schema := `{"type":"object","properties":{`
	for i := range 6 {
		schema += fmt.Sprintf(`"input%d":{"type":"string","description":"The input number %d of this tool."},`, i, i)
	}
	schema = strings.TrimSuffix(schema, ",") + `},"required":["input0"]}`
	var entries []mcp.Entry
	for i := range tools {
		e := []byte(fmt.Sprintf(`{"name":"tool_%04d","description":"Does the thing number %d.","inputSchema":%s}`, i, i, schema))
		entries = append(entries, mcp.Entry{Name: fmt.Sprintf("tool_%04d", i), Legacy: e, Modern: e})
	}
	return &constantHandler{
		info: mcp.NewInfo(mcp.ServerInfo{Name: "constant", Version: "1.0.0"}),
		list: mcp.NewList(mcp.Tools, entries, mcp.ListOptions{}),
		text: mcp.Text(strings.Repeat("x", size)),
	}
}

func (t *constantHandler) Info(string) *mcp.Info { return t.info }
func (t *constantHandler) List(_ context.Context, _ *mcp.Caller, of mcp.Listing) *mcp.List {
	if of == mcp.Tools {
		return t.list
	}
	return mcp.NewList(of, nil, mcp.ListOptions{})
}
func (t *constantHandler) CallTool(context.Context, *mcp.CallRequest) (mcp.Outcome, error) {
	return mcp.Outcome{Content: t.text}, nil
}

// nullResponse discards a response.
type nullResponse struct {
	header http.Header
	status int
	n      int
}

func (s *nullResponse) Header() http.Header         { return s.header }
func (s *nullResponse) WriteHeader(status int)      { s.status = status }
func (s *nullResponse) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }

// benchRequest is a request that can be served repeatedly.
type benchRequest struct {
	body     *bytes.Reader
	request  *http.Request
	response nullResponse
}

func newBenchRequest(body string, headers ...string) *benchRequest {
	s := &benchRequest{body: bytes.NewReader([]byte(body))}
	s.request = httptest.NewRequest("POST", "/mcp", nil)
	s.request.ContentLength = int64(len(body))
	s.request.Header.Set("Content-Type", "application/json")
	s.request.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		s.request.Header.Set(headers[i], headers[i+1])
	}
	s.response.header = http.Header{}
	return s
}

func (s *benchRequest) serve(h http.Handler) {
	s.body.Seek(0, io.SeekStart)
	s.request.Body = io.NopCloser(s.body)
	clear(s.response.header)
	s.response.n, s.response.status = 0, 0
	h.ServeHTTP(&s.response, s.request)
}

const (
	legacyCall = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"tool_0001","arguments":{"input0":"some text","input1":42}}}`
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0"},"io.modelcontextprotocol/clientCapabilities":{}}`
	modernCall = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"tool_0001","arguments":{"input0":"some text","input1":42},` + modernMeta + `}}`
	modernList = `{"jsonrpc":"2.0","id":17,"method":"tools/list","params":{` + modernMeta + `}}`
)

func modernRequest(method, name, body string) *benchRequest {
	return newBenchRequest(body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
}

// legacyRequest is a request in a session.
func legacyRequest(tb testing.TB, h http.Handler, body string) *benchRequest {
	open := newBenchRequest(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
	open.serve(h)
	id := open.response.header.Get("Mcp-Session-Id")
	if id == "" {
		tb.Fatal("no session")
	}
	return newBenchRequest(body, "MCP-Protocol-Version", "2025-11-25", "Mcp-Session-Id", id)
}

// minimalHandler only decodes a call and encodes a result. It is the baseline.
func minimalHandler(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments map[string]any
			}
		}
		if json.NewDecoder(r.Body).Decode(&req) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": map[string]any{
			"content": []any{map[string]any{"type": "text", "text": text}},
		}})
		w.Header().Set("Content-Type", "application/json")
		w.Write(b)
	})
}

func BenchmarkCall(b *testing.B) {
	for _, size := range []int{20, 100 << 10} {
		constant := newConstantHandler(1, size)
		server := newServer(constant, mcp.Options{}).For("")
		run := func(name string, s *benchRequest, h http.Handler) {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.serve(h)
				}
				if s.response.n < size {
					b.Fatalf("status %d, %d bytes", s.response.status, s.response.n)
				}
			})
		}
		run("floor", newBenchRequest(legacyCall), minimalHandler(string(constant.text)))
		run("legacy", legacyRequest(b, server, legacyCall), server)
		run("modern", modernRequest("tools/call", "tool_0001", modernCall), server)
	}
}

// The session of each call is new to the process, because the one before has taken its place.
func BenchmarkCallInANewSession(b *testing.B) {
	server := newServer(newConstantHandler(1, 20), withLegacy(legacy.Options{Sessions: 1})).For("")
	sessions := []*benchRequest{legacyRequest(b, server, legacyCall), legacyRequest(b, server, legacyCall)}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		s := sessions[n%2]
		s.serve(server)
		if s.response.n < 20 {
			b.Fatalf("status %d", s.response.status)
		}
	}
}

func BenchmarkListThousandTools(b *testing.B) {
	server := newServer(newConstantHandler(1000, 1), mcp.Options{}).For("")
	s := modernRequest("tools/list", "", modernList)
	b.ReportAllocs()
	for b.Loop() {
		s.serve(server)
	}
	b.SetBytes(int64(s.response.n))
}

func BenchmarkStreamsCall(b *testing.B) {
	server := newServer(newConstantHandler(1, 20), mcp.Options{})
	in, client := io.Pipe()
	replies := make(lineCounter, 64)
	served := make(chan error, 1)
	go func() { served <- server.For("").Serve(context.Background(), in, replies) }()
	b.ReportAllocs()
	b.SetParallelism(8)
	n := 0
	for b.Loop() {
		if n++; n > 16 {
			<-replies
		}
		fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_0001","arguments":{"input0":"some text"},%s}}`+"\n", n, modernMeta)
	}
	go func() {
		for range replies {
		}
	}()
	client.Close()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
	close(replies)
}

// lineCounter receives once for every line that is written to it.
type lineCounter chan struct{}

func (l lineCounter) Write(p []byte) (int, error) {
	for range bytes.Count(p, []byte{'\n'}) {
		l <- struct{}{}
	}
	return len(p), nil
}
