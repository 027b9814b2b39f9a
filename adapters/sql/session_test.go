package sql

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

func TestASuperuserRunsNoStatementOfACaller(t *testing.T) {
	s := servers[0]
	if s.url = os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER"); s.url == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER names no server")
	}
	b := adaptertest.Bind(t, s.with(`mode = "ro"`, `input "sql" { type = string }`, "statement = input.sql"))
	wants(t, refused(t, b, `{"sql":"SELECT pg_read_file('/etc/passwd')"}`), errSuperuser.Error())
	wants(t, refused(t, b, `{"sql":"SELECT 1 AS a"}`), errSuperuser.Error())
}

func TestAHugeRowIsRefusedBeforeItIsRead(t *testing.T) {
	s := servers[0]
	if s.url = os.Getenv(s.env); s.url == "" {
		t.Skipf("%s names no server", s.env)
	}
	b := s.bind(t, `input "n" { type = integer }`, `query = "SELECT repeat('x', ${input.n}) AS a"`)
	wants(t, refused(t, b, `{"n":40000000}`), "one row of the answer is larger than the 32 MiB that are read; ask for less of it")
	wants(t, do(t, b, `{"n":2}`), `{"row":{"a":"xx"},"rows":[{"a":"xx"}],"truncated":false}`)
}

// A caller's statement can take what belongs to the session, which a ROLLBACK does not give back.
func TestACallersStatementLeavesNothingInTheSession(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := adaptertest.Bind(t, s.with("mode = \"ro\"\n max_connections = 1", `input "sql" { type = string }`, "statement = input.sql"))
		ask := func(text string) string {
			arguments, err := json.Marshal(map[string]string{"sql": text})
			if err != nil {
				t.Fatal(err)
			}
			return string(arguments)
		}
		if s.kind == "postgres" {
			do(t, b, ask("SELECT pg_advisory_lock(815815)"))
			refused(t, b, ask("SELECT pg_advisory_lock(815815), 1 / (pg_backend_pid() * 0)"))
			wants(t, do(t, b, ask("SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND objid = 815815")), `{"row":{"n":0},"rows":[{"n":0}],"truncated":false}`)
			return
		}
		do(t, b, ask("SELECT GET_LOCK('hatchel-815', 1), @left := 5"))
		wants(t, do(t, b, ask("SELECT @left AS v")), `{"row":{"v":null},"rows":[{"v":null}],"truncated":false}`)
		for _, text := range []string{"SELECT LOAD_FILE('/etc/passwd')", "SELECT `load_file`('/etc/passwd')", "SELECT load_file  ('/etc/passwd')"} {
			refused(t, b, ask(text))
		}
	})
}

// What a KILL does not hit, because it comes before the statement begins, must not run for ever.
func TestAStatementOfMariaDBEndsByItselfWhenItsCallHasEnded(t *testing.T) {
	s := servers[1]
	if s.url = os.Getenv(s.env); s.url == "" {
		t.Skipf("%s names no server", s.env)
	}
	ask := `query = "SELECT CAST(@@max_statement_time AS INTEGER) AS seconds"`
	b := s.bind(t, "", ask)
	for _, seconds := range []int{100, 100, 200} { // what is left is less than that, but not by half a minute
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
			t.Errorf("a call that has %d seconds has a statement of %d", seconds, got)
		}
	}
	short := adaptertest.Bind(t, s.with(`timeout = "7s"`, "", ask))
	wants(t, do(t, short, `{}`), `{"row":{"seconds":7},"rows":[{"seconds":7}],"truncated":false}`)
}
