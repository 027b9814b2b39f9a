package runtime

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/all"
	"hatchel/runtime/edge/mcp"
)

// failingBlocks are blocks that fail, and what they have done then. Each block that takes effect does so where the
// test sees it: in a row, a request or a line of a file.
var failingBlocks = map[string]string{
	"sql constraint":          `sql "db" { exec = "INSERT INTO t VALUES ('f', 0)" }`,
	"sql list":                `sql "db" { exec = ["INSERT INTO t VALUES ('f', 1)", "INSERT INTO t VALUES ('f', 0)"] }`,
	"sql each":                "sql \"db\" {\n each = [1, 2, 0]\n exec = \"INSERT INTO t VALUES ('f', ${each.value})\"\n}",
	"sql expect":              "sql \"db\" { exec = \"INSERT INTO t VALUES ('f', 1)\" }\nexpect \"Refused.\" { that = \"false\" }",
	"sql mistake":             `sql "db" { exec = "INSERT INTO missing VALUES (1)" }`,
	"sql timeout":             `sql "db" { exec = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'f', max(i) FROM n" }`,
	"sql too many rows":       "sql \"db\" {\n each = [1, 2, 3]\n exec = [\"INSERT INTO t VALUES ('f', 1) RETURNING qty\", \"UPDATE t SET qty = ${output.results[0].row.qty}\"]\n max_rows = 1\n}",
	"sql or rollback":         `sql "db" { exec = ["INSERT INTO t VALUES ('f', 1)", "INSERT OR ROLLBACK INTO t VALUES ('f', 0)"] }`,
	"sql or fail":             `sql "db" { exec = "INSERT OR FAIL INTO t VALUES ('f', 1), ('f', 0)" }`,
	"sql raises rollback":     `sql "db" { exec = ["INSERT INTO t VALUES ('f', 1)", "INSERT INTO guarded VALUES (1)"] }`,
	"sql commit fails":        `sql "db" { exec = ["INSERT INTO t VALUES ('f', 1)", "INSERT INTO late VALUES (1)"] }`,
	"sql pragma":              `sql "db" { exec = ["PRAGMA user_version = 7", "INSERT INTO t VALUES ('f', 0)"] }`,
	"sql cancel":              `sql "db" { exec = ["INSERT INTO t VALUES ('f', 1)", "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'f', max(i) FROM n"] }`,
	"sql each cancel":         "sql \"db\" {\n each = [1, 2, 3]\n exec = [\"INSERT INTO t VALUES ('f', 1)\", \"INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) SELECT 'f', max(i) FROM n\"]\n}",
	"http cancel":             `http "api" { post = "/done/hang" }`,
	"shell cancel":            shellBlock("echo x >> MARK; exec sleep 60", ""),
	"wait cancel":             `wait { for = "60s" }`,
	"wait":                    `wait { for = "60s" }`,
	"sql unavailable":         `sql "away" { exec = "INSERT INTO t VALUES ('f', 1)" }`,
	"http conflict":           `http "api" { post = "/conflict" }`,
	"http failure after it":   `http "api" { post = "/done/500" }`,
	"http connection lost":    `http "api" { post = "/done/drop" }`,
	"http body lost":          `http "api" { post = "/done/half" }`,
	"http timeout":            "http \"api\" {\n post = \"/done/hang\"\n timeout = \"100ms\"\n}",
	"http timeout of call":    `http "api" { post = "/done/hang" }`,
	"http no JSON":            "http \"api\" {\n post = \"/done/text\"\n as = \"json\"\n}",
	"http too large":          "http \"api\" {\n post = \"/done/large\"\n max_body = \"1KiB\"\n}",
	"http expect":             "http \"api\" { post = \"/done/ok\" }\nexpect \"Refused.\" { that = \"false\" }",
	"http refused connection": `http "down" { post = "/" }`,
	"http not compiled":       "http \"api\" {\n post = \"/\"\n headers = { a = \"x${input.line}\" }\n}",
	"shell exit code":         shellBlock("echo x >> MARK; exit 3", ""),
	"shell timeout":           shellBlock("echo x >> MARK; exec sleep 60", `timeout = "200ms"`),
	"shell timeout of call":   shellBlock("echo x >> MARK; exec sleep 60", ""),
	"shell no JSON":           shellBlock("echo x >> MARK", `parse = "json"`),
	"shell no program":        "shell {\n command = [\"no-such-program\"]\n sandbox { mode = \"none\" }\n}",
	"file exists":             "file {\n directory = \".\"\n write = \"old\"\n content = \"x\"\n}",
	"csv exists":              "csv {\n directory = \".\"\n file = \"old\"\n rows = [{ a = 1 }]\n}",
	"tool refuses arguments":  "tool \"bounded\" { n = 7 }",
	"tool refuses a call":     `tool "limited" {}`,
	"tool fails":              `tool "pair" {}`,
	"fail":                    `fail { message = "Not now." }`,
	"query fails":             `sql "db" { query = "SELECT * FROM missing" }`,
}

func shellBlock(script, more string) string {
	return fmt.Sprintf("shell {\n command = [\"sh\", \"-c\", %q]\n sandbox { mode = \"none\" }\n %s\n}", script, more)
}

// workingBlocks are blocks that take effect.
var workingBlocks = map[string]string{
	"sql":   `sql "db" { exec = "INSERT INTO t VALUES ('w', 1)" }`,
	"http":  `http "api" { post = "/done/ok" }`,
	"shell": shellBlock("echo x >> MARK", ""),
	"file":  "file {\n directory = \".\"\n write = \"new\"\n content = \"x\\n\"\n if_exists = \"append\"\n}",
	"csv":   "csv {\n directory = \".\"\n file = \"new.csv\"\n rows = [{ a = 1 }]\n if_exists = \"append\"\n}",
	"tool":  `tool "writes" {}`,
}

const blockTools = `
connection "sqlite" "db" {
  file = "t.db"
  init = <<-SQL
    CREATE TABLE IF NOT EXISTS t(name TEXT, qty INTEGER CHECK (qty > 0));
    CREATE TABLE IF NOT EXISTS guarded(n INTEGER);
    CREATE TRIGGER IF NOT EXISTS guard BEFORE INSERT ON guarded BEGIN SELECT RAISE(ROLLBACK, 'refused'); END;
    CREATE TABLE IF NOT EXISTS parent(n INTEGER PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS late(n INTEGER REFERENCES parent(n) DEFERRABLE INITIALLY DEFERRED);
  SQL
}
connection "sqlite" "away" { file = "no/such/directory/t.db" }
connection "http" "api" { base_url = "URL" }
connection "http" "down" { base_url = "http://127.0.0.1:1" }
tool "writes" {
  description = "Writes a row."
  sql "db" { exec = "INSERT INTO t VALUES ('w', 1)" }
}
tool "pair" {
  description = "Writes two rows, of which the second one is refused."
  step "first" {
    sql "db" { exec = "INSERT INTO t VALUES ('w', 1)" }
  }
  step "second" {
    sql "db" { exec = "INSERT INTO t VALUES ('w', 0)" }
  }
  text = "done"
}
tool "bounded" {
  description = "Has a small input."
  input "n" { type = integer("N", { max = 5 }) }
  text = "done"
}
tool "limited" {
  description = "Runs once a day."
  limit { rate = "1/d" }
  text = "done"
}
tool "marks" {
  description = "Counts rows."
  sql "db" { query = "SELECT count(*) AS n FROM t" }
}
`

// TestAFailureSaysWhatIsTrueOfTheWholeCall makes calls that fail, and compares what their messages say with what there
// is afterwards.
func TestAFailureSaysWhatIsTrueOfTheWholeCall(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		how, done := strings.CutPrefix(r.URL.Path, "/done/")
		if done {
			requests.Add(1)
		}
		switch how {
		case "/conflict":
			w.WriteHeader(http.StatusConflict)
		case "500":
			w.WriteHeader(http.StatusInternalServerError)
		case "drop":
			panic(http.ErrAbortHandler)
		case "half":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		case "hang":
			<-r.Context().Done()
		case "text":
			fmt.Fprint(w, "no JSON")
		case "large":
			fmt.Fprint(w, strings.Repeat("x", 3000))
		default:
			fmt.Fprint(w, "{}")
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	if err := os.WriteFile(filepath.Join(dir, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	src := strings.NewReplacer("URL", server.URL).Replace(blockTools)
	type tool struct{ name, position string }
	var tools []tool
	add := func(name, position, body string) {
		full := strings.NewReplacer(" ", "_").Replace(name + "_" + position)
		body = strings.ReplaceAll(body, "MARK", mark)
		input := ""
		if strings.Contains(body, "input.line") {
			input = "input \"line\" {\n type = string(\"A line.\")\n default = \"a\\nb\"\n}\n"
		}
		if strings.Contains(body, "60") || strings.Contains(body, "hang") || strings.Contains(body, "RECURSIVE") {
			input += "timeout = \"300ms\"\n"
		}
		input += task1h
		src += fmt.Sprintf("tool %q {\n description = \"Fails.\"\n %s%s\n text = \"done\"\n}\n", full, input, body)
		tools = append(tools, tool{full, position})
	}
	step := func(name, body string) string { return fmt.Sprintf("step %q {\n%s\n}\n", name, body) }
	for name, block := range failingBlocks {
		if !strings.HasPrefix(block, "fail") {
			add(name, "alone", step("a", block))
		}
		add(name, "second", step("a", workingBlocks["sql"])+step("b", block))
		if !strings.HasPrefix(block, "fail") {
			if strings.HasPrefix(block, "wait") {
				continue
			}
			add(name, "continued", step("a", block+"\non_error = \"continue\"\n")+step("b", `fail { message = "Not now." }`))
			add(name, "third", step("s", "each = [0, 1, 2]\nwhen = \"each.value == 2\"\n"+block))
		}
	}
	for name, block := range workingBlocks {
		add(name, "before_fail", step("a", block)+step("b", failingBlocks["fail"]))
		add(name, "before_query", step("a", block)+step("b", failingBlocks["query fails"]))
		add(name, "before_constraint", step("a", block)+step("b", failingBlocks["sql constraint"]))
		add(name, "before_lost", step("a", block)+step("b", failingBlocks["http connection lost"]))
		add(name, "each", step("a", "each = [1, 2, 3]\nexpect \"Refused.\" { that = \"output == null\" }\non_error = \"continue\"\n"+block)+
			step("b", failingBlocks["fail"]))
		add(name, "parallel", step("a", "each = [1, 2, 3]\nparallel = 3\n"+block)+step("b", failingBlocks["sql constraint"]))
	}
	add("sql", "elements", step("s", "each = [1, 2, 0]\nsql \"db\" { exec = \"INSERT INTO t VALUES ('e', ${each.value})\" }"))
	add("result", "after", step("a", workingBlocks["sql"])+"\nresult = \"[1][input.n]\"\n input \"n\" {\n type = integer(\"N\")\n default = 5\n}\n")
	src = strings.ReplaceAll(src, "result = \"[1][input.n]\"\n input \"n\" {\n type = integer(\"N\")\n default = 5\n}\n\n text = \"done\"\n",
		"result = \"[1][input.n]\"\n input \"n\" {\n type = integer(\"N\")\n default = 5\n}\n")

	h := newHost(t, src, func(o *HostOptions) { o.Build.Set, o.Build.Dir = all.Set(), dir })
	call := func(name string) string {
		return callWithin(t.Context(), h, &mcp.CallRequest{Name: name, Caller: &mcp.Caller{Revision: mcp.Revision20251125}})
	}
	world := func() string {
		var lines int
		for _, name := range []string{"mark", "new", "new.csv"} {
			b, _ := os.ReadFile(filepath.Join(dir, name))
			lines += strings.Count(string(b), "\n")
		}
		return call("marks") + strconv.FormatInt(requests.Load(), 10) + "," + strconv.Itoa(lines)
	}
	call("limited") // of which one is allowed
	asTask := func(name string) string {
		for id := startTask(t, h, name).TaskID; ; {
			switch r := getTask(t, h, id); {
			case r.Status == "working":
			case r.Result == nil:
				return fmt.Sprintf("%s %s %s", r.Status, r.Message, r.Error)
			default:
				return fmt.Sprintf("%s \"isError\":%v", r.Result.text(), r.Result.IsError)
			}
		}
	}
	canceled := func(name string) string {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
		return callWithin(ctx, h, &mcp.CallRequest{Name: name, Caller: &mcp.Caller{Revision: mcp.Revision20251125}})
	}
	check := func(x tool, run func(string) string) {
		before := world()
		said := run(x.name)
		changed := world() != before
		saysNothing := strings.Contains(strings.ToLower(said), "nothing was ")
		saysDone := strings.Contains(said, "carried out and")
		saysUnknown := strings.Contains(strings.ToLower(said), "it is not known whether")
		switch {
		case !strings.Contains(said, `"isError":true`):
			t.Errorf("%s: %s", x.name, said)
		case changed && saysNothing:
			t.Errorf("%s changes something and says: %s", x.name, said)
		case !changed && saysDone:
			t.Errorf("%s changes nothing and says: %s", x.name, said)
		case changed && strings.Contains(strings.ToLower(said), "try again"):
			t.Errorf("%s changes something, and is to be tried again: %s", x.name, said)
		case changed && !saysDone && !saysUnknown && (x.position == "second" || strings.HasPrefix(x.position, "before")):
			t.Errorf("%s changes something before it fails and does not say so: %s", x.name, said)
		case changed && !saysDone && !saysUnknown && !isAnswer(x.name):
			t.Errorf("%s changes something and does not say so: %s", x.name, said)
		case !changed && saysUnknown && strings.HasPrefix(x.name, "sql"):
			t.Errorf("%s has rolled back and does not know it: %s", x.name, said)
		}
		if testing.Verbose() {
			t.Logf("%-40s %5v %s", x.name, changed, said)
		}
	}
	for _, x := range tools {
		if strings.Contains(x.name, "_cancel_") {
			check(x, canceled)
			continue
		}
		check(x, call)
		if x.position == "second" {
			check(x, asTask)
		}
	}
}

// isAnswer reports whether a block fails with what its backend has answered, which the message says.
func isAnswer(tool string) bool {
	for _, prefix := range []string{"http_failure_after_it", "shell_exit_code", "http_expect"} {
		if strings.HasPrefix(tool, prefix) {
			return !strings.HasSuffix(tool, "continued")
		}
	}
	return false
}
