package examples_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// maskedBackend is a backend that answers with the raw values.
type maskedBackend struct {
	block  string
	value  string // of what it answers, in a later argument
	fails  bool   // for every caller
	writes bool   // which resources and prompts may not
}

// maskedBackends returns the backends of maskedServer, without databases that this machine has not, and the blocks of
// their connections.
func maskedBackends(t *testing.T, f *folder, service string) (backends map[string]maskedBackend, connections string) {
	t.Helper()
	backends = map[string]maskedBackend{
		"sql": {block: `sql "people" { query = "SELECT name, email, salary, lower(email) AS sign_in, 'x' || salary AS pay FROM people LIMIT 10" }`,
			value: "step.x.rows"},
		"http": {block: `http "service" { get = "/people" }`, value: "step.x.body"},
		"shell": {block: "shell {\n      script = \"cat people.json\"\n      as     = \"json\"\n      sandbox { read = [\"people.json\"] }\n    }",
			value: "step.x.json"},
		"text":  {block: `http "service" { get = "/text" }`, value: "step.x.body"},
		"file":  {block: "file {\n      directory = \".\"\n      read      = \"people.json\"\n    }", value: "step.x.content"},
		"fails": {block: `http "service" { get = "/fails" }`, value: "step.x.body", fails: true},
		"sql_fails": {block: `sql "people" { exec = "INSERT INTO people (name, email, salary) SELECT name, email, salary FROM people RETURNING email" }`,
			value: "step.x.rows", fails: true, writes: true},
	}
	for kind, table := range map[string]string{"postgres": maskedPostgres(t, f), "mysql": maskedMySQL(t, f)} {
		if table == "" {
			continue
		}
		connections += fmt.Sprintf("secret %[1]q { env = \"PEOPLE_%[2]s\" }\nconnection %[1]q %[1]q { url = secret.%[1]s }\n", kind,
			strings.ToUpper(kind))
		number := map[string]string{"postgres": "CAST(email AS integer)", "mysql": "email"}[kind]
		for name, b := range map[string]struct {
			statement     string
			fails, writes bool
		}{
			"":               {`query = "SELECT name, email, salary, lower(email) AS sign_in, concat('x', salary) AS pay FROM %s LIMIT 10"`, false, false},
			"_fails_taken":   {`exec = "INSERT INTO %[1]s (name, email, salary) SELECT name, email, salary FROM %[1]s RETURNING email"`, true, true},
			"_fails_invalid": {`exec = "INSERT INTO %[1]s (name, email, salary) SELECT name, 'eva', ` + number + ` FROM %[1]s RETURNING email"`, true, true},
		} {
			block := fmt.Sprintf("sql %q { %s }", kind, fmt.Sprintf(b.statement, table))
			backends[kind+name] = maskedBackend{block, "step.x.rows", b.fails, b.writes}
		}
	}
	connections += maskedUpstream(t, f, service)
	backends["upstream"] = maskedBackend{block: `mcp "upstream" { call = "people" }`, value: "step.x.structured"}
	backends["upstream_text"] = maskedBackend{block: `mcp "upstream" { call = "people_text" }`, value: "step.x.text"}
	backends["upstream_fails"] = maskedBackend{block: `mcp "upstream" { call = "fails" }`, value: "step.x.text", fails: true}
	return backends, connections
}

// maskedPostgres makes a table with the raw values, and what other statements create, in which %[1]s is its name. It
// returns the name; nothing without a server.
func maskedPostgres(t *testing.T, f *folder, others ...string) string {
	t.Helper()
	dsn := os.Getenv("HATCHEL_TEST_POSTGRES")
	if dsn == "" {
		return ""
	}
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("masked_%d_%d", os.Getpid(), helpdesks.Add(1))
	admin := f.desk(dsn)
	mustExec(t, admin, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { mustExec(t, admin, "DROP SCHEMA "+schema+" CASCADE") })
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	mustExec(t, f.desk(address.String()), maskedTable("people", others...))
	f.env = append(f.env, "PEOPLE_POSTGRES="+address.String())
	return "people"
}

// maskedMySQL is maskedPostgres on MariaDB. The other statements may create the views %[1]s_v and %[1]s_w.
func maskedMySQL(t *testing.T, f *folder, others ...string) string {
	t.Helper()
	dsn := os.Getenv("HATCHEL_TEST_MYSQL")
	if dsn == "" {
		return ""
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.MultiStatements = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	table := fmt.Sprintf("masked_%d_%d", os.Getpid(), helpdesks.Add(1))
	if _, err := db.ExecContext(t.Context(), maskedTable(table, others...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer db.Close()
		if _, err := db.ExecContext(context.Background(), fmt.Sprintf("DROP VIEW IF EXISTS %[1]s_v, %[1]s_w; DROP TABLE %[1]s", table)); err != nil {
			t.Error(err)
		}
	})
	f.env = append(f.env, "PEOPLE_MYSQL="+dsn)
	return table
}

func maskedTable(name string, others ...string) string {
	statements := fmt.Sprintf("CREATE TABLE %[1]s (name VARCHAR(20), email VARCHAR(100) UNIQUE, salary INTEGER); INSERT INTO %[1]s VALUES "+
		"('Ada', '%[2]s@example.com', %[3]s)", name, rawText, rawNumber)
	for _, other := range others {
		statements += "; " + fmt.Sprintf(other, name)
	}
	return statements
}

// maskedUpstream serves the raw values by MCP, and returns the connection to it.
func maskedUpstream(t *testing.T, f *folder, service string) string {
	t.Helper()
	up := &folder{t: t, path: t.TempDir()}
	up.write("people.hcl", fmt.Sprintf(`
server { name = "upstream" }
connection "http" "service" { base_url = %q }
tool "people" {
  description = "People."
  step "x" {
    http "service" { get = "/people" }
  }
  result  = "{people: step.x.body}"
  returns = object({ people = list(object({ name = string, email = string, salary = integer })) })
}
tool "people_text" {
  description = "People."
  step "x" {
    http "service" { get = "/text" }
  }
  text = step.x.body
}
tool "fails" {
  description = "People."
  http "service" { get = "/fails" }
}
`, service))
	address := up.serve().url
	made := t.TempDir()
	if o := f.run("import", "mcp", "upstream", "--url", address, "-o", made); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	definitions, err := os.ReadFile(made + "/upstream.tools.json")
	if err != nil {
		t.Fatal(err)
	}
	f.write("upstream.tools.json", string(definitions))
	return fmt.Sprintf("connection \"mcp\" \"upstream\" {\n  url         = %q\n  definitions = \"upstream.tools.json\"\n}\n", address)
}

// A tape of any backend has stand-ins for masked values, whoever has called, also where the backend has failed.
func TestMasksHoldInTapes(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"hide", "partial", "hash"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			checkMaskedTapes(t, with)
		})
	}
}

func checkMaskedTapes(t *testing.T, with string) {
	t.Helper()
	service := httptest.NewServer(maskedService(new([]string), new([]string)))
	defer service.Close()
	f := maskedFolder(t)
	backends, connections := maskedBackends(t, f, service.URL)
	f.write("masks.hcl", maskedServer(with, service.URL, service.URL, backends, connections))
	if o := f.run("call", ".", "sql_default", "--group", "agents"); o.code != 0 { // which creates the database
		t.Fatalf("%+v", o)
	}
	groups := []string{"agents", "support"}
	var tests strings.Builder
	for name := range backends {
		for _, group := range groups {
			fmt.Fprintf(&tests, "test \"%[1]s for %[2]s\" {\n  tool = \"%[1]s_result\"\n  caller { groups = [\"%[2]s\"] }\n}\n",
				name, group)
		}
	}
	f.write("masks.test.hcl", tests.String())
	o := f.run("test", "--live", "--allow-writes", "--record")
	for name, b := range backends {
		if name == "file" { // whose answers are no part of a tape
			continue
		}
		for _, group := range groups {
			tape := strings.ReplaceAll(name+"-for-"+group, "_", "-") + ".tape.json"
			text, err := os.ReadFile(f.file(tape))
			if err != nil {
				t.Errorf("%v:\n%s%s", err, o.stdout, o.stderr)
				return
			}
			_, reply, _ := strings.Cut(string(text), `"response"`)
			if hasRaw(string(text)) {
				t.Errorf("%s has %s", tape, text)
			}
			if !b.fails && !strings.Contains(reply, "{{mask.person}}-1") {
				t.Errorf("%s has no stand-in: %s", tape, text)
			}
		}
	}
}
