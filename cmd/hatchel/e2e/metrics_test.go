package e2e_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scrape asks for metrics at an address, as the holder of a key, empty for nobody.
func scrape(t *testing.T, address, key string, header ...string) (status int, body string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+apiKeyOf(key))
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	if host := q.Header.Get("Host"); host != "" {
		q.Host = host
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

const metricsConfig = `
auth {
  api_key "ada" {
    sha256 = "$ADA"
    groups = ["metrics"]
  }
  api_key "eve" { sha256 = "$EVE" }
  api_key "ops" {
    sha256 = "$OPS"
    groups = ["admin"]
  }
}
tool "greet" {
  description = "Greet."
  text        = "Hello"
}
`

func TestMetricsAreReadByWhomTheirRuleAllows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		block string
		want  map[string]int // by the caller
	}{
		"no rule":        {"metrics {}", map[string]int{"ops": 200, "ada": 403, "eve": 403, "": 401}},
		"a rule":         {`metrics { allow = "'metrics' in caller.groups" }`, map[string]int{"ops": 403, "ada": 200, "eve": 403, "": 401}},
		"everybody":      {`metrics { allow = "true" }`, map[string]int{"ops": 200, "eve": 200, "": 200}},
		"another server": {`metrics { listen = "127.0.0.1:0" }`, map[string]int{"ops": 404, "": 401}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := startConfig(t, metricsConfig+"telemetry {\n"+test.block+"\n}\n")
			for caller, want := range test.want {
				if got, body := scrape(t, r.url+"/metrics", caller); got != want || want == 200 && !strings.Contains(body, "\nhatchel_build_info{") {
					t.Errorf("%q: %d %s", caller, got, body)
				}
			}
			for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Host", "evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
				if got, body := scrape(t, r.url+"/metrics", "", header...); got == 200 {
					t.Errorf("%q: %s", header, body)
				}
			}
		})
	}
}

func TestAnEndpointWithoutItsBlockIsNotFoundAndTheAnswerSaysSo(t *testing.T) {
	t.Parallel()
	without, _ := startConfig(t, metricsConfig)
	elsewhere, _ := startConfig(t, metricsConfig+"telemetry {\n  metrics { listen = \"127.0.0.1:0\" }\n}\n")
	for address, want := range map[string]string{
		without.url + "/metrics":   "no metrics block",
		without.url + "/events":    "no events block",
		elsewhere.url + "/metrics": "an address of their own",
		without.url + "/nothing":   "The MCP endpoint of this server is /mcp",
	} {
		if got, body := scrape(t, address, "eve"); got != 404 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", address, got, body)
		}
		if got, _ := scrape(t, address, ""); got != 401 {
			t.Errorf("%s without a key: %d", address, got)
		}
	}
}

// freeAddress returns an address on which nobody listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestMetricsHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	first, second := freeAddress(t), freeAddress(t)
	block := func(arguments string) string {
		return metricsConfig + "telemetry {\n  metrics {\n" + arguments + "\n}\n}\n"
	}
	r, dir := startConfig(t, block(`listen = "`+first+`"`))
	file := filepath.Join(dir, "tools.hcl")
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(from, to string, want int) {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(written), from, to)), 0o644); err != nil {
			t.Fatal(err)
		}
		q, err := http.NewRequest(http.MethodPost, r.url+"/admin/reload", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+apiKeyOf("ops"))
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, _ := io.ReadAll(res.Body); res.StatusCode != want {
			t.Fatalf("%s: %s", res.Status, body)
		}
	}
	expect := func(address, caller string, want int) (body string) {
		t.Helper()
		got, body := scrape(t, "http://"+address+"/metrics", caller)
		if got != want {
			t.Errorf("%s as %q: %d %s, want %d", address, caller, got, body, want)
		}
		return body
	}
	for _, caller := range []string{"", "eve", "ops"} {
		expect(first, caller, 200)
	}
	if got, _ := scrape(t, "http://"+first+"/mcp", ""); got != 404 {
		t.Errorf("/mcp is there, too: %d", got)
	}
	if got, _ := scrape(t, "http://"+first+"/metrics", "", "Host", "evil.example"); got != 403 {
		t.Errorf("under a name of a page: %d", got)
	}
	if got, body := scrape(t, "http://"+first+"/metrics", "nobody"); got != 401 {
		t.Errorf("with a wrong key: %d %s", got, body)
	}
	before := expect(first, "", 200)

	busy, err := net.Listen("tcp", second)
	if err != nil {
		t.Fatal(err)
	}
	reload(first, second, 422)
	expect(first, "", 200)
	busy.Close()
	reload(first, second, 200)
	expect(first, "", 0)
	after := expect(second, "", 200)
	for text, count := range map[string]string{before: "1", after: "2"} {
		if want := `hatchel_reloads_total{result="ok"} ` + count; !strings.Contains(text, want) {
			t.Errorf("not %s in %s", want, text)
		}
	}
	if !strings.Contains(after, `hatchel_reloads_total{result="failed"} 1`) {
		t.Error("the reload that failed is not counted")
	}
	reload(`listen = "`+first+`"`, `listen = "`+second+`"
    allow = "'metrics' in caller.groups"`, 200)
	for caller, want := range map[string]int{"": 401, "eve": 403, "ops": 403, "ada": 200} {
		expect(second, caller, want)
	}
	reload("telemetry {\n  metrics {\n"+`listen = "`+first+`"`+"\n}\n}\n", "", 200)
	expect(second, "ada", 0)
}

func TestMetricsOfAServerOverStdioHaveAnAddress(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), freeAddress(t)
	config := `
telemetry {
  metrics { listen = "` + address + `" }
}
tool "greet" {
  description = "Greet."
  text        = "Hello"
}
`
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("hatchel", "serve", "--stdio", dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
		`"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{}}}
`)
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), `"id":2`); {
		continue
	}
	_, text := scrape(t, "http://"+address+"/metrics", "")
	if want := `gen_ai_tool_name="greet",mcp_method_name="tools/call",network_transport="pipe"} 1`; !strings.Contains(text, want) {
		t.Errorf("not %s in %s", want, text)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if status, _ := scrape(t, "http://"+address+"/metrics", ""); status != 0 {
		t.Error("the metrics are served without a server")
	}
}

// TestSessionsAreMeasured opens a session and deletes it.
func TestSessionsAreMeasured(t *testing.T) {
	t.Parallel()
	r, _ := startConfig(t, metricsConfig+"telemetry {\n  metrics { allow = \"true\" }\n}\n")
	send := func(method, session, body string) http.Header {
		q, err := http.NewRequest(method, r.url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Authorization": {"Bearer " + apiKeyOf("ada")}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
		if session == "" {
			q.Header.Del("Mcp-Session-Id")
		}
		res, err := http.DefaultClient.Do(q)
		if err != nil || res.StatusCode/100 != 2 {
			t.Fatalf("%s: %v, %v", method, err, res)
		}
		res.Body.Close()
		return res.Header
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`
	send(http.MethodDelete, send(http.MethodPost, "", initialize).Get("Mcp-Session-Id"), "")
	_, text := scrape(t, r.url+"/metrics", "")
	for _, want := range []string{
		`mcp_server_session_duration_seconds_count{network_transport="tcp"} 1`,
		`mcp_server_operation_duration_seconds_count{mcp_method_name="initialize",network_transport="tcp"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("not %s in %s", want, text)
		}
	}
}
