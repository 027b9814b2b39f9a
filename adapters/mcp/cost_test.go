package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/adaptertest"
	adapterhttp "hatchel/adapters/http"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/hcl"
	"hatchel/internal/benchtest"
)

// plainServer is an MCP server of 2025-11-25 that remembers nothing of its sessions and calls.
func plainServer(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := `"error":{"code":-32601,"message":"Method not found"}`
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "00000000-0000-4000-8000-000000000001")
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		answer = `"result":{"tools":[` + createIssue + `]}`
	case "tools/call":
		answer = `"result":{"content":[{"type":"text","text":"done"}],"structuredContent":{"number":1}}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

// heldMemory returns the bytes of the heap and of stacks that are in use.
func heldMemory() float64 {
	runtime.GC()
	runtime.GC() // what the first one has finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkMemory measures what a connection holds after a call, and what of that is the end of the server, which is
// in the same process; what a session holds beside others of its connection; and what a program holds on this side.
func BenchmarkMemory(b *testing.B) {
	each := func(b *testing.B, n int, add func()) {
		for b.Loop() {
			add() // what the first one alone takes
			before := heldMemory()
			for range n {
				add()
			}
			b.ReportMetric((heldMemory()-before)/float64(n), "B/each")
		}
	}
	b.Run("connection", func(b *testing.B) {
		web := httptest.NewServer(http.HandlerFunc(plainServer))
		defer web.Close()
		var held []*adaptertest.BoundTool
		each(b, 50, func() {
			tool := adaptertest.Bind(b, source(b, web.URL, "", titled, `call = "create_issue"`))
			callHeld(b, tool, "", `{"title":"Fire"}`)
			held = append(held, tool)
		})
		closeHeld(b, held)
	})
	b.Run("server", func(b *testing.B) {
		web := httptest.NewServer(http.HandlerFunc(plainServer))
		defer web.Close()
		each(b, 50, func() {
			c, err := net.Dial("tcp", web.Listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { c.Close() })
			const message = `{"id":1,"method":"tools/call"}`
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(message), message)
			if n, err := c.Read(make([]byte, 4096)); n == 0 {
				b.Fatal(err)
			}
		})
	})
	b.Run("session", func(b *testing.B) {
		web := httptest.NewServer(http.HandlerFunc(plainServer))
		defer web.Close()
		var held []*adaptertest.BoundTool
		for b.Loop() {
			b.StopTimer()
			tool := adaptertest.Bind(b, source(b, web.URL, "", titled, `call = "create_issue"`))
			callHeld(b, tool, "first", `{"title":"Fire"}`)
			held = append(held, tool)
			b.StartTimer()
			const n = 200
			before := heldMemory()
			for i := range n {
				callHeld(b, tool, fmt.Sprint(i), `{"title":"Fire"}`)
			}
			b.ReportMetric((heldMemory()-before)/n, "B/each")
		}
		closeHeld(b, held)
	})
	b.Run("program", func(b *testing.B) {
		var held []*adaptertest.BoundTool
		each(b, 8, func() {
			tool := adaptertest.Bind(b, program(b, `sessions = "shared"`, "", `call = "pid"`))
			callHeld(b, tool, "", `{}`)
			held = append(held, tool)
		})
		closeHeld(b, held)
	})
}

func callHeld(b *testing.B, tool *adaptertest.BoundTool, owner, arguments string) {
	if _, err := callAs(b, tool, owner, arguments); err != nil {
		b.Fatal(err)
	}
}

func closeHeld(b *testing.B, held []*adaptertest.BoundTool) {
	for _, tool := range held {
		if err := tool.Close(); err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkLoad200 loads 200 tools of an MCP server, with the file of its definitions and the checks by it; and 200
// tools with the same inputs that send HTTP requests.
func BenchmarkLoad200(b *testing.B) {
	var pinned, plain strings.Builder
	var pins []string
	pinned.WriteString("connection \"mcp\" \"github\" {\n  url = \"https://github.example/mcp\"\n" +
		"  definitions = \"github.tools.json\"\n}\n")
	plain.WriteString("connection \"http\" \"github\" { base_url = \"https://github.example\" }\n")
	for i := range 200 {
		name := fmt.Sprintf("create_issue_%d", i)
		pins = append(pins, strings.Replace(createIssue, `"create_issue"`, strconv.Quote(name), 1))
		const tool = "tool \"t_%d\" {\n  description = \"Test.\"\n%s\n  %s\n}\n"
		fmt.Fprintf(&pinned, tool, i, titled, fmt.Sprintf("mcp \"github\" { call = %q }", name))
		fmt.Fprintf(&plain, tool, i, titled, `http "github" {
    post = "/issues"
    json = { title = input.title }
  }`)
	}
	set := testSet
	set.Adapters = append(slices.Clone(set.Adapters), adapterhttp.Adapter())
	set.Connectors = append(slices.Clone(set.Connectors), adapterhttp.Connector())
	load := func(b *testing.B, config string) {
		files := fstest.MapFS{"main.hcl": {Data: []byte(config)}, "github.tools.json": {Data: []byte(definitiontest.Text(b, pins...))}}
		defer benchtest.ReportCPU(b)()
		for b.Loop() {
			cfg, diags := hcl.Load(files, set.Kinds(), hcl.Options{Dir: "/"})
			if diags.HasErrors() || len(cfg.Tools) != 200 {
				b.Fatal(diags)
			}
		}
	}
	b.Run("pinned", func(b *testing.B) { load(b, pinned.String()) })
	b.Run("plain", func(b *testing.B) { load(b, plain.String()) })
}
