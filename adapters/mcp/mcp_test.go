package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/mcp"
	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/hcl/value"
)

var testSet = adapters.Set{
	Adapters: []adapters.Adapter{mcp.Adapter()}, Connectors: []adapters.Connector{mcp.Connector()},
}

const createIssue = `{"name":"create_issue","description":"Opens an issue.","inputSchema":{"type":"object",` +
	`"properties":{"title":{"type":"string","maxLength":20},"labels":{"type":"array","items":{"type":"string"}},` +
	`"big":{"type":"integer"},"key":{"type":"string"}},"required":["title"]},"outputSchema":{"type":"object",` +
	`"properties":{"number":{"type":"integer"}},"required":["number"]}}`

const deleteRepo = `{"name":"delete_repo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,` +
	`"destructiveHint":true}}`

// source returns a configuration of one tool over a connection to a server.
func source(t testing.TB, url, connection, tool, block string) adaptertest.Source {
	return adaptertest.Source{
		Set: testSet, Env: map[string]string{"KEY": "s3cret-k3y"},
		Files: map[string]string{"github.tools.json": definitiontest.Text(t, createIssue, deleteRepo)},
		HCL: fmt.Sprintf(`
secret "key" { env = "KEY" }
connection "mcp" "github" {
  url         = %q
  definitions = "github.tools.json"
%s
}
tool "t" {
  description = "Test."
%s
  mcp "github" {
%s
  }
}
`, url, connection, tool, block),
	}
}

const titled = `  input "title" { type = string("Title", { max_length = 20 }) }`

func TestACallSendsItsArgumentsAndReturnsTheResult(t *testing.T) {
	for name, era := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
		t.Run(name, func(t *testing.T) {
			s := &mcptest.Server{Era: era, Stateful: era == mcptest.Legacy}
			s.SetTools(createIssue, deleteRepo)
			s.Intercept = func(_ http.ResponseWriter, _ *http.Request, method string, request []byte) bool {
				var sent struct{ Params map[string]json.RawMessage }
				err := json.Unmarshal(request, &sent)
				names := slices.Sorted(maps.Keys(sent.Params))
				if method == "tools/call" && (err != nil || !slices.Equal(names, []string{"_meta", "arguments", "name"})) {
					t.Errorf("the parameters are %s, %v", names, err)
				}
				return false
			}
			s.Handle("create_issue", func(*mcptest.Call) (any, error) {
				return map[string]any{
					"content":           []any{map[string]any{"type": "text", "text": "Done\u202e: 9007199254740993"}},
					"structuredContent": map[string]any{"number": json.Number("9007199254740993")},
				}, nil
			})
			b := adaptertest.Bind(t, source(t, s.Start(t), `
  auth { bearer = secret.key }
  headers = { X-Team = "acme" }`, `  input "title" { type = string("Title", { max_length = 20 }) }
  input "big" { type = optional(integer) }
  idempotency { }`, `    call = "create_issue"
    arguments = { title = input.title, labels = ["agent"], big = input.big }
    idempotency_argument = "key"`))
			call, err := b.Call(t.Context(), `{"title": "Fire", "big": 9007199254740993}`)
			if err != nil {
				t.Fatal(err)
			}
			call.Key, call.Hops = "k1", 2
			call.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
			call.Upstreams = new(adapters.UpstreamCalls)
			out, err := b.Action.Do(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			got, err := value.AppendJSON(nil, out)
			if want := `{"content":[{"type":"text","text":"Done: 9007199254740993"}],"structured":{"number":9007199254740993},` +
				`"text":"Done: 9007199254740993","truncated":false}`; err != nil || string(got) != want {
				t.Errorf("got %s, %v", got, err)
			}
			sent := s.Calls()[0]
			if want := `{"big":9007199254740993,"key":"k1","labels":["agent"],"title":"Fire"}`; string(sent.Arguments) != want {
				t.Errorf("sent %s", sent.Arguments)
			}
			if h := sent.Header; h.Get("Authorization") != "Bearer s3cret-k3y" || h.Get("X-Team") != "acme" ||
				h.Get("Traceparent") != call.Traceparent || string(sent.Meta["hatchel/hops"]) != "3" {
				t.Errorf("headers %v, _meta %s", h, sent.Meta)
			}
			calls := call.Upstreams.List()
			if len(calls) != 1 || calls[0].Tool != "create_issue" || calls[0].Protocol == "" ||
				!strings.HasPrefix(calls[0].Definition, "sha256:") || call.Received.Hidden != 1 {
				t.Errorf("recorded %+v, %+v", calls, call.Received)
			}
		})
	}
}

func TestWithoutArgumentsEveryInputIsSentUnderItsName(t *testing.T) {
	s := &mcptest.Server{}
	s.SetTools(createIssue, deleteRepo)
	b := adaptertest.Bind(t, source(t, s.Start(t), "", `
  input "title" { type = string("Title", { max_length = 20 }) }
  input "big" { type = optional(integer) }
  idempotency { }`, `    call = "create_issue"`))
	if _, err := b.Do(t.Context(), `{"title": "a", "idempotency_key": "k"}`); err != nil {
		t.Fatal(err)
	}
	if got := string(s.Calls()[0].Arguments); got != `{"title":"a"}` {
		t.Errorf("sent %s", got)
	}
}

func TestMistakesInABlockAreFoundAtLoad(t *testing.T) {
	const pages = "  asks = [\"elicitation.url\"]\n  ask_hosts = "
	for name, c := range map[string]struct{ connection, tool, block, want string }{
		"unknown tool":     {"", "", `    call = "create_isue"`, `no tool "create_isue". Did you mean "create_issue"?`},
		"unknown argument": {"", "", "    call = \"create_issue\"\n    arguments = { titel = \"a\" }", `has no argument "titel". Did you mean "title"?`},
		"contradiction":    {"", "  read_only = true", `    call = "delete_repo"`, "read_only = true contradicts the pinned definition of delete_repo"},
		"shared header": {"  sessions = \"shared\"\n  headers = { X-Tenant = caller.subject }", "", `    call = "delete_repo"`,
			"A header reads caller, and a session that all callers share cannot tell them apart."},
		"pages without hosts": {`  asks = ["elicitation.url"]`, "", `    call = "delete_repo"`, "Name the hosts"},
		"any host":            {pages + `["*"]`, "", `    call = "delete_repo"`, `"*" is not a host`},
		"a host with a port":  {pages + `["github.example:1"]`, "", `    call = "delete_repo"`, `"github.example:1" is not a host`},
		"a foreign letter":    {pages + `["g\u0130thub.example"]`, "", `    call = "delete_repo"`, `is not a host. Write one in ASCII`},
		"key in the URL":      {"  auth {\n    query = { k = secret.key }\n  }", "", `    call = "delete_repo"`, "authenticated by headers"},
		"resource":            {"", "", `    read = "repo://a"`, "calls a tool of the server: call ="},
	} {
		t.Run(name, func(t *testing.T) {
			got := adaptertest.MustReject(t, source(t, "https://mcp.example/mcp", c.connection, c.tool, c.block))
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s", got)
			}
		})
	}
	edited := source(t, "https://mcp.example/mcp", "", "", `    call = "delete_repo"`)
	edited.Files["github.tools.json"] = strings.Replace(edited.Files["github.tools.json"], "Opens", "Sends", 1)
	if got := adaptertest.MustReject(t, edited); !strings.Contains(got, "create_issue does not match its digest") {
		t.Errorf("an edited file: %s", got)
	}
	for _, name := range []string{"absent.json", "../github.tools.json"} {
		missing := source(t, "https://mcp.example/mcp", "", "", `    call = "delete_repo"`)
		missing.HCL = strings.Replace(missing.HCL, "github.tools.json", name, 1)
		if got := adaptertest.MustReject(t, missing); !strings.Contains(got, "File not readable") || strings.Contains(got, "no tool") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWhatIsCertainOfAFailureIsSaid(t *testing.T) {
	fault := func(t *testing.T, s *mcptest.Server, tool, arguments string) *adapters.Fault {
		t.Helper()
		b := adaptertest.Bind(t, source(t, s.Start(t), "  auth { bearer = secret.key }", titled+"\n"+tool, `    call = "create_issue"`))
		_, err := b.Do(t.Context(), arguments)
		f, ok := errors.AsType[*adapters.Fault](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a secret is in %v", err)
		}
		return f
	}
	answer := func(status int, header ...string) *mcptest.Server {
		s := &mcptest.Server{}
		s.SetTools(createIssue, deleteRepo)
		s.Intercept = func(w http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
			if method != "tools/call" {
				return false
			}
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, r.Header.Get("Authorization"), status)
			return true
		}
		return s
	}
	for name, c := range map[string]struct {
		status  int
		want    string
		change  adapters.Change
		notSent bool
	}{
		"401": {401, "does not accept the credentials", adapters.ChangeAnswered, false},
		"500": {500, "answered with 500 Internal Server Error", adapters.ChangeUnknown, false},
		"503": {503, "answered with 503 Service Unavailable", adapters.ChangeAnswered, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := fault(t, answer(c.status), "", `{"title": "a"}`)
			if !strings.Contains(f.Message, c.want) || f.Change != c.change || f.NotSent != c.notSent {
				t.Errorf("got %+v", f)
			}
		})
	}
	t.Run("an error of the protocol", func(t *testing.T) {
		s := &mcptest.Server{}
		s.SetTools(createIssue, deleteRepo)
		s.Handle("create_issue", func(c *mcptest.Call) (any, error) {
			return nil, &mcptest.Error{Code: -32603, Message: "no\u202e " + c.Header.Get("Authorization")}
		})
		f := fault(t, s, "", `{"title": "a"}`)
		if !strings.HasPrefix(f.Message, "the server of this tool refused the call: no Bearer") {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("a definition that has changed", func(t *testing.T) {
		s := &mcptest.Server{}
		s.SetTools(strings.Replace(createIssue, "Opens", "Sends", 1), deleteRepo)
		f := fault(t, s, "", `{"title": "a"}`)
		if f.Error() != "This tool is withdrawn: the server behind it has changed since its review. Nothing was sent." ||
			len(s.Calls()) != 0 {
			t.Errorf("got %+v after %d calls", f, len(s.Calls()))
		}
	})
	t.Run("a server that is down", func(t *testing.T) {
		b := adaptertest.Bind(t, source(t, "http://127.0.0.1:9/mcp", "", titled, `    call = "create_issue"`))
		_, err := b.Do(t.Context(), `{"title": "a"}`)
		f, ok := errors.AsType[*adapters.Fault](err)
		if !ok || !f.NotSent || !f.Unavailable ||
			f.Error() != "the server of this tool refuses connections; it may be down; nothing was sent" {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnlyWhatIsSafeIsSentOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		tool     string
		status   int
		after    string // the header Retry-After
		attempts int32
	}{
		"503 of a tool that may change something": {"", 503, "1", 1},
		"503 of a tool that is idempotent":        {"  idempotent = true", 503, "1", 2},
		"503 without a pause":                     {"  idempotent = true", 503, "", 1},
		"500 of a tool that is idempotent":        {"  idempotent = true", 500, "", 1},
		"500 of a tool that only reads":           {"  read_only = true", 500, "", 2},
		"400 of a tool that only reads":           {"  read_only = true", 400, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &mcptest.Server{}
			s.SetTools(createIssue, deleteRepo)
			var attempts atomic.Int32
			s.Intercept = func(w http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
				if method != "tools/call" {
					return false
				}
				attempts.Add(1)
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				http.Error(w, "", c.status)
				return true
			}
			b := adaptertest.Bind(t, source(t, s.Start(t), "", titled+"\n"+c.tool, `    call = "create_issue"`))
			if _, err := b.Do(t.Context(), `{"title": "a"}`); err == nil {
				t.Error("it succeeded")
			}
			if got := attempts.Load(); got != c.attempts {
				t.Errorf("it was sent %d times, want %d", got, c.attempts)
			}
		})
	}
}

func TestALostSessionIsOpenedAgain(t *testing.T) {
	s := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
	s.SetTools(createIssue, deleteRepo)
	var lost atomic.Bool
	s.Intercept = func(w http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
		if method == "tools/call" && lost.CompareAndSwap(false, true) {
			http.Error(w, "", http.StatusNotFound)
			return true
		}
		return false
	}
	b := adaptertest.Bind(t, source(t, s.Start(t), "", titled, `    call = "create_issue"`))
	if _, err := b.Do(t.Context(), `{"title": "a"}`); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("it was carried out %d times", n)
	}
}

func TestAPlanShowsTheToolAndItsArguments(t *testing.T) {
	b := adaptertest.Bind(t, source(t, "http://127.0.0.1:9/mcp", "", titled, `    call = "create_issue"`))
	plan, err := b.Plan(t.Context(), `{"title": "Fire"}`)
	if want := "tools/call create_issue at github\n"; err != nil || !strings.HasPrefix(plan, want) || !strings.Contains(plan, `"title":"Fire"`) && !strings.Contains(plan, `"title": "Fire"`) {
		t.Errorf("got %q, %v", plan, err)
	}
}

func TestAFifthHopIsRefused(t *testing.T) {
	s := &mcptest.Server{}
	s.SetTools(createIssue, deleteRepo)
	b := adaptertest.Bind(t, source(t, s.Start(t), "", titled, `    call = "create_issue"`))
	call, err := b.Call(t.Context(), `{"title": "a"}`)
	if err != nil {
		t.Fatal(err)
	}
	call.Hops = adapters.MaxHops
	if _, err := b.Action.Do(t.Context(), call); err == nil || !strings.Contains(err.Error(), "nothing was sent") || len(s.Methods()) != 0 {
		t.Errorf("got %v after %v", err, s.Methods())
	}
}

func TestContract(t *testing.T) {
	s := &mcptest.Server{}
	s.SetTools(createIssue, deleteRepo)
	s.Handle("create_issue", func(c *mcptest.Call) (any, error) {
		switch {
		case strings.Contains(string(c.Arguments), "block"):
			select {
			case <-c.Context.Done():
			case <-time.After(time.Minute):
			}
			return nil, context.Canceled
		case strings.Contains(string(c.Arguments), "fail"):
			return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "no"}}}, nil
		case strings.Contains(string(c.Arguments), "echo"):
			return nil, &mcptest.Error{Code: -32000, Message: c.Header.Get("Authorization")}
		}
		return map[string]any{"content": []any{}, "structuredContent": map[string]any{"number": 1}}, nil
	})
	adaptertest.Run(t, adaptertest.Case{
		Source:       source(t, s.Start(t), "  auth { bearer = secret.key }", titled, `    call = "create_issue"`),
		ValidCall:    `{"title": "ok"}`,
		BlockingCall: `{"title": "block"}`,
		FailingCalls: map[string]string{"error": `{"title": "fail"}`, "echo": `{"title": "echo"}`},
		Secrets:      []string{"s3cret-k3y"},
	})
}
