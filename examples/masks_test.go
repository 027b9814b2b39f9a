package examples_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Raw values of members that masks name. No part of them may leave the server for a caller who may not see them.
const (
	rawText   = "lovelace.raw.value"
	rawNumber = "987654321"
	rawPeople = `[{"name":"Ada","email":"` + rawText + `@example.com","salary":` + rawNumber + `}]`
)

// maskedServer is a configuration with a tool for every backend and every way in which an output leaves it, under one
// kind of mask.
func maskedServer(with, service string) string {
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
`, mask, rawText, rawNumber, service)
	backends := map[string]string{
		"sql":    `sql "people" { query = "SELECT name, email, salary, lower(email) AS sign_in, 'x' || salary AS pay FROM people LIMIT 10" }`,
		"http":   `http "service" { get = "/people" }`,
		"shell":  "shell {\n      script = \"cat people.json\"\n      as     = \"json\"\n      sandbox { read = [\"people.json\"] }\n    }",
		"text":   `http "service" { get = "/text" }`,
		"file":   "file {\n      directory = \".\"\n      read      = \"people.json\"\n    }",
		"failed": `http "service" { get = "/fails" }`,
	}
	rows := map[string]string{"sql": "step.x.rows", "http": "step.x.body", "shell": "step.x.json", "text": "step.x.body",
		"file": "step.x.content", "failed": "step.x.body"}
	sinks := map[string]string{
		"result":  "result = \"{all: %s, n: 1}\"",
		"text":    "text = \"Found ${%s}\"",
		"content": "content \"text\" { text = \"Found ${%s}\" }",
		"meta":    "result = \"1\"\n  result_meta = { \"example.com/all\" = %s }",
	}
	for name, backend := range backends {
		if name != "failed" {
			fmt.Fprintf(&b, "tool \"%s_default\" {\n  description = \"People.\"\n  %s\n}\n", name,
				strings.ReplaceAll(backend, "    ", "  "))
		}
		for sink, text := range sinks {
			fmt.Fprintf(&b, "tool \"%s_%s\" {\n  description = \"People.\"\n  step \"x\" {\n    %s\n  }\n  %s\n}\n", name, sink,
				backend, fmt.Sprintf(text, rows[name]))
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
    shell { script = "true" }
    expect {
      that    = "output.code == 1"
      message = "People are ${%[3]s}"
    }
  }
}
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
`, name, backend, rows[name])
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
	var got, all []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			all = append(all, string(body))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"accepted":%q}`, body)
		case "/echo":
			got = append(got, string(body))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"accepted":%q}`, body)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":`+rawPeople+`}`)
		}
	}))
	defer service.Close()
	for _, with := range []string{"hide", "partial", "hash", "detect"} {
		t.Run(with, func(t *testing.T) {
			hasRaw := func(text string) bool {
				return strings.Contains(text, rawText) || with != "detect" && strings.Contains(text, rawNumber)
			}
			all = nil
			f := example(t, "masks")
			f.env = []string{"AGENT_KEY=" + strings.Repeat("a", 32), "SUPPORT_KEY=" + strings.Repeat("b", 32),
				"PSEUDONYMS=" + strings.Repeat("c", 32)}
			for _, name := range []string{"masks.test.hcl", "schema.sql"} {
				if err := os.Remove(f.file(name)); err != nil {
					t.Fatal(err)
				}
			}
			source := maskedServer(with, service.URL)
			f.write("masks.hcl", source)
			f.write("people.json", rawPeople)
			s := f.serve("--log-level", "debug", "--state", f.file("state.db"))
			ask := func(key, method, params string) string {
				t.Helper()
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
			agent, support := strings.Repeat("a", 32), strings.Repeat("b", 32)
			asks := map[string][2]string{}
			for _, line := range strings.Split(source, "\n") {
				kind, rest, _ := strings.Cut(line, ` "`)
				name, _, _ := strings.Cut(rest, `"`)
				switch kind {
				case "tool":
					asks[line] = [2]string{"tools/call", `"name":"` + name + `","arguments":{}`}
				case "resource":
					asks[line] = [2]string{"resources/read", `"uri":"people://` + name + `"`}
				case "prompt":
					asks[line] = [2]string{"prompts/get", `"name":"` + name + `"`}
				}
			}
			if len(asks) < 40 {
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
				if !strings.Contains(line, "failed") && !strings.Contains(answer, "Ada") && !strings.Contains(answer, "masked") &&
					!strings.Contains(answer, "done") && !strings.Contains(answer, "accepted") {
					t.Errorf("%s: the agent reads nothing: %s", line, answer)
				}
			}
			if with != "detect" { // which looks at what is sent
				noFileLeaks(t, f, s)
				if want := []string{`{"all":["Ada"],"first":"Ada"}`}; !slices.Equal(all, want) {
					t.Errorf("for the agent, the service was sent %q", all)
				}
			}
			for _, a := range asks {
				if hasRaw(ask(support, a[0], a[1])) {
					shown++
				}
			}
			if shown < 30 {
				t.Errorf("support reads raw values in %d answers only", shown)
			}
			if with == "detect" {
				return
			}
			if len(got) == 0 || !strings.Contains(got[0], rawText) {
				t.Errorf("the service was sent %q", got)
			}
			for _, line := range strings.Split(f.read("audit.jsonl")+s.log.String(), "\n") {
				if hasRaw(line) {
					t.Errorf("a record of a call of support: %s", line)
				}
			}
			if !strings.Contains(f.read("audit.jsonl"), `"masks":{"person":"lifted"}`) {
				t.Error("the audit log does not say that the mask was lifted")
			}
		})
	}
}

func hasRaw(text string) bool {
	return strings.Contains(text, rawText) || strings.Contains(text, rawNumber)
}

// noFileLeaks looks for raw values in the log of the server and in its files, but for the data itself.
func noFileLeaks(t *testing.T, f *folder, s *server) {
	t.Helper()
	for _, line := range strings.Split(s.log.String(), "\n") {
		if hasRaw(line) {
			t.Errorf("the log has %s", line)
		}
	}
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
	if written < 5 {
		t.Errorf("only %d files were written", written)
	}
}
