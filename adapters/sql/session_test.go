package sql

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

func TestSuperuserRunsNoCallerStatement(t *testing.T) {
	s := server{kind: "postgres", url: os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")}
	if s.url == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	b := adaptertest.Bind(t, s.sourceWith(`mode = "ro"`, `input "sql" { type = string }`, "statement = input.sql"))
	wantEqual(t, mustFail(t, b, `{"sql":"SELECT pg_read_file('/etc/passwd')"}`), errSuperuser.Error())
	wantEqual(t, mustFail(t, b, `{"sql":"SELECT 1 AS a"}`), errSuperuser.Error())
	_, err := b.Action.(adapters.Prober).Probe(t.Context())
	if err == nil || !strings.Contains(err.Error(), "GRANT pg_read_all_data TO agent") {
		t.Errorf("validate --connect reports %v", err)
	}
}

func TestHugeRowIsRejectedBeforeItIsRead(t *testing.T) {
	s := connect(t, "postgres")
	b := s.bind(t, `input "n" { type = integer }`, `query = "SELECT repeat('x', ${input.n}) AS a"`)
	wantEqual(t, mustFail(t, b, `{"n":40000000}`), "one row of the result is larger than the limit of 32 MiB; request less of it")
	wantEqual(t, mustCall(t, b, `{"n":2}`), oneRow(`{"a":"xx"}`))
}

// ROLLBACK does not release what a caller's statement can take in the session, such as locks.
func TestCallerStatementLeavesNothingInTheSession(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := adaptertest.Bind(t, s.sourceWith("mode = \"ro\"\n max_connections = 1", `input "sql" { type = string }`, "statement = input.sql"))
		if s.kind == "postgres" {
			mustCall(t, b, sqlArgument(t, "SELECT pg_advisory_lock(815815)"))
			mustFail(t, b, sqlArgument(t, "SELECT pg_advisory_lock(815815), 1 / (pg_backend_pid() * 0)"))
			wantEqual(t, mustCall(t, b, sqlArgument(t, "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND objid = 815815")), oneRow(`{"n":0}`))
			return
		}
		mustCall(t, b, sqlArgument(t, "SELECT GET_LOCK('hatchel-815', 1), @left := 5"))
		wantEqual(t, mustCall(t, b, sqlArgument(t, "SELECT @left AS v")), oneRow(`{"v":null}`))
		for _, text := range []string{"SELECT LOAD_FILE('/etc/passwd')", "SELECT `load_file`('/etc/passwd')", "SELECT load_file  ('/etc/passwd')"} {
			mustFail(t, b, sqlArgument(t, text))
		}
	})
}

// A KILL that arrives before the statement begins has no effect, so the server needs a time limit.
func TestMariaDBLimitsAStatementToTheTimeOfItsCall(t *testing.T) {
	s := connect(t, "mysql")
	body := `query = "SELECT CAST(@@max_statement_time AS INTEGER) AS seconds"`
	b := s.bind(t, "", body)
	for _, seconds := range []int{100, 100, 200} { // the remaining time is a little less
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
		out, err := b.Do(ctx, `{}`)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		row, err := value.AppendJSON(nil, out["row"])
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Seconds int }
		if err := json.Unmarshal(row, &answer); err != nil {
			t.Fatal(err)
		}
		if got := answer.Seconds; got > seconds+1 || got < seconds-30 {
			t.Errorf("the limit of a call with %d seconds is %d seconds", seconds, got)
		}
	}
	short := adaptertest.Bind(t, s.sourceWith(`timeout = "7s"`, "", body))
	wantEqual(t, mustCall(t, short, `{}`), oneRow(`{"seconds":7}`))
}

// hostileSession changes in a session what the lexer of sqltext and the converters depend on.
var hostileSession = []string{
	"SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'", "SET NAMES gbk",
	"SET SESSION character_set_results = latin1", "SET SESSION time_zone = '+05:00'", "SET SESSION tx_read_only = 0",
	"SET SESSION tx_read_only = 1", "SET SESSION autocommit = 0", "SET @left = 5", "SET SESSION sql_select_limit = 0",
	"SET SESSION last_insert_id = 77", "CREATE TEMPORARY TABLE dual_use AS SELECT 1 AS a",
}

// checkMariaDBSession checks that a session means what the lexer and the tools expect.
func checkMariaDBSession(t *testing.T, s server, arguments, zone string) {
	t.Helper()
	read := adaptertest.Bind(t, s.sourceWith("max_connections = 1\n"+arguments, `input "s" { type = string }`,
		`query = "SELECT \"it's\" AS a, 'b\\\"c' AS b, HEX(${input.s}) AS c, 'ü' AS d, @@time_zone AS e, @left AS f, LAST_INSERT_ID() AS g"`))
	want := oneRow(`{"a":"it's","b":"b\"c","c":"E7B89E27","d":"ü","e":"` + zone + `","f":null,"g":0}`)
	wantEqual(t, mustCall(t, read, `{"s":"縞'"}`), want)
}

func TestMariaDBSessionIsWhatTheLexerDependsOn(t *testing.T) {
	s := connect(t, "mysql")
	s.url = strings.Replace(s.url, "/hatchel", "/hatchel?", 1)
	t.Run("whatever the URL sets", func(t *testing.T) {
		for _, settings := range []string{
			"sql_mode=%27ANSI_QUOTES%2CNO_BACKSLASH_ESCAPES%27", "SQL_MODE=%27ANSI_QUOTES%27", "@@session.sql_mode=%27NO_BACKSLASH_ESCAPES%27",
			"charset=gbk", "character_set_client=gbk", "character_set_results=latin1", "collation=gbk_chinese_ci",
			"multiStatements=true&interpolateParams=true&parseTime=true&loc=Local&checkConnLiveness=false&rejectReadOnly=true",
			"tx_read_only=1", "autocommit=0",
		} {
			s := s
			s.url += settings
			checkMariaDBSession(t, s, "", "SYSTEM")
		}
	})
	t.Run("whatever the server sets", func(t *testing.T) {
		m := startMariaDB(t, "--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "--character-set-server=gbk", "--default-time-zone=+05:00",
			"--transaction-read-only", "--init-connect=SET sql_mode = ANSI, character_set_results = latin1")
		checkMariaDBSession(t, m.server(m.address), "", "+05:00")
		checkMariaDBSession(t, m.server(m.address), `time_zone = "+02:00"`, "+02:00")
		mustCall(t, m.server(m.address).bind(t, "", addRow), `{}`)
	})
	t.Run("whatever a routine of another caller sets", func(t *testing.T) {
		for _, text := range hostileSession {
			s.run(t, "CREATE OR REPLACE PROCEDURE hostile_p() "+text)
			if strings.Contains(text, "autocommit") {
				text = "SET @left = 6" // the server forbids it in functions and triggers
			}
			s.run(t, "CREATE OR REPLACE FUNCTION hostile_f() RETURNS INT BEGIN "+text+"; RETURN 1; END")
			s.run(t, "CREATE OR REPLACE VIEW hostile_v AS SELECT hostile_f() AS a")
			table := s.createTable(t, "a INTEGER")
			s.run(t, "CREATE TRIGGER hostile_t BEFORE INSERT ON "+table+" FOR EACH ROW "+text)
			for _, other := range []string{"CALL hostile_p()", "INSERT INTO " + table + " VALUES (1)", "INSERT INTO " + table + " SELECT hostile_f()"} {
				b := s.bind(t, "", `exec = "`+other+`"`)
				_, _ = b.Do(t.Context(), `{}`) // some of these are not allowed there
				useAgain(t, b, s)
			}
			for _, other := range []string{"SELECT hostile_f() AS a", "SELECT a FROM hostile_v"} {
				b := s.bind(t, "", `query = "`+other+`"`)
				_, _ = b.Do(t.Context(), `{}`)
				useAgain(t, b, s)
			}
		}
	})
}

// useAgain checks the session of the next statement on the connections of a tool.
func useAgain(t *testing.T, b *adaptertest.BoundTool, s server) {
	t.Helper()
	const query = `SELECT CONCAT("it's", 'b\"c', 'ü', @@time_zone, @@character_set_results) AS a, ? AS b`
	err := b.Handle("db").(database).read(t.Context(), identity{}, func(tx transaction) error {
		e := &execution{text: query, args: []any{"ü"}, isQuery: true, result: &resultSet{maxRows: 2}}
		if err := tx.run(t.Context(), e); err != nil {
			return err
		}
		wantEqual(t, string(e.result.AppendJSON(nil)), `[{"a":"it'sb\"cüSYSTEMutf8mb4","b":"ü"}]`)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := b.Handle("db").(database).write(t.Context(), identity{}, func(tx transaction) error {
		return tx.run(t.Context(), &execution{text: "CREATE TABLE IF NOT EXISTS useless (a INTEGER)", result: &resultSet{maxRows: 1}})
	}); err != nil {
		t.Error(err)
	}
}
