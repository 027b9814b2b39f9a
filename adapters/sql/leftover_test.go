package sql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

// leftover is something that a call can leave in its session, and a query that the next call would see it with.
type leftover struct {
	name, leave, look string
	pooled            bool // also nothing is left behind a pooler
}

var postgresLeftovers = []leftover{
	{"search_path", "SELECT set_config('search_path', 'elsewhere', false)", "SELECT current_setting('search_path')", true},
	{"role", "SELECT set_config('role', 'none', false)", "SELECT current_setting('role')", true},
	{"time zone", "SELECT set_config('TimeZone', 'Asia/Tokyo', false)", "SELECT current_setting('TimeZone')", true},
	{"row_security", "SELECT set_config('row_security', 'off', false)", "SELECT current_setting('row_security')", true},
	{"text search", "SELECT set_config('default_text_search_config', 'german', false)", "SELECT current_setting('default_text_search_config')", true},
	{"time limit", "SELECT set_config('statement_timeout', '99s', false)", "SELECT current_setting('statement_timeout')", true},
	{"isolation", "SELECT set_config('default_transaction_isolation', 'serializable', false)", "SELECT current_setting('default_transaction_isolation')", true},
	{"access", "SELECT set_config('default_transaction_read_only', 'on', false)", "SELECT current_setting('default_transaction_read_only')", true},
	{"DateStyle", "SELECT set_config('DateStyle', 'SQL, DMY', false)", "SELECT current_setting('DateStyle')", true},
	{"memory", "SELECT set_config('work_mem', '1MB', false)", "SELECT current_setting('work_mem')", false},
	{"own setting", "SELECT set_config('app.tenant', 'alice', false)", "SELECT coalesce(current_setting('app.tenant', true), '')", false},
	{"SET of a function", "SELECT leave('SET app.tenant = ''bob''')", "SELECT coalesce(current_setting('app.tenant', true), '')", false},
	{"value of a sequence", "SELECT setval('counter', 41, true)", "SELECT last_value('x')", true},
	{"temporary table", "CREATE TEMP TABLE things AS SELECT 'temporary' AS a", "SELECT count(*)::text FROM pg_class WHERE relnamespace = pg_my_temp_schema()", true},
	{"advisory lock", "SELECT pg_advisory_lock(4711)", "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND pid = pg_backend_pid()", true},
	{"advisory lock of a function", "SELECT leave('SELECT pg_advisory_lock(4711)')", "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND pid = pg_backend_pid()", true},
	{"cursor", "SELECT leave('DECLARE held CURSOR WITH HOLD FOR SELECT 1')", "SELECT count(*)::text FROM pg_cursors WHERE is_holdable", true},
	{"channel", "SELECT leave('LISTEN news')", "SELECT count(*)::text FROM pg_listening_channels()", true},
}

// afterwards are the ways in which a call ends that has left something.
var afterwards = map[string]string{
	"committed": "SELECT 1", "failed": "SELECT 1 / (SELECT 0)", "canceled": "SELECT pg_sleep(60)",
	"failed in its commit": "INSERT INTO late VALUES (1), (1)",
}

// Nothing that a call leaves in a session of PostgreSQL is there for the next one.
func TestNoSessionOfPostgreSQLCarriesAnythingOn(t *testing.T) {
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		if strings.Contains(t.Name(), "transaction") { // the next call gets the same connection of the server
			s = direct.startPooler(t, "pool_mode = transaction", "default_pool_size = 1")
		}
		for _, text := range []string{
			"CREATE SCHEMA elsewhere", "CREATE SEQUENCE counter", "CREATE TABLE late (n INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED)",
			"CREATE FUNCTION leave(s text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE s; END $$",
			"CREATE FUNCTION last_value(s text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN lastval()::text; " +
				"EXCEPTION WHEN object_not_in_prerequisite_state THEN RETURN 'none'; END $$",
		} {
			direct.run(t, text)
		}
		direct.exec(t, "ALTER ROLE "+direct.name+" SET TimeZone = 'America/New_York'")
		direct.exec(t, "ALTER ROLE "+direct.name+" SET role = '"+direct.name+"'")
		for _, l := range postgresLeftovers {
			if !l.pooled && s != direct.server {
				continue
			}
			source := func(body string) adaptertest.Source {
				return s.sourceWith("max_connections = 1", `input "end" { type = enum("look", "leave", "committed", "failed", "canceled", "failed in its commit") }`, body)
			}
			body := "exec = [<<-SQL\n%{if input.end == \"look\"} SELECT (" + l.look + ") AS found %{else} " + l.leave + " %{endif}\nSQL\n, <<-SQL\n"
			ends := "SELECT 1"
			for end, text := range afterwards {
				ends = "%{if input.end == \"" + end + "\"} " + text + " %{else} " + ends + " %{endif}"
			}
			b := adaptertest.Bind(t, source(body+ends+"\nSQL\n]"))
			want := mustCall(t, b, `{"end":"look"}`)
			for end := range afterwards {
				ctx, cancel := context.WithCancel(t.Context())
				if end == "canceled" {
					ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				}
				_, err := b.Do(ctx, `{"end":`+strconv.Quote(end)+`}`)
				cancel()
				if (err == nil) != (end == "committed") {
					t.Errorf("%s, %s: %v", l.name, end, err)
				}
				if got := mustCall(t, b, `{"end":"look"}`); got != want {
					t.Errorf("%s of a call that has %s is left:\n%s\n%s", l.name, end, want, got)
				}
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			direct.awaitNoLock(t)
		}
	})
}

// awaitNoLock waits until no session has an advisory lock. A session whose statement was canceled may end a moment after
// its call.
func (o ownServer) awaitNoLock(t *testing.T) {
	t.Helper()
	const locks = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE locktype = 'advisory' AND datname = $1"
	for left, deadline := 1, time.Now().Add(10*time.Second); left > 0; {
		if err := o.admin.QueryRow(t.Context(), locks, o.name).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left > 0 && time.Now().After(deadline) {
			t.Fatalf("%d locks are left", left)
		}
	}
}

var mariaDBLeftovers = []leftover{
	{name: "user variable", leave: "SELECT @left := 5", look: "SELECT @left"},
	{name: "last id", leave: "INSERT INTO numbered (a) VALUES (1)", look: "SELECT LAST_INSERT_ID()"},
	{name: "chosen id", leave: "SELECT LAST_INSERT_ID(77)", look: "SELECT LAST_INSERT_ID()"},
	{name: "number of rows", leave: "SELECT SQL_CALC_FOUND_ROWS a FROM numbered LIMIT 1", look: "SELECT FOUND_ROWS()"},
	{name: "changed rows", leave: "UPDATE numbered SET a = a + 1", look: "SELECT ROW_COUNT()"},
	{name: "lock", leave: "SELECT GET_LOCK('held', 1)", look: "SELECT GET_LOCK('held', 5)"},
	{name: "temporary table", leave: "CREATE TEMPORARY TABLE temporary_things AS SELECT 1 AS a", look: "SELECT COUNT(*) FROM information_schema.processlist WHERE 1 = 0"},
	{name: "sequence", leave: "SELECT NEXTVAL(counter)", look: "SELECT LASTVAL(counter)"},
	{name: "procedure's variable", leave: "CALL leave_variable()", look: "SELECT @left"},
	{name: "procedure's setting", leave: "CALL leave_setting()", look: "SELECT @@group_concat_max_len"},
	{name: "view's lock", leave: "SELECT a FROM locking", look: "SELECT GET_LOCK('held', 5)"},
	{name: "warning", leave: "SELECT CAST('secret' AS INTEGER)", look: "SELECT @@warning_count"},
	{name: "last used id in insert", leave: "INSERT INTO numbered (a) SELECT LAST_INSERT_ID(5)", look: "SELECT LAST_INSERT_ID()"},
}

// Nothing that a call leaves in a session of MariaDB is there for the next one.
func TestNoSessionOfMariaDBCarriesAnythingOn(t *testing.T) {
	m := startMariaDB(t)
	for _, text := range []string{
		"CREATE TABLE numbered (id INTEGER AUTO_INCREMENT PRIMARY KEY, a INTEGER)", "INSERT INTO numbered (a) VALUES (1), (2), (3)",
		"CREATE SEQUENCE counter", "CREATE PROCEDURE leave_variable() SET @left = 5",
		"CREATE PROCEDURE leave_setting() SET SESSION group_concat_max_len = 7",
		"CREATE VIEW locking AS SELECT GET_LOCK('held', 1) AS a",
	} {
		m.exec(t, "USE hatchel")
		m.exec(t, text)
	}
	s := m.server(m.address)
	for _, l := range mariaDBLeftovers {
		for end, text := range map[string]string{"committed": "SELECT 1", "failed": "INSERT INTO t VALUES (nothing)", "canceled": "SELECT SLEEP(60)"} {
			look := "query = " + strconv.Quote(l.look+" AS found")
			list := fmt.Sprintf("exec = [%q, %q]", l.leave, text)
			if strings.Contains(l.leave, "TEMPORARY") {
				list, text = fmt.Sprintf("exec = %q", l.leave), "SELECT 1"
				if end != "committed" {
					continue
				}
				look = `query = "SELECT a FROM temporary_things"`
			}
			b := adaptertest.Bind(t, s.sourceWith("max_connections = 1", "", look))
			leave := adaptertest.Bind(t, s.sourceWith("max_connections = 1", "", list))
			shared := b.Handle("db").(*mysqlDatabase)
			leave.Action.(*action).db = shared
			before, beforeErr := b.Do(t.Context(), `{}`)
			want := describeAnswer(before, beforeErr)
			ctx, cancel := context.WithCancel(t.Context())
			if end == "canceled" {
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
			}
			_, err := leave.Do(ctx, `{}`)
			cancel()
			if (err == nil) != (end == "committed") {
				t.Errorf("%s, %s: %v", l.name, end, err)
			}
			after, afterErr := b.Do(t.Context(), `{}`)
			if got := describeAnswer(after, afterErr); got != want {
				t.Errorf("%s of a call that has %s is left: %s, before %s", l.name, end, got, want)
			}
			b.Close()
			leave.Close()
		}
	}
}

func describeAnswer(out map[string]any, err error) string {
	if err != nil {
		return err.Error()
	}
	text, err := value.AppendJSON(nil, out["row"])
	return fmt.Sprint(string(text), err)
}

// Nothing that a change leaves in the connection of SQLite that writes is there for the next one.
func TestTheWriterOfSQLiteCarriesNothingOn(t *testing.T) {
	for _, l := range []leftover{
		{name: "temporary table", leave: "CREATE TEMP TABLE items AS SELECT 'temporary' AS name", look: "SELECT count(*) FROM sqlite_temp_schema"},
		{name: "LIKE", leave: "PRAGMA case_sensitive_like = ON", look: "SELECT 'A' LIKE 'a'"},
		{name: "checks", leave: "PRAGMA ignore_check_constraints = ON", look: "PRAGMA ignore_check_constraints"},
		{name: "triggers", leave: "PRAGMA recursive_triggers = ON", look: "PRAGMA recursive_triggers"},
		{name: "order", leave: "PRAGMA reverse_unordered_selects = ON", look: "PRAGMA reverse_unordered_selects"},
		{name: "schema", leave: "PRAGMA writable_schema = ON", look: "PRAGMA writable_schema"},
		{name: "keys", leave: "PRAGMA defer_foreign_keys = ON", look: "PRAGMA defer_foreign_keys"},
	} {
		for end, text := range map[string]string{"committed": "SELECT 1", "failed": "INSERT INTO items (missing) VALUES (1)",
			"canceled": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"} {
			body := "exec = [<<-SQL\n%{if input.look} " + l.look + " %{else} " + l.leave + " %{endif}\nSQL\n, <<-SQL\n" +
				"%{if input.look} SELECT 1 %{else} " + text + " %{endif}\nSQL\n]"
			b := adaptertest.Bind(t, sqliteSource(t, `input "look" { type = bool }`, body))
			want := mustCall(t, b, `{"look":true}`)
			ctx, cancel := context.WithCancel(t.Context())
			if end == "canceled" {
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
			}
			for range 2 {
				if _, err := b.Do(ctx, `{"look":false}`); (err == nil) != (end == "committed") {
					t.Errorf("%s, %s: %v", l.name, end, err)
				}
				if got := mustCall(t, b, `{"look":true}`); got != want {
					t.Errorf("%s of a call that has %s is left:\n%s\n%s", l.name, end, want, got)
				}
			}
			cancel()
		}
	}
}
