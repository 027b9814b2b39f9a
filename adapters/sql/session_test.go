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

func TestSuperuserRunsNoCallerStatement(t *testing.T) {
	s := server{kind: "postgres", url: os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")}
	if s.url == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	b := adaptertest.Bind(t, s.sourceWith(`mode = "ro"`, `input "sql" { type = string }`, "statement = input.sql"))
	wantEqual(t, mustFail(t, b, `{"sql":"SELECT pg_read_file('/etc/passwd')"}`), errSuperuser.Error())
	wantEqual(t, mustFail(t, b, `{"sql":"SELECT 1 AS a"}`), errSuperuser.Error())
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
