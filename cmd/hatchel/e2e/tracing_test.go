package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/internal/programtest"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/trace/tracetest"
)

const traced = `
secret "collector" { env = "COLLECTOR_KEY" }
secret "shop" { env = "SHOP_KEY" }
variable "collector" { type = string }
variable "shop" { type = string }
telemetry {
  otlp {
    endpoint = var.collector
    headers  = { x-api-key = secret.collector }
    traces   = 1
  }
}
connection "http" "shop" {
  base_url = "${var.shop}/api"
  headers  = { authorization = "Bearer ${secret.shop}" }
}
connection "sqlite" "db" {
  file = "shop.db"
  init = "CREATE TABLE IF NOT EXISTS orders (id INTEGER, note TEXT)"
}
tool "order" {
  description = "Fetch an order and store it."
  input "id" { type = integer }
  input "pin" {
    type      = string
    sensitive = true
  }
  step "fetch" {
    http "shop" {
      get   = "/orders/${input.id}"
      query = { pin = input.pin }
      retry { backoff = "1ms" }
    }
  }
  step "store" {
    sql "db" { exec = ["DELETE FROM orders WHERE id = ${input.id}", "INSERT INTO orders VALUES (${input.id}, ${input.pin})"] }
  }
  step "announce" {
    when = "input.id > 0"
    shell { command = ["/usr/bin/printenv", "TRACEPARENT"] }
  }
  step "skipped" {
    when = "input.id < 0"
    shell { command = ["/bin/true"] }
  }
  text = step.announce.stdout
}
`

// TestATracedCallIsATreeOfSpans calls a tool whose service fails twice: each try has a span, and the service is told of
// it. No span has what the caller sent, nor a secret.
func TestATracedCallIsATreeOfSpans(t *testing.T) {
	t.Parallel()
	collector := tracetest.New(t, nil)
	var mu sync.Mutex
	var sent []string // guarded by mu
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Tracestate") != "vendor=1" {
			t.Errorf("the service got the tracestate %q", r.Header.Get("Tracestate"))
		}
		if sent = append(sent, r.Header.Get("Traceparent")); len(sent) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		w.Write([]byte("{}"))
	}))
	t.Cleanup(shop.Close)
	env := map[string]string{
		"COLLECTOR_KEY": "collector-key-1234", "SHOP_KEY": "shop-key-567890",
		"HATCHEL_VAR_collector": collector.URL, "HATCHEL_VAR_shop": shop.URL,
	}
	options := hcl.Options{Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	host := runtime.NewHost(t.Context(), runtime.HostOptions{Build: runtime.Build{Set: all.Set(), Dir: t.TempDir()}, Load: options})
	t.Cleanup(host.Close)
	if diags := host.Load(t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(traced)}}); diags.HasErrors() {
		diags.Print(os.Stderr, nil)
		t.Fatal("not loaded")
	}
	out, err := host.CallTool(t.Context(), &mcp.CallRequest{
		Name: "order", Arguments: []byte(`{"id":70077,"pin":"very-private"}`), Caller: &mcp.Caller{Revision: mcp.Revision20260728},
		Meta: []byte(`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"vendor=1"}`),
	})
	text := string(out.AppendResult(nil, mcp.Revision20260728))
	if err != nil || out.IsError {
		t.Fatalf("%v, %s", err, text)
	}
	host.Close()

	const want = `server tools/call order
  internal step fetch
    client GET /api/orders/{input.id} http.response.status_code=503 failed
    client GET /api/orders/{input.id} http.request.resend_count=1 http.response.status_code=503 failed
    client GET /api/orders/{input.id} http.request.resend_count=2 http.response.status_code=200
  internal step store
    client DELETE db.query.text=DELETE FROM orders WHERE id = ?
    client INSERT db.query.text=INSERT INTO orders VALUES (?, ?)
  internal step announce
    internal exec printenv
`
	if got := collector.Tree("http.request.resend_count", "http.response.status_code", "db.query.text"); got != want {
		t.Errorf("got\n%s", got)
	}
	spans := collector.Spans()
	if root := spans[0]; root.Parent != "b7ad6b7169203331" || root.Attributes["hatchel.outcome"] != "ok" ||
		root.Attributes["gen_ai.tool.name"] != "order" || root.Resource["service.name"] != "hatchel" {
		t.Errorf("got %+v", root)
	}
	for i, s := range spans {
		if s.Trace != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s belongs to the trace %s", s.Name, s.Trace)
		}
		if tries := sent; s.Name == "GET /api/orders/{input.id}" && tries[i-2] != "00-"+s.Trace+"-"+s.ID+"-01" {
			t.Errorf("the service was told %s for the span %s", tries[i-2], s.ID)
		}
		if s.Name == "exec printenv" && !strings.Contains(text, "00-"+s.Trace+"-"+s.ID+"-01") {
			t.Errorf("the program was told %s, not the span %s", text, s.ID)
		}
	}
	headers, paths, raw := collector.Requests()
	if headers[0].Get("X-Api-Key") != "collector-key-1234" || paths[0] != "/v1/traces" {
		t.Errorf("got %v, %v", headers, paths)
	}
	for _, private := range []string{"70077", "very-private", "shop-key", "collector-key"} {
		if strings.Contains(raw, private) {
			t.Errorf("the spans have %q", private)
		}
	}
}

// TestACallThroughTwoServersIsOneTrace has a tool that calls the tool of another server over HTTP.
func TestACallThroughTwoServersIsOneTrace(t *testing.T) {
	t.Parallel()
	collector := tracetest.New(t, nil)
	telemetry := "telemetry {\n  otlp {\n    endpoint = \"" + collector.URL + "\"\n    traces = 0\n    trust = \"true\"\n  }\n}\n"
	second, _ := startConfig(t, telemetry+`
server { sessions = "none" }
tool "stock" {
  description = "Count."
  text        = "7"
}
`)
	first, _ := startConfig(t, telemetry+`
connection "http" "warehouse" { base_url = "`+second.url+`" }
tool "order" {
  description = "Ask the warehouse."
  http "warehouse" {
    post = "/mcp"
    headers = { accept = "application/json, text/event-stream" }
    json = {
      jsonrpc = "2.0"
      id      = "inner"
      method  = "tools/call"
      params  = { name = "stock", arguments = {} }
    }
  }
  text = output.body.result.content[0].text
}
`)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: first.url + "/mcp"},
		&sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "order", Arguments: map[string]any{},
		Meta: sdk.Meta{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	})
	if err != nil || out.IsError || out.Content[0].(*sdk.TextContent).Text != "7" {
		t.Fatalf("%v, %+v", err, out)
	}
	id := session.ID()
	session.Close()
	first.terminate(t)
	second.terminate(t)
	first.awaitEnd(t)
	second.awaitEnd(t)
	const want = `server tools/call order
  client POST /mcp
    server tools/call stock jsonrpc.request.id=inner
`
	if got := strings.ReplaceAll(collector.Tree("jsonrpc.request.id"), " jsonrpc.request.id=2", ""); got != want {
		t.Errorf("got\n%s", got)
	}
	spans := collector.Spans()
	for _, s := range spans {
		if s.Trace != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s belongs to the trace %s", s.Name, s.Trace)
		}
	}
	if name := spans[0].Attributes["mcp.session.id"]; len(name) != 32 || strings.Contains(id, name) {
		t.Errorf("the session with the id %s is called %q", id, name)
	}
}

// TestACallThroughTwoServersOnStdioIsOneTrace has a tool that starts another server, and calls its tool through its
// standard input and output.
func TestACallThroughTwoServersOnStdioIsOneTrace(t *testing.T) {
	t.Parallel()
	collector := tracetest.New(t, nil)
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	first, second := t.TempDir(), t.TempDir()
	telemetry := "telemetry {\n  otlp {\n    endpoint = \"" + collector.URL + "\"\n    traces = 0\n  }\n}\n"
	for dir, text := range map[string]string{
		second: `
tool "stock" {
  description = "Count."
  text        = "7"
}
`,
		first: `
tool "order" {
  description = "Ask the warehouse."
  shell {
    script = <<-SH
      trace=$(printf '"_meta":{"traceparent":"%s"}' "$TRACEPARENT")
      {
        echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}'
        echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        echo '{"jsonrpc":"2.0","id":"inner","method":"tools/call","params":{"name":"stock","arguments":{},'"$trace"'}}'
      } | ` + hatchel + ` serve --stdio ` + second + `
    SH
    parse = "jsonl"
    sandbox { mode = "none" }
  }
  text = output.json[1].result.content[0].text
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(telemetry+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(hatchel, "serve", "--stdio", first)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd, TerminateDuration: programtest.Timeout}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "order", Arguments: map[string]any{},
		Meta: sdk.Meta{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	})
	if err != nil || out.IsError || out.Content[0].(*sdk.TextContent).Text != "7" {
		t.Fatalf("%v, %+v", err, out)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `server tools/call order network.transport=pipe
  internal exec sh
    server tools/call stock network.transport=pipe
`
	if got := collector.Tree("network.transport"); got != want {
		t.Errorf("got\n%s", got)
	}
	for _, s := range collector.Spans() {
		if s.Trace != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s belongs to the trace %s", s.Name, s.Trace)
		}
	}
}
