package test_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test"
	"hatchel/hcl/mock"
	"hatchel/hcl/value"
)

// environment is that of a configuration with a real server.
func environment() map[string]string {
	return map[string]string{"TOKEN": "hush-hush-1", "HATCHEL_TEST_POSTGRES": os.Getenv("HATCHEL_TEST_POSTGRES"),
		"HATCHEL_TEST_MYSQL": os.Getenv("HATCHEL_TEST_MYSQL")}
}

// callReal makes one call of the tool of a configuration, with live mocks or with mocks that have tapes.
func callReal(t *testing.T, dir, config string, s test.Setup) (outcome, []*test.Tape) {
	t.Helper()
	s.Dir, s.Kinds = dir, kinds
	if s.Secrets == nil {
		s.Secrets = hush
	}
	m := test.NewMocks(s)
	defer m.Close()
	b := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: dir, Mocks: m, HCL: config,
		Env: environment()})
	output, err := b.Do(t.Context(), `{}`)
	return outcome{output, err, m.Sent(), m.Problems()}, m.Tapes()
}

// echo is a service that answers with what it is asked, and counts the requests.
func echo(t *testing.T) (address string, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.HasPrefix(r.URL.Path, "/text"):
			fmt.Fprint(w, "one\ntwo\nthree\n")
		case strings.HasPrefix(r.URL.Path, "/bytes"):
			w.Write([]byte{0xff, 0, 1})
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Set-Cookie", "session=0123456789")
			fmt.Fprintf(w, `{"url": %q, "key": %q, "body": %q, "big": 12345678901234567890, "sum": 1.50}`, r.URL,
				r.Header.Get("Authorization"), body)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// tools are tools of each backend. %s is the address of the service.
var tools = map[string]string{
	"http":  "get = \"/orders/7\"\nquery = { expand = [\"a\", \"b\"] }",
	"text":  "get = \"/text\"\nas = \"text\"",
	"bytes": "get = \"/bytes\"\nas = \"bytes\"",
	"post":  "post = \"/orders\"\njson = { sku = \"a\", count = 2 }",
	"sql":   "SELECT id, name, total FROM paid ORDER BY id DESC",
	"exec":  "INSERT INTO paid VALUES (3, 'Ann', 1.5) RETURNING id",
	"shell": `pipe = [["printf", "b\na\n"], ["sort"]]`,
}

func newTool(kind, address string) string {
	const ledger = "connection \"sqlite\" \"ledger\" { file = \"ledger.db\" }\n"
	head, block := "tool \"t\" {\n  description = \"Tests.\"\n", tools[kind]
	switch kind {
	case "sql":
		return ledger + head + "sql \"ledger\" { query = \"" + block + "\" }\n}"
	case "exec":
		return ledger + head + "sql \"ledger\" { exec = \"" + block + "\" }\n}"
	case "shell":
		return head + "shell {\n" + block + "\nparse = \"lines\"\n}\n}"
	}
	more := ""
	if kind == "bytes" {
		more = "text = \"x\"\n"
	}
	return fmt.Sprintf("secret \"token\" { env = \"TOKEN\" }\nconnection \"http\" \"shop\" {\nbase_url = %q\n"+
		"auth { bearer = secret.token }\n}\n%shttp \"shop\" {\n%s\n}\n%s}", address, head, block, more)
}

func newLedger(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "ledger.db")
	s := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: dir, HCL: `
connection "sqlite" "ledger" {
  file = "ledger.db"
  init = "CREATE TABLE paid (id INTEGER, name TEXT, total REAL)"
}
tool "t" {
  description = "Tests."
  sql "ledger" { exec = "INSERT INTO paid VALUES (1, 'Ada', 10.5), (2, NULL, 3)" }
}`})
	if _, err := s.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
}

func TestATapeAnswersAsTheBackendDid(t *testing.T) {
	address, asked := echo(t)
	for kind := range tools {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			newLedger(t, dir)
			config := newTool(kind, address)
			live, tapes := callReal(t, dir, config, test.Setup{Live: &test.Live{Writes: true, Record: true}})
			live.mustSucceed(t)
			if len(tapes) != 1 || tapes[0].Content == nil {
				t.Fatalf("tapes %+v", tapes)
			}
			if tape := string(tapes[0].Content); strings.Contains(tape, "hush") || strings.Contains(tape, "0123456789\"") {
				t.Errorf("tape\n%s", tape)
			}
			if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), tapes[0].Content, 0o600); err != nil {
				t.Fatal(err)
			}
			before := asked.Load()
			taped, _ := callReal(t, dir, config, test.Setup{Mocks: []*mock.Mock{
				{Kind: tapes[0].Kind, Connection: tapes[0].Connection, Tape: "a.tape.json", Times: 1}}})
			taped.mustSucceed(t)
			got, want := taped.output, live.output
			for _, output := range []map[string]any{got, want} {
				headers, _ := output["headers"].(map[string]any)
				for _, transient := range []string{"date", "content-length", "set-cookie"} {
					delete(headers, transient)
				}
			}
			if kind == "bytes" {
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %v\nwant %v", got, want)
				}
			} else if !value.Equal(decode(t, text(t, got)), decode(t, strings.ReplaceAll(text(t, want), "hush-hush-1", "{{secret.token}}"))) ||
				asked.Load() != before {
				t.Errorf("%d requests, got\n%s\nwant\n%s", asked.Load()-before, text(t, got), text(t, want))
			}
			changed := strings.NewReplacer(`"a"`, `"z"`, "/text", "/text2", "/bytes", "/bytes2", "DESC", "ASC", "Ann", "Bob",
				`b\na`, `c\na`).Replace(config)
			other, _ := callReal(t, dir, changed, test.Setup{Mocks: []*mock.Mock{
				{Kind: tapes[0].Kind, Connection: tapes[0].Connection, Tape: "a.tape.json", Times: 1}}})
			if len(other.problems) == 0 || other.problems[0].Summary != "Request without a mock" {
				t.Errorf("another request: error %v, problems %+v", other.err, other.problems)
			}
		})
	}
}

func decode(t *testing.T, encoded string) any {
	t.Helper()
	v, err := value.Decode([]byte(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLiveAsksOnlyWhatReads(t *testing.T) {
	address, asked := echo(t)
	for _, kind := range []string{"post", "exec", "shell"} {
		dir := t.TempDir()
		newLedger(t, dir)
		o, _ := callReal(t, dir, newTool(kind, address), test.Setup{Live: &test.Live{}})
		if len(o.problems) != 1 || o.problems[0].Summary != "Not sent" || o.err == nil {
			t.Errorf("%s: error %v, problems %+v", kind, o.err, o.problems)
		}
	}
	if asked.Load() != 0 {
		t.Error("a request was sent")
	}
}

func TestALiveTransactionIsRolledBack(t *testing.T) {
	dir := t.TempDir()
	newLedger(t, dir)
	o, _ := callReal(t, dir, newTool("exec", ""), test.Setup{Live: &test.Live{Writes: true}})
	if got := text(t, o.mustSucceed(t).output["rows"]); got != `[{"id":3}]` {
		t.Errorf("rows %s", got)
	}
	o, _ = callReal(t, dir, newTool("sql", ""), test.Setup{Live: &test.Live{}})
	if got := text(t, o.mustSucceed(t).output["rows"]); strings.Contains(got, "Ann") || !strings.Contains(got, "Ada") {
		t.Errorf("rows %s", got)
	}
}

func TestALiveTestMakesNoDatabase(t *testing.T) {
	dir := t.TempDir()
	o, _ := callReal(t, dir, strings.Replace(newTool("exec", ""), "file = \"ledger.db\"",
		"\nfile = \"ledger.db\"\ninit = \"CREATE TABLE paid (id, name, total)\"\n", 1),
		test.Setup{Live: &test.Live{Writes: true}})
	if _, err := os.Stat(filepath.Join(dir, "ledger.db")); err == nil || o.err == nil {
		t.Errorf("the file was made, error %v", o.err)
	}
}

func TestAMockAnswersInPlaceOfTheBackend(t *testing.T) {
	address, asked := echo(t)
	o, tapes := callReal(t, t.TempDir(), newTool("http", address), test.Setup{Mocks: parse(t, `
mock "http" "shop" {
  get = "/orders/7"
  reply { json = 1 }
}`), Live: &test.Live{Record: true}})
	if o.mustSucceed(t); asked.Load() != 0 || len(tapes) != 0 {
		t.Errorf("%d requests, tapes %+v", asked.Load(), tapes)
	}
}

func TestAnExchangeThatIsNotAskedIsAProblem(t *testing.T) {
	dir := t.TempDir()
	tape := `{"tape": 1, "exchanges": [
		{"kind": "shell", "request": {"command": ["printf", "x"]}, "response": {"stdout": "x"}},
		{"kind": "shell", "request": {"command": ["date"]}, "response": {}}]}`
	if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), []byte(tape), 0o600); err != nil {
		t.Fatal(err)
	}
	o, _ := callReal(t, dir, "tool \"t\" {\ndescription = \"Tests.\"\nshell { command = [\"printf\", \"x\"] }\n}",
		test.Setup{Mocks: []*mock.Mock{{Kind: "shell", Tape: "a.tape.json", Times: 1}}})
	if len(o.problems) != 1 || !strings.Contains(o.problems[0].Detail, "one exchange was not asked: date") {
		t.Errorf("error %v, problems %+v", o.err, o.problems)
	}
}

// invalidTapes are contents of tapes that cannot be used, with a part of the reason.
var invalidTapes = map[string]string{
	``:                                 "invalid JSON at byte 0",
	`[]`:                               "must be an object",
	`{"tape": 2}`:                      "exchanges",
	`{"tape": 1}`:                      "exchanges",
	`{"tape": "1"}`:                    "must be an integer",
	`{"tape": 2,"exchanges":[]}`:       "tape is 2, and this program reads 1",
	`{"tape": 1, "exchanges": [null]}`: "exchanges[0]",
	`{"tape": 1, "exchanges": [{"kind": "ftp", "request": {}, "response": {}}]}`:                                    `exchanges[0].kind is "ftp"`,
	`{"tape": 1, "exchanges": [{"kind": "http", "request": [], "response": {}}]}`:                                   "exchanges[0].request",
	`{"tape": 1, "exchanges": [{"kind": "http", "request": {}, "response": {}}]}`:                                   "exchanges[0].response has a status, or fail",
	`{"tape": 1, "exchanges": [{"kind": "http", "request": {}, "response": {"status": 7}}]}`:                        "from 200 to 599",
	`{"tape": 1, "exchanges": [{"kind": "shell", "request": {}, "response": {"exit": "x"}}]}`:                       "response.exit",
	`{"tape": 1, "exchanges": [{"kind": "shell", "request": {}, "response": {"stdout": [1,2]}}]}`:                   "",
	`{"tape": 1, "exchanges": [{"kind": "sql", "request": {}, "response": {"columns": ["a"], "cells": [[1, 2]]}}]}`: "2 cells",
	`{"tape": 1, "tape": 1}`:                     "twice",
	strings.Repeat("[", 100000):                  "",
	`{"tape": 1, "exchanges": [` + "\xff" + `]}`: "",
}

func TestATapeThatIsNotValidIsAPlacedProblem(t *testing.T) {
	for content, reason := range invalidTapes {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		taped := &mock.Mock{Kind: "shell", Tape: "a.tape.json", Times: 1}
		taped.Range.Start.Line = 7
		problems := test.NewMocks(test.Setup{Kinds: kinds, Dir: dir, Mocks: []*mock.Mock{taped}}).Problems()
		if len(problems) == 0 && reason == "" {
			continue
		}
		if len(problems) != 1 || !problems[0].Broken || problems[0].Range.Start.Line != 7 ||
			!strings.Contains(problems[0].Detail, reason) {
			t.Errorf("%.80s: %+v", content, problems)
		}
	}
}

func TestATapeIsARegularFileOfTheDirectory(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "x.tape.json")
	if err := os.WriteFile(outside, []byte(`{"tape": 1, "exchanges": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(dir, "link.tape.json")),
		os.Mkdir(filepath.Join(dir, "folder.tape.json"), 0o700),
		os.WriteFile(filepath.Join(dir, "large.tape.json"), make([]byte, 5<<20), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link.tape.json", "folder.tape.json", "large.tape.json", "none.tape.json", "../x.tape.json"} {
		m := test.NewMocks(test.Setup{Kinds: kinds, Dir: dir, Mocks: []*mock.Mock{{Kind: "http", Tape: name, Times: 1}}})
		if problems := m.Problems(); len(problems) != 1 || !problems[0].Broken {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

// wrappings are encodings of texts, besides those of the test of messages.
var wrappings = map[string]func(string) string{
	"lower escapes": func(s string) string {
		return strings.ToLower(url.PathEscape("\x01")) + lowerEscapes(url.QueryEscape(s))
	},
	"twice escaped": func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"upper hex":     func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"base64 twice": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte("x" + s))))
	},
	"a JSON text in JSON": func(s string) string { return strings.ReplaceAll(encodings["JSON"](s), `\`, `\\`) },
	"base64 in lines": func(s string) string {
		code := base64.StdEncoding.EncodeToString([]byte("me:" + s))
		return code[:10] + "\r\n" + code[10:]
	},
}

func allEncodings() map[string]func(string) string {
	all := maps.Clone(encodings)
	maps.Copy(all, wrappings)
	return all
}

func lowerEscapes(text string) string {
	for i := range len(text) - 2 {
		if text[i] == '%' {
			text = text[:i] + strings.ToLower(text[i:i+3]) + text[i+3:]
		}
	}
	return text
}

// recordEverywhere records questions of each kind that have a text in each place.
func recordEverywhere(t *testing.T, m *test.Mocks, text string) {
	for kind, replies := range map[string][]map[string]any{
		"http": {
			{"status": 200, "json": map[string]any{"a": []any{text}, text: 1}}, {"status": 200, "text": "x " + text},
			{"status": 200, "headers": map[string]any{"x-text": text}},
		},
		"sql":   {{"columns": []any{"a"}, "cells": []any{[]any{text}, []any{map[string]any{"x": text}}}}},
		"shell": {{"stdout": "x\n" + text + "\ny\n", "stderr": text}},
	} {
		for _, q := range newQuestions(kind, text) {
			if _, err := m.Ask(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			for _, reply := range replies {
				m.Record(q, reply)
			}
		}
	}
}

func TestNoSecretIsInATape(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	all, written := allEncodings(), 0
	forms := slices.Sorted(maps.Keys(all))
	for i := range 200 {
		secret, form := newSecret(r), forms[i%len(forms)]
		m := test.NewMocks(test.Setup{Kinds: kinds, Dir: "/", Secrets: []test.Secret{{Name: "secret.key", Text: secret}},
			Live: &test.Live{Writes: true, Record: true}})
		recordEverywhere(t, m, all[form](secret))
		tapes := m.Tapes()
		if len(tapes) != 3 {
			t.Fatalf("%d tapes", len(tapes))
		}
		for _, tape := range tapes {
			if tape.Content == nil && tape.Reason == "" || strings.Contains(tape.Reason, secret) {
				t.Fatalf("%q as %s: reason %q", secret, form, tape.Reason)
			}
			if tape.Content != nil {
				written++
			}
			for other, encode := range all {
				if strings.Contains(string(tape.Content), encode(secret)) {
					t.Fatalf("%q, sent as %s, is in the tape as %s:\n%s", secret, form, other, tape.Content)
				}
			}
		}
	}
	if written < 200 {
		t.Errorf("%d tapes were written", written)
	}
	t.Logf("%d tapes written", written)
}

// TestALiveTransactionOfAServerIsRolledBack records a query and an insertion, and finds the insertion undone.
func TestALiveTransactionOfAServerIsRolledBack(t *testing.T) {
	for kind, url := range map[string]string{
		"postgres": os.Getenv("HATCHEL_TEST_POSTGRES"), "mysql": os.Getenv("HATCHEL_TEST_MYSQL"),
	} {
		t.Run(kind, func(t *testing.T) {
			if url == "" {
				t.Skip("there is no server")
			}
			table := fmt.Sprintf("tape_%s_%d", kind, rand.Uint32())
			tool := func(block string) string {
				return fmt.Sprintf("secret \"db\" { env = \"HATCHEL_TEST_%s\" }\nconnection %q \"db\" { url = secret.db }\n"+
					"tool \"t\" {\ndescription = \"Tests.\"\nsql \"db\" {\n%s\n}\n}",
					strings.ToUpper(kind), kind, strings.ReplaceAll(block, "TABLE_NAME", table))
			}
			run := func(block string) {
				b := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: t.TempDir(), HCL: tool(block), Env: environment()})
				if _, err := b.Do(t.Context(), `{}`); err != nil {
					t.Fatal(err)
				}
			}
			run(`exec = "CREATE TABLE TABLE_NAME (id INTEGER, name TEXT, at DATE, price DECIMAL(10, 2))"`)
			defer run(`exec = "DROP TABLE TABLE_NAME"`)
			live := test.Setup{Live: &test.Live{Writes: true, Record: true}}
			dir := t.TempDir()
			insert := tool(`exec = [
"INSERT INTO TABLE_NAME VALUES (${1}, ${"Eva"}, '2026-01-30', 1.5), (2, NULL, NULL, NULL)",
"UPDATE TABLE_NAME SET name = ${"Ada"} WHERE id = 1",
]`)
			o, tapes := callReal(t, dir, insert, live)
			if o.mustSucceed(t); len(tapes) != 1 || tapes[0].Exchanges != 2 {
				t.Fatalf("tapes %+v", tapes)
			}
			if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), tapes[0].Content, 0o600); err != nil {
				t.Fatal(err)
			}
			taped, _ := callReal(t, dir, insert, test.Setup{Mocks: []*mock.Mock{
				{Kind: "sql", Connection: "db", Tape: "a.tape.json", Times: 1}}})
			if got, want := text(t, taped.mustSucceed(t).output), text(t, o.output); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			o, _ = callReal(t, dir, tool(`query = "SELECT * FROM TABLE_NAME"`), test.Setup{Live: &test.Live{}})
			if got := text(t, o.mustSucceed(t).output["rows"]); got != "[]" {
				t.Errorf("left are %s", got)
			}
		})
	}
}

// TestALiveStatementRunsAsItsIdentity records a statement that reads its session, and compares that on the tape.
func TestALiveStatementRunsAsItsIdentity(t *testing.T) {
	for kind, of := range map[string]struct{ url, name, read string }{
		"postgres": {os.Getenv("HATCHEL_TEST_POSTGRES"), `"app.tenant"`, "current_setting('app.tenant')"},
		"mysql":    {os.Getenv("HATCHEL_TEST_MYSQL"), "tenant", "@tenant"},
	} {
		t.Run(kind, func(t *testing.T) {
			if of.url == "" {
				t.Skip("there is no server")
			}
			config := func(tenant string) string {
				return fmt.Sprintf("secret \"db\" { env = \"HATCHEL_TEST_%s\" }\nconnection %q \"db\" {\n"+
					"  instances = { eu = secret.db }\n  instance = \"eu\"\n  session = { %s = %q }\n}\n"+
					"tool \"t\" {\ndescription = \"Tests.\"\nsql \"db\" { query = \"SELECT %s AS tenant\" }\n}",
					strings.ToUpper(kind), kind, of.name, tenant, of.read)
			}
			dir := t.TempDir()
			o, tapes := callReal(t, dir, config("acme"), test.Setup{Live: &test.Live{Record: true}})
			if got := text(t, o.mustSucceed(t).output["rows"]); got != `[{"tenant":"acme"}]` || len(tapes) != 1 {
				t.Fatalf("read %s, tapes %+v", got, tapes)
			}
			if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), tapes[0].Content, 0o600); err != nil {
				t.Fatal(err)
			}
			played := test.Setup{Mocks: []*mock.Mock{{Kind: "sql", Connection: "db", Tape: "a.tape.json", Times: 1}}}
			o, _ = callReal(t, dir, config("acme"), played)
			o.mustSucceed(t)
			if o, _ = callReal(t, dir, config("evil"), played); o.err == nil || !strings.Contains(fmt.Sprint(o.problems), "session is") {
				t.Errorf("the tape of one tenant answers another: %v %+v", o.err, o.problems)
			}
		})
	}
}

// record records a call, and repeats it with the tape. Both must have the same output and error.
func record(t *testing.T, dir, config string) {
	t.Helper()
	live, tapes := callReal(t, dir, config, test.Setup{Live: &test.Live{Writes: true, Record: true}})
	if len(tapes) != 1 || tapes[0].Content == nil {
		t.Fatalf("error %v, problems %+v, tapes %+v", live.err, live.problems, tapes)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), tapes[0].Content, 0o600); err != nil {
		t.Fatal(err)
	}
	taped, _ := callReal(t, dir, config, test.Setup{Mocks: []*mock.Mock{
		{Kind: tapes[0].Kind, Connection: tapes[0].Connection, Tape: "a.tape.json", Times: 1}}})
	if live.err == nil || fmt.Sprint(taped.err) != fmt.Sprint(live.err) || len(taped.problems) > 0 {
		t.Errorf("got %v, %+v\nwant %v\ntape %s", taped.err, taped.problems, live.err, tapes[0].Content)
	}
}

func TestATapeHasFailuresOfRequests(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	reset := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}))
	defer reset.Close()
	for name, address := range map[string]string{"refused": gone.URL, "reset": reset.URL} {
		t.Run(name, func(t *testing.T) {
			record(t, t.TempDir(), fmt.Sprintf("connection \"http\" \"shop\" { base_url = %q }\ntool \"t\" {\n"+
				"description = \"Tests.\"\nhttp \"shop\" { post = \"/orders\" }\n}", address))
		})
	}
}

func TestATapeHasFailuresOfStatements(t *testing.T) {
	for kind, url := range map[string]string{
		"sqlite": "", "postgres": os.Getenv("HATCHEL_TEST_POSTGRES"), "mysql": os.Getenv("HATCHEL_TEST_MYSQL"),
	} {
		t.Run(kind, func(t *testing.T) {
			connection := fmt.Sprintf("secret \"db\" { env = \"HATCHEL_TEST_%s\" }\nconnection %q \"db\" { url = secret.db }\n",
				strings.ToUpper(kind), kind)
			if kind == "sqlite" {
				connection = "connection \"sqlite\" \"db\" { file = \"a.db\" }\n"
			} else if url == "" {
				t.Skip("there is no server")
			}
			dir, table := t.TempDir(), fmt.Sprintf("failing_%s_%d", kind, rand.Uint32())
			tool := func(exec string) string {
				return connection + "tool \"t\" {\ndescription = \"Tests.\"\nsql \"db\" { exec = \"" +
					strings.ReplaceAll(exec, "TABLE_NAME", table) + "\" }\n}"
			}
			run := func(exec string) {
				b := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: dir, HCL: tool(exec), Env: environment()})
				if _, err := b.Do(t.Context(), `{}`); err != nil {
					t.Fatal(err)
				}
			}
			run("CREATE TABLE TABLE_NAME (id INTEGER PRIMARY KEY, name VARCHAR(9) NOT NULL)")
			defer run("DROP TABLE TABLE_NAME")
			run("INSERT INTO TABLE_NAME VALUES (1, 'Ada')")
			for _, exec := range []string{
				"INSERT INTO TABLE_NAME VALUES (1, 'Eva')", "INSERT INTO TABLE_NAME VALUES (2, NULL)",
				"UPDATE TABLE_NAME SET nam = 'x'",
			} {
				record(t, dir, tool(exec))
			}
		})
	}
}

func TestADatabaseThatCannotBeReachedIsNotRecorded(t *testing.T) {
	_, tapes := callReal(t, t.TempDir(), "connection \"postgres\" \"db\" { url = \"postgres://x@127.0.0.1:1/x\" }\n"+
		"tool \"t\" {\ndescription = \"Tests.\"\nsql \"db\" { query = \"SELECT 1\" }\n}",
		test.Setup{Live: &test.Live{Record: true}})
	if len(tapes) != 1 || !strings.HasPrefix(tapes[0].Reason, "the database db cannot be reached: ") {
		t.Errorf("tapes %+v", tapes)
	}
}

func TestATapeDoesNotHoldAShortSecret(t *testing.T) {
	for secret, want := range map[string]string{
		"a":    "the value of secret.pin could be in it: it has fewer than 4 bytes, and so short a text is not hidden",
		"qqq":  "",
		"b\na": "",
	} {
		_, tapes := callReal(t, t.TempDir(), newTool("shell", ""), test.Setup{
			Live: &test.Live{Writes: true, Record: true}, Secrets: []test.Secret{{Name: "secret.pin", Text: secret}}})
		if len(tapes) != 1 || tapes[0].Reason != want {
			t.Errorf("%q: tapes %+v", secret, tapes)
		}
	}
}

func TestATokenIsFetchedLiveAndIsNotRecorded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"access_token": "fetched-0123456789", "token_type": "bearer", "expires_in": 3600}`)
			return
		}
		fmt.Fprintf(w, `{"seen": %q}`, r.Header.Get("Authorization"))
	}))
	defer s.Close()
	dir := t.TempDir()
	config := fmt.Sprintf(`
secret "token" { env = "TOKEN" }
connection "http" "shop" {
  base_url = %[1]q
  auth {
    oauth2 {
      token_url     = "%[1]s/token"
      client_id     = "me"
      client_secret = secret.token
    }
  }
}
tool "t" {
  description = "Tests."
  http "shop" { get = "/orders" }
}`, s.URL)
	o, tapes := callReal(t, dir, config, test.Setup{Live: &test.Live{Record: true}})
	if o.mustSucceed(t); len(tapes) != 1 || tapes[0].Exchanges != 2 || strings.Contains(string(tapes[0].Content), "fetched") {
		t.Fatalf("tapes %+v\n%s", tapes, tapes[0].Content)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), tapes[0].Content, 0o600); err != nil {
		t.Fatal(err)
	}
	o, _ = callReal(t, dir, config, test.Setup{Mocks: []*mock.Mock{
		{Kind: "http", Connection: "shop", Tape: "a.tape.json", Times: 1}}})
	if got := text(t, o.mustSucceed(t).output["body"]); !strings.Contains(got, "secret") {
		t.Errorf("body %s", got)
	}
}

// FuzzTape asks mocks that have somebody else's tape.
func FuzzTape(f *testing.F) {
	for content := range invalidTapes {
		f.Add([]byte(content))
	}
	f.Add([]byte(`{"tape": 1, "exchanges": [{"kind": "shell", "request": {"command": ["date"]}, "response": {"stdout": ["a\n"]}}]}`))
	f.Add([]byte(`{"tape": 1, "exchanges": [{"kind": "sql", "request": {}, "response": {"columns": ["a"], "cells": [[1]]}}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.tape.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		var mocks []*mock.Mock
		for _, kind := range kinds.Mocked() {
			mocks = append(mocks, &mock.Mock{Kind: kind, Tape: "a.tape.json", Times: 1})
		}
		m := test.NewMocks(test.Setup{Kinds: kinds, Dir: dir, Mocks: mocks, Secrets: hush})
		for _, kind := range kinds.Mocked() {
			for _, q := range newQuestions(kind, "x") {
				_, _ = m.Ask(t.Context(), q)
			}
		}
		m.Problems()
	})
}

func TestATapeAnswersInAnotherDirectory(t *testing.T) {
	const config = `
tool "t" {
  description = "Tests."
  shell { command = ["echo", under("notes", "a")] }
}`
	var dirs [2]string
	for i := range dirs {
		dirs[i] = t.TempDir()
		if err := os.Mkdir(filepath.Join(dirs[i], "notes"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o, tapes := callReal(t, dirs[0], config, test.Setup{Live: &test.Live{Writes: true, Record: true}})
	if o.mustSucceed(t); len(tapes) != 1 || strings.Contains(string(tapes[0].Content), dirs[0]) {
		t.Fatalf("tapes %s", tapes[0].Content)
	}
	if err := os.WriteFile(filepath.Join(dirs[1], "a.tape.json"), tapes[0].Content, 0o600); err != nil {
		t.Fatal(err)
	}
	o, _ = callReal(t, dirs[1], config, test.Setup{Mocks: []*mock.Mock{
		{Kind: "shell", Tape: "a.tape.json", Times: 1}}})
	o.mustSucceed(t)
}
