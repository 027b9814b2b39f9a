package examples_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hatchel/internal/sampletest"
	"hatchel/runtime/observe/trace/tracetest"
)

// Raw values of members that masks name. No part of them may leave the server for a caller who may not see them.
const (
	rawText   = "lovelace.raw.value"
	rawNumber = "987654321"
	rawPeople = `[{"name":"Ada","email":"` + rawText + `@example.com","salary":` + rawNumber + `}]`
)

// maskedServer is a configuration with a tool for every backend and every way in which an output leaves it, under one
// kind of mask.
func maskedServer(with, service, collector string, backends map[string]maskedBackend, connections string) string {
	var b strings.Builder
	mask := fmt.Sprintf("members = [\"email\", \"salary\"]\n  with = %q\n  reveal_to = [\"service\"]", with)
	switch with {
	case "hash":
		mask += "\n  key = secret.pseudonyms"
	case "detect":
		mask = "detect = [\"email\"]"
	}
	fmt.Fprintf(&b, `
server { name = "masked" }
auth {
  api_key "agent" {
    secret = secret.agent_key
    groups = ["agents"]
  }
  api_key "support" {
    secret = secret.support_key
    groups = ["support", "admin"]
  }
}
secret "agent_key" { env = "AGENT_KEY" }
secret "support_key" { env = "SUPPORT_KEY" }
secret "pseudonyms" { env = "PSEUDONYMS" }
audit { file = "audit.jsonl" }
events {
  allow   = "true"
  results = "redacted"
}
mask "person" {
  unless = "'support' in caller.groups"
  %s
}
connection "sqlite" "people" {
  file = "people.db"
  init = "CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, email TEXT, salary INTEGER); INSERT OR IGNORE INTO people VALUES ('Ada', '%s@example.com', %s)"
}
connection "http" "service" { base_url = %q }
telemetry {
  metrics { allow = "true" }
  otlp {
    endpoint = %q
    traces   = 1
    burst    = 10000
  }
}
%s`, mask, rawText, rawNumber, service, collector, connections)
	sinks := map[string]string{
		"result":  "result = \"{all: %s, n: 1}\"",
		"text":    "text = \"Found ${%s}\"",
		"content": "content \"text\" { text = \"Found ${%s}\" }",
		"meta":    "result = \"1\"\n  result_meta = { \"example.com/all\" = %s }",
	}
	for name, backend := range backends {
		if !backend.fails {
			fmt.Fprintf(&b, "tool \"%s_default\" {\n  description = \"People.\"\n  %s\n}\n", name,
				strings.ReplaceAll(backend.block, "    ", "  "))
		}
		for sink, text := range sinks {
			fmt.Fprintf(&b, "tool \"%s_%s\" {\n  description = \"People.\"\n  step \"x\" {\n    %s\n  }\n  %s\n}\n", name, sink,
				backend.block, fmt.Sprintf(text, backend.value))
		}
		fmt.Fprintf(&b, `
tool "%[1]s_asides" {
  description = "People."
  step "x" {
    %[2]s
  }
  step "p" {
    progress {
      done    = 1
      message = "${%[3]s}"
    }
  }
  step "l" {
    log { message = "${%[3]s}" }
  }
  step "f" {
    file {
      directory = "."
      write     = "written-%[1]s.txt"
      content   = "${%[3]s}"
    }
  }
  step "e" {
    sql "people" { query = "SELECT 1 AS n" }
    expect {
      that    = "output.row?.n == 2"
      message = "People are ${%[3]s}"
    }
  }
}
`, name, backend.block, backend.value)
		if backend.writes {
			continue
		}
		fmt.Fprintf(&b, `
resource "%[1]s" {
  uri         = "people://%[1]s"
  description = "People."
  mime_type   = "text/plain"
  step "x" {
    %[2]s
  }
  text = "${%[3]s}"
}
prompt "%[1]s" {
  description = "People."
  step "x" {
    %[2]s
  }
  message "user" { text = "${%[3]s}" }
}
`, name, backend.block, backend.value)
	}
	b.WriteString(`
tool "rows_to_csv" {
  description = "People."
  step "x" {
    sql "people" { query = "SELECT name, email AS contact, salary FROM people LIMIT 10" }
  }
  step "f" {
    csv {
      directory = "."
      file      = "written.csv"
      rows      = step.x.rows
    }
  }
  text = "done"
}
tool "as_csv" {
  description = "People."
  format      = "csv"
  sql "people" { query = "SELECT name, email, salary FROM people LIMIT 10" }
}
tool "paged" {
  description = "People."
  page {
    size = 10
    keys = { name = string }
  }
  sql "people" { query = "SELECT name, email, salary FROM people %{if page.after != null} WHERE name > ${page.after.name} %{endif} ORDER BY name LIMIT ${page.limit}" }
}
tool "paged_csv" {
  description = "People."
  format      = "csv"
  page {
    size = 10
    keys = { name = string }
  }
  sql "people" { query = "SELECT name, email, salary FROM people %{if page.after != null} WHERE name > ${page.after.name} %{endif} ORDER BY name LIMIT ${page.limit}" }
}
tool "renamed_pages" {
  description = "People."
  http "service" {
    get = "/pages"
    paginate {
      items = "map(output.body.people, {{name: .name, mail: .email, pay: .salary}})"
      next  = "output.body.next"
    }
  }
}
tool "sends_all" {
  description = "People."
  step "x" {
    http "service" { get = "/people" }
  }
  step "y" {
    http "service" {
      post = "/echo-all"
      json = { all = step.x.body }
    }
  }
  result = "step.y"
}
tool "sends_names" {
  description = "People."
  step "x" {
    http "service" { get = "/people" }
  }
  step "y" {
    http "service" {
      post = "/echo-all"
      json = { all = [for p in step.x.body : p.name], first = step.x.body[0].name }
    }
  }
  result = "step.y"
}
tool "through_another" {
  description = "People."
  step "x" {
    tool "sql_default" {}
  }
  result = "step.x"
}
`)
	if with != "detect" {
		b.WriteString(`
tool "revealed" {
  description = "People."
  step "x" {
    sql "people" { query = "SELECT email, salary FROM people LIMIT 10" }
  }
  step "y" {
    http "service" {
      post = "/echo"
      json = { to = unmasked(step.x.rows[0].email) }
    }
  }
  result = "step.y"
}
`)
	}
	return b.String()
}

// Whatever the mask, the backend, the way out and the caller: no byte of a masked value leaves the server for a caller
// who may not see it, nor is one in its log, its audit log, its state or its files.
func TestMasksHoldOnEveryWayOut(t *testing.T) {
	t.Parallel()
	var got, all []string
	service := httptest.NewServer(maskedService(&got, &all))
	defer service.Close()
	for i, with := range []string{"hide", "partial", "hash", "detect"} {
		t.Run(with, func(t *testing.T) {
			hasRaw := func(text string) bool {
				return strings.Contains(text, rawText) || with != "detect" && strings.Contains(text, rawNumber)
			}
			all = nil
			f := maskedFolder(t)
			collector := tracetest.New(t, nil)
			backends, connections := maskedBackends(t, f, service.URL)
			source := maskedServer(with, service.URL, collector.URL, backends, connections)
			f.write("masks.hcl", source)
			s := f.serve("--log-level", "debug", "--state", f.file("state.db"))
			support := strings.Repeat("b", 32)
			watched := func(path string) string {
				t.Helper()
				res, text := s.knock(http.MethodGet, path, "", "Authorization", "Bearer "+support, "Accept", "application/x-ndjson, text/plain")
				if res.StatusCode != http.StatusOK {
					t.Fatalf("%s: %s %s", path, res.Status, text)
				}
				return text
			}
			watched("/events?follow=false") // from now on events are kept
			calls := 0
			isWatched := func(who string) {
				t.Helper()
				eventually(t, "the spans of calls are sent", func() bool { return len(collector.Spans()) >= calls })
				_, _, spans := collector.Requests()
				events := watched("/events?follow=false")
				if !strings.Contains(events, "tool_result") || strings.Contains(events, `"gap"`) {
					t.Errorf("the events are %.300s", events)
				}
				for place, text := range map[string]string{"a trace": spans, "an event": events, "the metrics": watched("/metrics"),
					"the log": s.log.String(), "the audit log": f.read("audit.jsonl"), "the state": f.state()} {
					for _, line := range strings.Split(text, "\n") {
						if hasRaw(line) {
							t.Errorf("after calls of %s, %s has %.2000q", who, place, line)
						}
					}
				}
			}
			ask := func(key, method, params string) string {
				t.Helper()
				calls++
				body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"progressToken":1,` +
					`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"debug",` +
					`"io.modelcontextprotocol/clientCapabilities":{}},` + params + `}}`
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				_, name, _ := strings.Cut(params, `:"`)
				name, _, _ = strings.Cut(name, `"`)
				for header, value := range map[string]string{
					"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + key,
					"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
				} {
					req.Header.Set(header, value)
				}
				res, err := pooled.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				answer, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(answer)
			}
			agent := strings.Repeat("a", 32)
			cells := maskedCells(t, i, backends)
			asks := map[string][2]string{}
			for _, line := range strings.Split(source, "\n") {
				kind, rest, _ := strings.Cut(line, ` "`)
				name, _, _ := strings.Cut(rest, `"`)
				if chosen, ok := cells[line]; ok && !chosen {
					continue
				}
				switch kind {
				case "tool":
					asks[line] = [2]string{"tools/call", `"name":"` + name + `","arguments":{}`}
				case "resource":
					asks[line] = [2]string{"resources/read", `"uri":"people://` + name + `"`}
				case "prompt":
					asks[line] = [2]string{"prompts/get", `"name":"` + name + `"`}
				}
			}
			if len(asks) < 2*len(backends) {
				t.Fatalf("only %d requests", len(asks))
			}
			shown := 0
			for line, a := range asks {
				answer := ask(agent, a[0], a[1])
				if hasRaw(answer) {
					t.Errorf("%s: the agent reads %s", line, answer)
				}
				if strings.Contains(line, `"sends_all"`) && with != "detect" {
					if !strings.Contains(answer, "step.x.body[0].email is masked for this caller and would be sent") ||
						!strings.Contains(answer, "isError") {
						t.Errorf("%s: %s", line, answer)
					}
					continue
				}
				if !strings.Contains(line, "fails") && !strings.Contains(answer, "Ada") && !strings.Contains(answer, "masked") &&
					!strings.Contains(answer, "done") && !strings.Contains(answer, "accepted") {
					t.Errorf("%s: the agent reads nothing: %s", line, answer)
				}
			}
			if with != "detect" { // which looks at what is sent
				noFileLeaks(t, f)
				isWatched("the agent")
				if want := []string{`{"all":["Ada"],"first":"Ada"}`}; !slices.Equal(all, want) {
					t.Errorf("for the agent, the service was sent %q", all)
				}
			}
			for _, a := range asks {
				if hasRaw(ask(support, a[0], a[1])) {
					shown++
				}
			}
			if shown < len(asks)/2 {
				t.Errorf("support reads raw values in %d answers only", shown)
			}
			if with == "detect" {
				return
			}
			if len(got) == 0 || !strings.Contains(got[0], rawText) {
				t.Errorf("the service was sent %q", got)
			}
			isWatched("support")
			if !strings.Contains(f.read("audit.jsonl"), `"masks":{"person":"lifted"}`) {
				t.Error("the audit log does not say that the mask was lifted")
			}
		})
	}
}

// maskedService answers with the raw values, and keeps what is posted to /echo in got and to /echo-all in all.
func maskedService(got, all *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/people":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, rawPeople)
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, rawPeople)
		case "/pages":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"people":`+rawPeople+`,"next":null}`)
		case "/echo-all":
			*all = append(*all, string(body))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"accepted":%q}`, body)
		case "/echo":
			*got = append(*got, string(body))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"accepted":%q}`, body)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":`+rawPeople+`}`)
		}
	}
}

// maskedFolder has the keys and the data of maskedServer.
func maskedFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, path: t.TempDir()}
	f.env = []string{"AGENT_KEY=" + strings.Repeat("a", 32), "SUPPORT_KEY=" + strings.Repeat("b", 32),
		"PSEUDONYMS=" + strings.Repeat("c", 32)}
	f.write("people.json", rawPeople)
	return f
}

// maskedCells returns the lines of maskedServer at which the tools, resources and prompts of the backends begin, and whether
// this run asks for them. Each of the four masks has another choice of sinks for a backend, so that together they have all.
func maskedCells(t *testing.T, mask int, backends map[string]maskedBackend) map[string]bool {
	sinks := [][]string{{"tool \"%s_default\" {", "tool \"%s_meta\" {"}, {"tool \"%s_result\" {", "resource \"%s\" {"},
		{"tool \"%s_text\" {", "prompt \"%s\" {"}, {"tool \"%s_content\" {", "tool \"%s_asides\" {"}}
	cells := map[string]bool{}
	for n, name := range slices.Sorted(maps.Keys(backends)) {
		for _, all := range sinks {
			for _, sink := range all {
				cells[fmt.Sprintf(sink, name)] = false
			}
		}
		turn := (mask + n) % len(sinks)
		for _, chosen := range sampletest.Of(t, 1, slices.Concat(sinks[turn:], sinks[:turn])) {
			for _, sink := range chosen {
				cells[fmt.Sprintf(sink, name)] = true
			}
		}
	}
	return cells
}

// state returns the bytes of the state store of the folder.
func (f *folder) state() (text string) {
	f.t.Helper()
	paths, err := filepath.Glob(f.file("state.db*"))
	if err != nil || len(paths) == 0 {
		f.t.Fatal("there is no state", err)
	}
	for _, path := range paths {
		text += f.read(filepath.Base(path))
	}
	return text
}

func hasRaw(text string) bool {
	return strings.Contains(text, rawText) || strings.Contains(text, rawNumber)
}

// noFileLeaks looks for raw values in the files of the server, but for the data itself.
func noFileLeaks(t *testing.T, f *folder) {
	t.Helper()
	written := 0
	err := filepath.WalkDir(f.path, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || strings.HasPrefix(name, "people.") || name == "masks.hcl" {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(rawText)) || bytes.Contains(content, []byte(rawNumber)) {
			t.Errorf("%s has a raw value", name)
		}
		if strings.HasPrefix(name, "written") {
			written++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if written < 2 {
		t.Errorf("only %d files were written", written)
	}
}
