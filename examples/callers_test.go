package examples_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hatchel/runtime/edge/auth/issuertest"
)

const (
	toolsAudience = "https://tools.example/mcp"
	robotKey      = "the key of the robot 0123456789"
	adminKey      = "the key of the admin 0123456789"
)

// guardedFolder is a folder whose server knows an issuer, a robot and an admin, and sends what its tools say of the caller to a service.
func guardedFolder(t *testing.T, i *issuertest.Issuer, service string) *folder {
	f := &folder{t: t, path: t.TempDir(), env: []string{"ROBOT_KEY=" + robotKey}}
	f.write("auth.hcl", authBlock(i, "robot"))
	f.write("tools.hcl", `
		audit { file = "audit.jsonl" }
		connection "http" "shop" {
		  base_url = "`+service+`"
		  headers  = {
		    X-User   = caller.subject
		    X-Tenant = caller.claims.tenant
		    X-Plan   = try(caller.claims.plan, null)
		  }
		}
		tool "who" {
		  description = "Who calls."
		  result      = "{subject: caller.subject, groups: caller.groups, scopes: caller.scopes, tenant: caller.headers['x-tenant'] ?? null}"
		}
		tool "run" {
		  description = "Leaves a trace."
		  http "shop" { post = "/run" }
		}
		tool "write" {
		  description = "Takes scopes."
		  scopes      = ["orders:write", "orders:read"]
		  text        = "written"
		}
		tool "through" {
		  description = "Takes the scopes of what it calls."
		  step "write" {
		    tool "write" {}
		  }
		  text = "through"
		}
		toolset "part" { tools = ["run"] }`)
	return f
}

func authBlock(i *issuertest.Issuer, names ...string) string {
	keys := ""
	for _, name := range names {
		keys += fmt.Sprintf("api_key %q { secret = secret.%s }\n", name, name)
	}
	return `
		secret "robot" { env = "ROBOT_KEY" }
		auth {
		  ` + keys + `
		  api_key "admin" {
		    sha256 = "` + fmt.Sprintf("%x", sha256.Sum256([]byte(adminKey))) + `"
		    groups = ["admin"]
		  }
		  jwt {
		    issuer          = "` + i.URL + `"
		    audience        = "` + toolsAudience + `"
		    required_scopes = ["tools"]
		  }
		  headers = ["X-Tenant"]
		}`
}

// traces are requests that a service has seen.
type traces struct {
	mu   sync.Mutex
	seen []http.Header // guarded by mu
}

func (x *traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen = append(x.seen, r.Header.Clone())
	io.WriteString(w, `{"ok":true}`)
}

func (x *traces) all() []http.Header {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen
}

// knock sends a request to a path of the server, with headers and their values, and returns what came of it.
func (s *server) knock(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, strings.TrimSuffix(s.url, "/mcp")+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	res, err := pooled.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(answer)
}

// invoke calls a tool with headers.
func (s *server) invoke(tool string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"` + tool + `","arguments":{}}}`
	return s.knock(http.MethodPost, "/mcp", body, append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}, headers...)...)
}

func TestNoBadCredentialComesThroughAnyDoor(t *testing.T) {
	t.Parallel()
	i, service := issuertest.Open(t), new(traces)
	web := httptest.NewServer(service)
	defer web.Close()
	f := guardedFolder(t, i, web.URL)
	s := f.serve("--watch=false")

	bad := map[string][]string{
		"none":         nil,
		"other key":    {"X-API-Key", "the key of somebody 0123456789"},
		"other bearer": {"Authorization", "Bearer the key of somebody 0123456789"},
		"basic":        {"Authorization", "Basic cm9ib3Q6cm9ib3Q="},
		"both":         {"X-API-Key", robotKey, "Authorization", "Bearer " + robotKey},
		"no scope":     {"Authorization", "Bearer " + i.Token(toolsAudience, nil)},
	}
	for what, token := range issuertest.Bad(t, i, toolsAudience) {
		bad["a token "+what] = []string{"Authorization", "Bearer " + token}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"run","arguments":{}}}`
	modern := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "run"}
	doors := []struct {
		method, path, body string
		headers            []string
	}{
		{"POST", "/mcp", call, modern},
		{"POST", "/mcp/part", call, modern},
		{"POST", "/mcp/nothing", call, modern},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, nil},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Session-Id", "guess"}},
		{"GET", "/mcp", "", []string{"Mcp-Session-Id", "guess"}},
		{"DELETE", "/mcp", "", []string{"Mcp-Session-Id", "guess"}},
		{"POST", "/admin/reload", "", nil},
		{"GET", "/readyz", "", nil},
		{"GET", "/elsewhere", "", nil},
	}
	refused := 0
	for what, credential := range bad {
		for _, d := range doors {
			res, answer := s.knock(d.method, d.path, d.body, append(append([]string{}, d.headers...), credential...)...)
			if d.path == "/readyz" && credential == nil {
				if res.StatusCode != 200 || answer != "" {
					t.Errorf("%s, %s %s: %d, %s", what, d.method, d.path, res.StatusCode, answer)
				}
				continue
			}
			want := map[string]int{"both": 400, "no scope": 403}[what]
			if want == 0 {
				want = 401
			}
			refused++
			challenge := res.Header.Get("WWW-Authenticate")
			if res.StatusCode != want || !strings.Contains(challenge, `scope="tools", resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"`) {
				t.Errorf("%s, %s %s: %d, %q, %s", what, d.method, d.path, res.StatusCode, challenge, answer)
			}
		}
	}
	if seen := service.all(); len(seen) > 0 {
		t.Errorf("the service was asked %d times", len(seen))
	}
	if res, answer := s.knock("GET", "/healthz", ""); res.StatusCode != 200 || answer != "ok\n" {
		t.Errorf("/healthz: %d", res.StatusCode)
	}
	if n := strings.Count(f.read("audit.jsonl"), `"event":"request"`); n != refused {
		t.Errorf("of %d refused requests %d were written down", refused, n)
	}
	for _, secret := range []string{robotKey, "somebody 0123456789", "eyJ"} {
		if strings.Contains(f.read("audit.jsonl")+s.log.String(), secret) {
			t.Errorf("%q was written down", secret)
		}
	}
}

func TestCallersAreWhoTheySay(t *testing.T) {
	t.Parallel()
	i, service := issuertest.Open(t), new(traces)
	web := httptest.NewServer(service)
	defer web.Close()
	s := guardedFolder(t, i, web.URL).serve("--watch=false")
	token := "Bearer " + i.Token(toolsAudience, map[string]any{"scope": "tools", "groups": []string{"finance"}, "tenant": "t7"})
	for _, x := range []struct {
		headers []string
		want    string
	}{
		{[]string{"Authorization", "Bearer " + robotKey, "X-Tenant", "t1"}, `{"groups":[],"scopes":[],"subject":"robot","tenant":"t1"}`},
		{[]string{"X-API-Key", adminKey}, `{"groups":["admin"],"scopes":[],"subject":"admin","tenant":null}`},
		{[]string{"Authorization", token}, `{"groups":["finance"],"scopes":["tools"],"subject":"ada","tenant":null}`},
	} {
		res, answer := s.invoke("who", x.headers...)
		var said struct {
			Result struct {
				StructuredContent map[string]any `json:"structuredContent"`
			}
		}
		err := json.Unmarshal([]byte(answer), &said)
		if got, _ := json.Marshal(said.Result.StructuredContent); err != nil || res.StatusCode != 200 || string(got) != x.want {
			t.Errorf("%v: %d, %s", x.headers, res.StatusCode, answer)
		}
	}

	// What a connection needs of the caller is there, or the call is refused. The token stays here.
	if _, answer := s.invoke("run", "X-API-Key", robotKey); !strings.Contains(answer, `"isError":true`) || len(service.all()) != 0 {
		t.Errorf("a caller without the claim: %s", answer)
	}
	if _, answer := s.invoke("run", "Authorization", token); !strings.Contains(answer, `{\"ok\":true}`) {
		t.Fatalf("a caller with the claim: %s", answer)
	}
	sent := service.all()[0]
	if sent.Get("X-User") != "ada" || sent.Get("X-Tenant") != "t7" || sent["X-Plan"] != nil || sent["Authorization"] != nil || strings.Contains(fmt.Sprint(sent), "eyJ") {
		t.Errorf("the service was sent %v", sent)
	}

	// The schema says nothing of the caller.
	_, list := s.knock("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list", "X-API-Key", robotKey)
	if !strings.Contains(list, `"who"`) || strings.Contains(list, "caller") || strings.Contains(list, "tenant") {
		t.Errorf("the list is %s", list)
	}
}

func TestScopesThatAreMissingAreAskedForAtOnce(t *testing.T) {
	t.Parallel()
	i := issuertest.Open(t)
	s := guardedFolder(t, i, i.URL).serve("--watch=false")
	few := "Bearer " + i.Token(toolsAudience, map[string]any{"scope": "tools orders:read"})
	for _, tool := range []string{"write", "through"} {
		res, answer := s.invoke(tool, "Authorization", few)
		challenge := res.Header.Get("WWW-Authenticate")
		if res.StatusCode != 403 || challenge != `Bearer error="insufficient_scope", scope="tools orders:write orders:read", resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"` {
			t.Errorf("%s: %d, %q, %s", tool, res.StatusCode, challenge, answer)
		}
		scope := strings.Split(challenge, `"`)[3] // what a client requests next
		if res, answer := s.invoke(tool, "Authorization", "Bearer "+i.Token(toolsAudience, map[string]any{"scope": scope})); res.StatusCode != 200 || strings.Contains(answer, "isError") {
			t.Errorf("%s, with the scopes: %d, %s", tool, res.StatusCode, answer)
		}
	}
	for _, path := range []string{"", "/mcp", "/mcp/part"} {
		if res, answer := s.knock("GET", "/.well-known/oauth-protected-resource"+path, ""); res.StatusCode != 200 || answer != `{"resource":"`+toolsAudience+`","authorization_servers":["`+i.URL+`"],"scopes_supported":["tools"],"bearer_methods_supported":["header"]}` {
			t.Errorf("%s: %d, %s", path, res.StatusCode, answer)
		}
	}
}

func TestAKeyThatIsRemovedIsGoodForNothing(t *testing.T) {
	t.Parallel()
	i := issuertest.Open(t)
	f := guardedFolder(t, i, i.URL)
	s := f.serve("--watch=false")
	robot := []string{"X-API-Key", robotKey}
	res, _ := s.knock("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, robot...)
	session := []string{"Mcp-Session-Id", res.Header.Get("Mcp-Session-Id")}
	if res, _ := s.knock("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, append(session, robot...)...); res.StatusCode != 200 {
		t.Fatalf("the session: %d", res.StatusCode)
	}
	if res, _ := s.knock("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, append(session, "X-API-Key", adminKey)...); res.StatusCode != 404 {
		t.Errorf("the session of another: %d", res.StatusCode)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)))
	if err != nil {
		t.Fatal(err)
	}
	for n, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "X-API-Key": robotKey} {
		req.Header.Set(n, v)
	}
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "acknowledged") {
		t.Fatalf("%q, %v", line, err)
	}

	f.write("auth.hcl", authBlock(i)+"\nlocals { unused = secret.robot }")
	if res, _ := s.knock("POST", "/admin/reload", "", robot...); res.StatusCode != 403 {
		t.Errorf("a reload by who may not: %d", res.StatusCode)
	}
	for _, page := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		if res, _ := s.knock("POST", "/admin/reload", "", append([]string{"X-API-Key", adminKey}, page...)...); res.StatusCode != 403 {
			t.Errorf("a reload by a page, %v: %d", page, res.StatusCode)
		}
	}
	if res, answer := s.knock("POST", "/admin/reload", "", "X-API-Key", adminKey); res.StatusCode != 200 {
		t.Fatalf("a reload: %d, %s", res.StatusCode, answer)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Logf("the stream broke: %v", err) // it has ended, which is what matters
	}
	if res, _ := s.invoke("who", robot...); res.StatusCode != 401 {
		t.Errorf("the key: %d", res.StatusCode)
	}
	if res, _ := s.knock("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, append(session, robot...)...); res.StatusCode != 401 {
		t.Errorf("the session: %d", res.StatusCode)
	}
	if res, _ := s.knock("GET", "/readyz", "", "X-API-Key", adminKey); res.StatusCode != 200 {
		t.Errorf("the admin: %d", res.StatusCode)
	}
}
