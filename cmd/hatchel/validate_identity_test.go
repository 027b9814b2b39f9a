package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// validate --connect shows at once what is wrong with the identities, the statements and the instances that answer, each
// at its place. A server logs it, and logs the end of it.
func TestProofOfIdentitiesIsReported(t *testing.T) {
	address := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
	if address == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	prefix := "proof_" + strings.ToLower(rand.Text()[:8])
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	execute := func(statements ...string) {
		for _, text := range statements {
			if _, err := db.ExecContext(context.Background(), strings.ReplaceAll(text, "@", prefix+"_")); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	execute("CREATE ROLE @app LOGIN", "CREATE ROLE @ro", "CREATE ROLE @boss SUPERUSER", "GRANT @boss TO @app", "CREATE SCHEMA @shop",
		"CREATE TABLE @shop.invoices (id INTEGER, tenant TEXT)", "GRANT USAGE ON SCHEMA @shop TO @ro", "GRANT SELECT ON @shop.invoices TO @ro")
	defer execute("DROP SCHEMA @shop CASCADE", "DROP ROLE @app, @ro, @boss")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(prefix + "_app")
	up := u.String()
	u.Host = "127.0.0.1:1"
	dir := t.TempDir()
	write := func(src string) {
		src = strings.ReplaceAll(src, "@", prefix+"_")
		if err := os.WriteFile(filepath.Join(dir, "desk.hcl"), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const source = `secret "eu" { env = "EU" }
secret "us" { env = "US" }
connection "postgres" "desk" {
  instances = { eu = secret.eu, us = secret.us }
  instance  = caller.claims.region
  role      = caller.claims.plan == "paid" ? "@boss" : "@ro"
  session   = { "app.tenant" = caller.claims.tenant }
}
tool "right" {
  description = "Lists the invoices of the caller's tenant."
  sql "desk" { query = "SELECT id FROM @shop.invoices" }
}
tool "wrong" {
  description = "Lists what is not there."
  sql "desk" { query = "SELECT nothing FROM @shop.invoices" }
}
`
	write(source)
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), hatchel, args...)
		cmd.Env = append(os.Environ(), "EU="+up, "US="+u.String())
		return cmd
	}
	out, _ := run("validate", "--connect", "--format", "json", dir).Output()
	var report struct {
		Diagnostics []struct {
			Summary, Detail string
			Range           struct{ Start struct{ Line, Column int } }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, d := range report.Diagnostics {
		got += fmt.Sprintf("%d:%d: %s: %s\n", d.Range.Start.Line, d.Range.Start.Column, d.Summary, d.Detail)
	}
	const want = `3:1: Connection failed: desk[us]: no connection to the database: nothing listens on 127.0.0.1:1
6:15: Callers not kept apart: desk[eu]: The role @boss is a superuser, so app.tenant filters nothing.
6:15: Callers not kept apart: desk[eu]: The login "@app" may not become @ro: GRANT @ro TO @app
7:17: Callers not kept apart: desk[eu]: No table of the tools has a policy, so app.tenant filters nothing. Let a policy of each table with rows of several callers read it, as in ALTER TABLE @shop.invoices ENABLE ROW LEVEL SECURITY; CREATE POLICY … USING (… = current_setting('app.tenant'))
15:24: Backend refused: The database rejects the statement as @boss on desk[eu]: column "nothing" does not exist.
`
	if got = strings.ReplaceAll(got, prefix+"_", "@"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}

	write(strings.ReplaceAll(strings.ReplaceAll(source, ", us = secret.us", ""), `caller.claims.plan == "paid" ? "@boss" : `, ""))
	server := run("serve", "--stdio", dir)
	stdin, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	defer time.AfterFunc(time.Minute, func() { _ = server.Process.Kill() }).Stop() // ends the lines
	await := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(strings.ReplaceAll(lines.Text(), prefix+"_", "@"), want) {
				return
			}
		}
		t.Fatalf("the log has no %q", want)
	}
	await(`level=WARN msg="connection failed" connection=postgres.desk[eu] error="The login \"@app\" may not become @ro: GRANT @ro TO @app"`)
	execute("GRANT @ro TO @app")
	await(`level=INFO msg="connection succeeded" connection=postgres.desk[eu]`)
	stdin.Close()
	_ = server.Wait()
}
