package test_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test"
)

// A tape has stand-ins for what masks mask, also for a caller who may see it, and a replay masks them as a call masks
// values.
func TestATapeHasStandIns(t *testing.T) {
	var asked []string
	crm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"list": [{"email": "ann@example.com", "iban": 17, "note": "write to ann@example.com"},
			{"email": "bob@example.com", "iban": 18, "note": null}, {"email": "ann@example.com", "iban": 17}]}`)
	}))
	defer crm.Close()
	src := fmt.Sprintf(`
connection "http" "crm" { base_url = %[1]q }
connection "http" "mail" { base_url = %[1]q }
mask "contact" {
  members   = ["email"]
  with      = "partial"
  unless    = "'support' in caller.groups"
  reveal_to = ["mail"]
}
mask "account" { members = ["iban"] }
tool "remind" {
  description = "Remind."
  step "people" {
    http "crm" { get = "/people" }
  }
  step "send" {
    http "mail" {
      post = "/messages"
      json = { to = unmasked(step.people.body.list[0].email) }
    }
  }
  result = "step.people.body.list"
}
test "remind" {
  tool = "remind"
  caller { groups = ["GROUP"] }
  MOCKS
  expect { EXPECT }
}`, crm.URL)
	run := func(group, mocks, expect string, files map[string][]byte, live *test.Live) (string, *test.Report) {
		at := t.TempDir()
		dir := fstest.MapFS{"a.hcl": {Data: []byte(strings.NewReplacer("GROUP", group, "MOCKS", mocks, "EXPECT", expect).
			Replace(src))}}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(at, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := &test.Suite{Dir: at, FS: dir, Set: all.Set(), Version: "test", Live: live}
		s.ReadCases()
		return failures(t, s)
	}
	out, report := run("support", "", `contains = [{ email = "ann@example.com" }]`, nil, &test.Live{Writes: true, Record: true})
	if out != "" || len(report.Results[0].Tapes) != 2 {
		t.Fatal(out, len(report.Results[0].Tapes))
	}
	files := map[string][]byte{}
	for _, tape := range report.Results[0].Tapes {
		files[tape.Connection+".tape.json"] = tape.Content
		content := string(tape.Content)
		if strings.Contains(content, "ann@") || strings.Contains(content, "bob@") || strings.Contains(content, ": 17") {
			t.Errorf("%s %s\n%s", tape.Connection, tape.Reason, content)
		}
		if !strings.Contains(content, "{{mask.contact}}-1") {
			t.Errorf("%s has no stand-in: %s\n%s", tape.Connection, tape.Reason, content)
		}
	}
	if crm := string(files["crm.tape.json"]); strings.Count(crm, `"email": "{{mask.contact}}-1"`) != 2 ||
		strings.Count(crm, `"iban": 1,`)+strings.Count(crm, "\"iban\": 1\n") != 2 || !strings.Contains(crm, `"write to {{mask.contact}}-1"`) {
		t.Errorf("the tape is\n%s", crm)
	}
	const mocks = "mock \"http\" \"crm\" { tape = \"crm.tape.json\" }\n  mock \"http\" \"mail\" { tape = \"mail.tape.json\" }"
	before := len(asked)
	if out, _ := run("sales", mocks, `masked = ["email", "iban"]`, files, nil); out != "" {
		t.Error(out)
	}
	if out, _ := run("support", mocks, `contains = [{ email = "{{mask.contact}}-2", iban = null }]`, files, nil); out != "" {
		t.Error(out)
	}
	if len(asked) != before {
		t.Error("a replay has asked the service")
	}
}

// Cells of masked columns have stand-ins also under other names.
func TestTheCellsOfATapeHaveStandIns(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.db"), nil, 0o600); err != nil { // an empty database
		t.Fatal(err)
	}
	s := &test.Suite{Dir: dir, Set: all.Set(), Version: "test", Live: &test.Live{Record: true},
		FS: fstest.MapFS{"a.hcl": {Data: []byte(`
connection "sqlite" "db" { file = "a.db" }
mask "contact" { members = ["email"] }
tool "people" {
  description = "List people."
  sql "db" { query = "SELECT email, lower(email) AS contact, doc FROM (SELECT 'ann@example.com' AS email, '{\"email\": \"x\"}' AS doc) AS t LIMIT 5" }
}
test "people" { tool = "people" }`)}}}
	s.ReadCases()
	out, report := failures(t, s)
	if out != "" || len(report.Results[0].Tapes) != 1 {
		t.Fatal(out, len(report.Results[0].Tapes))
	}
	tape := report.Results[0].Tapes[0]
	_, content, _ := strings.Cut(string(tape.Content), `"response"`)
	if strings.Contains(content, "ann") || strings.Contains(content, `\"x\"`) ||
		strings.Count(content, "{{mask.contact}}-1") != 2 || !strings.Contains(content, `{{mask.contact}}-2`) {
		t.Errorf("%s\n%s", tape.Reason, content)
	}
}
