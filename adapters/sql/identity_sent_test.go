package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl"
)

// statementLog matches a statement in the log of PostgreSQL.
var statementLog = regexp.MustCompile(`(?m)^.*LOG:  (?:statement|execute [^:]*): (.*)$`)

// logged returns the statements that the server logs while do runs.
func (o ownServer) logged(t *testing.T, do func()) (statements []string) {
	t.Helper()
	var before int64
	var text string
	if err := o.admin.QueryRow(t.Context(), "SELECT size FROM pg_stat_file('log')").Scan(&before); err != nil {
		t.Fatal(err)
	}
	do()
	if err := o.admin.QueryRow(t.Context(), "SELECT pg_read_file('log', $1, 1000000)", before).Scan(&text); err != nil {
		t.Fatal(err)
	}
	for _, m := range statementLog.FindAllStringSubmatch(text, -1) {
		statements = append(statements, m[1])
	}
	return statements
}

// claims are a caller with claims.
func claims(of map[string]any) hcl.CallerMembers {
	return hcl.CallerMembers{"groups": []any{}, "claims": of}
}

// instanceTools are a query and a change of a connection with instances, which are all the same server.
func instanceTools(o ownServer) adaptertest.Source {
	return adaptertest.Source{Set: testSet, Env: map[string]string{"DB": o.url}, HCL: fmt.Sprintf(`
secret "db" { env = "DB" }
locals { roles = { free = "%[1]s_ro", paid = "%[1]s_rw" } }
connection "postgres" "desk" {
  instances = { eu = secret.db, us = "${secret.db}&application_name=us" }
  instance  = caller.claims.region
  role      = local.roles[caller.claims.plan]
  session = {
    "app.tenant" = caller.claims.tenant
    "app.region" = upper(caller.claims.region)
    "app.level"  = coalesce(caller.claims.level, "none")
    "app.tried"  = try(caller.claims.tried.there, "")
    "app.org"    = caller.claims["https://acme.example/org"].id
  }
}
tool "read" {
  description = "Reads."
  sql "desk" { query = "SELECT current_setting('app.tenant') AS tenant, current_setting('app.region') AS region, current_setting('app.level') AS level, current_user AS role, current_setting('application_name') AS instance" }
}
tool "write" {
  description = "Writes."
  sql "desk" { exec = "DELETE FROM shop.notes" }
}
`, o.name)}
}

// A call without a complete identity fails with the words of its mistake, and the server hears nothing of it.
func TestAnIncompleteIdentityIsSentNowhere(t *testing.T) {
	o, admin := tenantDatabase(t)
	mustExec(t, admin, "ALTER ROLE "+o.name+" SET log_statement = 'all'")
	bound := adaptertest.Bind(t, instanceTools(o))
	read, write := bound.Other(t, "read"), bound.Other(t, "write")
	whole := map[string]any{"tenant": "acme", "region": "eu", "plan": "paid", "tried": map[string]any{"there": "x"},
		"https://acme.example/org": map[string]any{"id": 7}}
	ran := o.logged(t, func() {
		want := `{"tenant":"acme","region":"EU","level":"none","role":"` + o.name + `_rw","instance":"hatchel"}`
		wantEqual(t, mustCall(t, read.As(claims(whole)), `{}`), oneRow(want))
	})
	takes := slices.IndexFunc(ran, func(s string) bool { return strings.HasPrefix(s, "SELECT pg_catalog.set_config($1, $2, true), ") })
	if takes < 1 || !strings.HasPrefix(ran[takes-1], "BEGIN") || !strings.HasPrefix(ran[takes+1], "SELECT current_setting") {
		t.Fatalf("the log of the server has %q", ran)
	}
	const sends = `, which the connection "desk" sends as app.tenant`
	with := func(name string, v any) map[string]any {
		changed := map[string]any{}
		for k, old := range whole {
			changed[k] = old
		}
		changed[name] = v
		if v == nil {
			delete(changed, name)
		}
		return changed
	}
	for name, c := range map[string]struct {
		caller hcl.CallerMembers
		want   string
	}{
		"nobody":        {nil, `the caller has no claim "region", which chooses the instance of the connection "desk"`},
		"no claims":     {claims(map[string]any{}), `the caller has no claim "region", which chooses the instance of the connection "desk"`},
		"no claim":      {claims(with("tenant", nil)), `the caller has no claim "tenant"` + sends},
		"a null claim":  {claims(func() map[string]any { c := with("tenant", 1); c["tenant"] = nil; return c }()), `the caller has no claim "tenant"` + sends},
		"an empty one":  {claims(with("tenant", "")), `the caller's claim "tenant"` + sends + `, is empty`},
		"a list":        {claims(with("tenant", []any{"a", "b"})), `the caller's claim "tenant"` + sends + `, is a list, and a string, a number or a bool is needed`},
		"an object":     {claims(with("tenant", map[string]any{"a": 1})), `the caller's claim "tenant"` + sends + `, is an object, and a string, a number or a bool is needed`},
		"NUL":           {claims(with("tenant", "a\x00b")), `the caller's claim "tenant"` + sends + `, has a NUL character, which no text of a database can have`},
		"2 KiB":         {claims(with("tenant", strings.Repeat("x", 2048))), `the caller's claim "tenant"` + sends + `, has 2048 bytes, and the maximum is 1024`},
		"an empty try":  {claims(with("tried", nil)), `the value that the connection "desk" sends as app.tried is empty`},
		"a region":      {claims(with("region", "apac")), `the caller's region "apac" is not one of "desk": eu, us`},
		"a long region": {claims(with("region", strings.Repeat("e", 1000))), `the caller's region "` + strings.Repeat("e", 59) + `…" is not one of "desk": eu, us`},
		"no org":        {claims(with("https://acme.example/org", nil)), `the caller has no claim "https://acme.example/org.id", which the connection "desk" sends as app.org`},
		"org is text":   {claims(with("https://acme.example/org", "a")), `the caller has no claim "https://acme.example/org.id", which the connection "desk" sends as app.org`},
		"no plan":       {claims(with("plan", nil)), `the caller has no claim "plan", which chooses the role of the connection "desk"`},
		"another plan":  {claims(with("plan", "gold")), `the value that chooses the role of the connection "desk" cannot be computed: local.roles has no member "gold"`},
	} {
		t.Run(name, func(t *testing.T) {
			ran := o.logged(t, func() {
				for _, b := range []*adaptertest.BoundTool{read, write} {
					wantEqual(t, mustFail(t, b.As(c.caller), `{}`), c.want)
				}
				call, err := read.As(c.caller).Call(t.Context(), `{}`)
				if err != nil {
					t.Fatal(err)
				}
				err = read.Action.(adapters.Streamer).Stream(t.Context(), call, &rowCounter{})
				f := new(adapters.Fault)
				if !errors.As(err, &f) || !f.NotSent || f.Error() != c.want+"; nothing was sent" {
					t.Errorf("a stream fails with %v", err)
				}
				claims, _ := c.caller["claims"].(map[string]any)
				if (f.Hint == needsCaller+"--claim region=VALUE") != (len(claims) == 0) {
					t.Errorf("the hint is %q", f.Hint)
				}
				if _, err := write.As(c.caller).Plan(t.Context(), `{}`); err == nil {
					t.Error("there is a plan of a call that cannot be made")
				}
			})
			if len(ran) > 0 {
				t.Errorf("the server has executed %q", ran)
			}
		})
	}
}

// hostileClaims are values that would change a statement if they were a part of its text.
var hostileClaims = []string{
	"'; RESET ROLE --", `\'; RESET ROLE; --`, "$1", "${1}", `a\b\\c`, `"`, "''", "a,b", "{a,b}", "%s%d", "a\nb\r\t", "ä€😀", "\u202e", " ",
	"default", "DEFAULT", "null", "none", strings.Repeat("'", 1000), "E'\\x00'", "a\x01b", "true", "0x10", "1e3",
}

// Values and names are parameters, so that each value is what its policy reads.
func TestAClaimIsReadAsItIs(t *testing.T) {
	eachTenantRoute(t, func(t *testing.T, o ownServer, admin *pgx.Conn, s server) {
		bound := adaptertest.Bind(t, tenantTools(o, s, ""))
		forge, list := bound.Other(t, "forge"), bound.Other(t, "list")
		for _, claim := range hostileClaims {
			mustExec(t, admin, "DELETE FROM shop.notes")
			as := tenant(claim)
			input, err := json.Marshal(map[string]string{"tenant": claim})
			if err != nil {
				t.Fatal(err)
			}
			mustCall(t, forge.As(as), string(input)) // the policy compares the stored text with the claim
			var stored string
			if err := admin.QueryRow(t.Context(), "SELECT tenant FROM shop.notes").Scan(&stored); err != nil || stored != claim {
				t.Errorf("%q is stored as %q, %v", claim, stored, err)
			}
			mustFail(t, forge.As(tenant("other")), string(input))
			if got := mustCall(t, list.As(as), `{}`); !strings.Contains(got, `"n":1,`) || !strings.Contains(got, `"foreign":0,`) {
				t.Errorf("%q reads %s", claim, got)
			}
		}
		number := hcl.CallerMembers{"groups": []any{}, "claims": map[string]any{"tenant": json.Number("9007199254740993"), "plan": "free"}}
		if got := mustCall(t, list.As(number), `{}`); !strings.Contains(got, `"tenant":"9007199254740993"`) {
			t.Errorf("a number reads %s", got)
		}
	})
}

// The texts with which a caller's statement reads rows of others, and uses the rights of the login. If they stopped to
// work, statement could be admitted.
func TestACallersStatementWouldBypassItsIdentity(t *testing.T) {
	for name, argument := range map[string]string{
		"session": `session = { "app.tenant" = caller.claims.tenant }`, "role": `role = "reader"`,
	} {
		t.Run(name, func(t *testing.T) {
			s := server{kind: "postgres", url: "postgres://app@127.0.0.1:1/app"}
			got := adaptertest.MustReject(t, s.sourceWith("mode = \"ro\"\n"+argument, `input "sql" { type = string }`, "statement = input.sql"))
			if !strings.Contains(got, `The connection "db" has session or role, and a caller's statement can change both`) {
				t.Errorf("refused for %s", got)
			}
		})
	}
	o, admin := tenantDatabase(t)
	mustExec(t, admin, "CREATE TABLE secret_of_login (a TEXT)", "INSERT INTO secret_of_login VALUES ('hidden')",
		"ALTER TABLE secret_of_login OWNER TO "+o.name)
	bound := adaptertest.Bind(t, tenantTools(o, o.server, ""))
	db := bound.Handle("desk").(database)
	as := identity{role: o.name + "_ro", values: []string{"acme", "[]"}}
	for _, c := range []struct{ text, want string }{
		{"WITH taken AS MATERIALIZED (SELECT set_config('app.tenant', 'globex', true) AS t) " +
			"SELECT min(n.tenant) AS v FROM taken, LATERAL (SELECT tenant FROM shop.notes WHERE t IS NOT NULL) n", "globex"},
		{"SELECT set_config('role', 'none', true) || query_to_xml('SELECT a FROM secret_of_login', true, true, '')::text AS v", "hidden"},
	} {
		e := &execution{text: c.text, isQuery: true, byCaller: true, last: true, result: &resultSet{maxRows: 1}}
		err := db.read(t.Context(), as, func(tx transaction) error { return tx.run(t.Context(), e) })
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(e.result.object(0)["v"]); !strings.Contains(got, c.want) {
			t.Errorf("%s reads %q: is the refusal still needed?", c.text, got)
		}
	}
}

// trips is a relay in front of a server that counts round trips: how often the client sends after the server did.
type trips struct {
	count    atomic.Int64
	answered atomic.Bool
}

// through returns the server behind the relay.
func (c *trips) through(t *testing.T, s server) server {
	t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := u.Host
	u.Host, s.url = listener.Addr().String(), ""
	s.url = u.String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			serving.Go(func() {
				defer out.Close()
				_, _ = io.Copy(tripWriter{out, func() {
					if c.answered.Swap(false) {
						c.count.Add(1)
					}
				}}, in)
			})
			serving.Go(func() {
				defer in.Close()
				_, _ = io.Copy(tripWriter{in, func() { c.answered.Store(true) }}, out)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	return s
}

type tripWriter struct {
	io.Writer
	before func()
}

func (w tripWriter) Write(p []byte) (int, error) {
	w.before()
	return w.Writer.Write(p)
}

// The identity of a transaction takes one statement and no round trip. Without the arguments, the same is sent as
// before. The first use of a statement with a role takes one more round trip.
func TestAnIdentityTakesOneStatementAndNoRoundTrip(t *testing.T) {
	eachTenantRoute(t, func(t *testing.T, o ownServer, admin *pgx.Conn, s server) {
		mustExec(t, admin, "ALTER ROLE "+o.name+" SET log_statement = 'all'", "GRANT USAGE ON SCHEMA shop TO "+o.name,
			"GRANT ALL ON shop.notes TO "+o.name, "ALTER TABLE shop.notes DISABLE ROW LEVEL SECURITY")
		body := `each = [1, 2, 3]
    exec = ["INSERT INTO shop.notes (tenant, n) VALUES ('acme', ${each.value})", "DELETE FROM shop.notes WHERE tenant = 'acme'"]`
		role := `role = "` + o.name + `_rw"` + "\n"
		session := `session = { "app.tenant" = caller.claims.tenant, "app.b" = caller.claims.plan }` + "\n"
		type cost struct{ first, firstTrips, then, thenTrips int }
		measure := func(arguments, body string) (c cost) {
			relay := &trips{}
			b := adaptertest.Bind(t, relay.through(t, s).sourceWith("max_connections = 1\n"+arguments, "", body)).As(tenant("acme"))
			if err := b.Handle("db").(adapters.Health).Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			run := func() (statements, count int) {
				before := relay.count.Load()
				ran := o.logged(t, func() { mustCall(t, b, `{}`) })
				return len(ran), int(relay.count.Load() - before)
			}
			c.first, c.firstTrips = run()
			c.then, c.thenTrips = run()
			return c
		}
		for name, body := range map[string]string{"query": `query = "SELECT count(*) AS n FROM shop.notes"`, "exec": body} {
			t.Run(name, func(t *testing.T) {
				without := measure("", body)
				for _, arguments := range []string{session, role, role + session} {
					got, want := measure(arguments, body), without
					want.first++
					want.then++
					if s.url == o.url && strings.Contains(arguments, "role") {
						want.firstTrips++
					}
					if got != want {
						t.Errorf("with %s: %+v, without %+v", arguments, got, without)
					}
				}
			})
		}
	})
}

// In a search_path, "$user" is the role, so that one text means other tables and types under another role.
func TestAStatementIsThatOfItsRole(t *testing.T) {
	eachTenantRoute(t, func(t *testing.T, o ownServer, admin *pgx.Conn, s server) {
		ro, rw := o.name+"_ro", o.name+"_rw"
		mustExec(t, admin,
			"CREATE SCHEMA "+ro+" AUTHORIZATION "+ro, "CREATE SCHEMA "+rw+" AUTHORIZATION "+rw,
			"SET search_path = "+ro, "CREATE TYPE kind AS (a INTEGER)", "CREATE TABLE own (v TEXT, k kind)", "INSERT INTO own VALUES ('of ro', ROW(1))",
			"SET search_path = "+rw, "CREATE TYPE kind AS ENUM ('x')", "CREATE TABLE own (k kind, v INTEGER)", "INSERT INTO own VALUES ('x', 7)",
			"GRANT ALL ON ALL TABLES IN SCHEMA "+ro+" TO "+ro, "GRANT ALL ON ALL TABLES IN SCHEMA "+rw+" TO "+rw)
		source := tenantTools(o, s, "max_connections = 1")
		source.HCL = strings.Replace(source.HCL, `session = { "app.tenant" = caller.claims.tenant, "app.groups" = jsonencode(caller.groups) }`, "", 1) + `
tool "own" {
  description = "Reads the table of the role."
  input "v" { type = any }
  sql "desk" { query = "SELECT * FROM own WHERE v = ${input.v}" }
}`
		own := adaptertest.Bind(t, source).Other(t, "own")
		free, paid := own.As(claims(map[string]any{"plan": "free"})), own.As(claims(map[string]any{"plan": "paid"}))
		for range 3 {
			wantEqual(t, mustCall(t, free, `{"v":"of ro"}`), oneRow(`{"v":"of ro","k":{"a":1}}`))
			wantEqual(t, mustCall(t, paid, `{"v":7}`), oneRow(`{"k":"x","v":7}`))
		}
		mustExec(t, admin, "SET search_path = "+ro, "DROP TABLE own", "CREATE TABLE own (v TEXT, w INTEGER)", "INSERT INTO own VALUES ('new', 1)", "GRANT ALL ON own TO "+ro)
		wantEqual(t, mustCall(t, free, `{"v":"new"}`), oneRow(`{"v":"new","w":1}`)) // the second try takes the role again
		wantEqual(t, mustCall(t, paid, `{"v":7}`), oneRow(`{"k":"x","v":7}`))
	})
}

// A transaction that runs again, because its connection is lost, takes its identity again; and rows that are streamed
// are those of the caller.
func TestALostConnectionKeepsTheIdentity(t *testing.T) {
	eachTenantRoute(t, func(t *testing.T, o ownServer, _ *pgx.Conn, s server) {
		bound := adaptertest.Bind(t, tenantTools(o, s, "max_connections = 2"))
		list, forge := bound.Other(t, "list"), bound.Other(t, "forge")
		for n := range 6 {
			name := []string{"acme", "globex"}[n%2]
			o.killConns(t)
			if n%3 == 2 {
				mustCall(t, forge.As(tenant(name)), `{"tenant":"`+name+`"}`)
			}
			call, err := list.As(tenant(name)).Call(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			rows := &rowCounter{}
			if err := list.Action.(adapters.Streamer).Stream(t.Context(), call, rows); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%v %v %v", rows.last[0], rows.last[2], rows.last[4]); got != "0 "+name+" "+o.name+"_rw" {
				t.Errorf("%s reads %v", name, rows.last)
			}
		}
	})
}

// A read-only tool stays one: neither its role nor its identity let it write.
func TestAQueryOfACallerStaysReadOnly(t *testing.T) {
	eachTenantRoute(t, func(t *testing.T, o ownServer, _ *pgx.Conn, s server) {
		source := tenantTools(o, s, "")
		source.HCL += `
tool "sneak" {
  description = "Writes in a query."
  sql "desk" { query = "WITH gone AS (DELETE FROM shop.notes RETURNING id) SELECT count(*) AS n FROM gone" }
}`
		sneak := adaptertest.Bind(t, source).Other(t, "sneak")
		wantEqual(t, mustFail(t, sneak.As(tenant("acme")), `{}`), msgReadOnly)
	})
}

// The statements are prepared as each role on each instance, without values and without being executed.
func TestStatementsAreProbedAsEachRole(t *testing.T) {
	eachTenantRoute(t, func(t *testing.T, o ownServer, admin *pgx.Conn, s server) {
		source := tenantTools(o, s, "")
		source.HCL = strings.Replace(source.HCL, "url     = secret.db", `instances = { eu = secret.db, us = secret.db }
  instance = caller.claims.region`, 1)
		bound := adaptertest.Bind(t, source)
		probe := func(name string) error {
			_, err := bound.Other(t, name).Action.(adapters.Prober).Probe(t.Context())
			return err
		}
		for _, name := range []string{"list", "add", "forge", "leave"} {
			if err := probe(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		mustExec(t, admin, "REVOKE SELECT ON shop.notes FROM "+o.name+"_ro", "REVOKE USAGE ON SCHEMA shop FROM "+o.name+"_ro")
		want := "The database rejects the statement as " + o.name + "_ro on desk[eu]: permission denied for schema shop."
		if err := probe("list"); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		var n int
		if err := admin.QueryRow(t.Context(), "SELECT count(*) FROM shop.notes").Scan(&n); err != nil || n != 6 {
			t.Errorf("%d rows are left, %v", n, err)
		}
	})
}

// A role that the login may not become fails the call, without its name, and leaves the connection as it was.
func TestARoleThatTheLoginMayNotBecome(t *testing.T) {
	eachTenantRoute(t, func(t *testing.T, o ownServer, admin *pgx.Conn, s server) {
		bound := adaptertest.Bind(t, tenantTools(o, s, "max_connections = 1"))
		list, forge := bound.Other(t, "list"), bound.Other(t, "forge")
		mustCall(t, list.As(tenant("acme")), `{}`)
		mustExec(t, admin, "REVOKE "+o.name+"_rw FROM "+o.name)
		const want = `the database refuses the role or the session that the connection "desk" has for this caller; ` +
			`this is not a mistake in the arguments, and trying again does not help`
		wantEqual(t, mustFail(t, list.As(tenant("acme")), `{}`), want)
		wantEqual(t, mustFail(t, forge.As(tenant("acme")), `{"tenant":"acme"}`), want)
		free := tenant("acme")
		free["claims"].(map[string]any)["plan"] = "free"
		if got := mustCall(t, list.As(free), `{}`); !strings.Contains(got, `"role":"`+o.name+`_ro"`) {
			t.Errorf("the other role reads %s", got)
		}
	})
}

// newIdentity returns a function that computes a role and four values for a call, and what PostgreSQL is sent of them.
func newIdentity(t testing.TB) func() {
	s := server{kind: "postgres", url: "postgres://app@127.0.0.1:1/app"}
	bound := adaptertest.Bind(t, s.sourceWith(`role = { free = "ro", paid = "rw" }[caller.claims.plan]
  session = { "app.tenant" = caller.claims.tenant, "app.user" = caller.subject, "app.plan" = caller.claims.plan, "app.groups" = jsonencode(caller.groups) }`,
		"", `query = "SELECT 1 AS a"`))
	call, err := bound.As(tenant("acme")).Call(context.Background(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	db := bound.Handle("db").(*postgresDatabase)
	return func() {
		as, err := db.identityOf(call.Frame)
		if err != nil {
			t.Fatal(err)
		}
		if params := db.identityParams(as); len(params) != 10 {
			t.Fatal(params)
		}
	}
}

func BenchmarkIdentity(b *testing.B) {
	compute := newIdentity(b)
	b.ReportAllocs()
	for b.Loop() {
		compute()
	}
}

// The own work for an identity takes at most 16 allocations.
func TestAnIdentityAllocatesLittle(t *testing.T) {
	if got := testing.AllocsPerRun(100, newIdentity(t)); got > 16 {
		t.Errorf("%v allocations", got)
	}
}

// A question about the database itself is asked with the login of the first instance, and without values of a caller.
func TestTheCatalogIsReadOfTheFirstInstance(t *testing.T) {
	o, _ := tenantDatabase(t)
	bound := adaptertest.Bind(t, instanceTools(o))
	rows, err := Query(t.Context(), bound.Handle("desk"), "SELECT current_user = session_user AS login, current_setting('application_name') AS instance")
	if err != nil || len(rows) != 1 || rows[0]["login"] != true || rows[0]["instance"] != "hatchel" {
		t.Errorf("got %v, %v", rows, err)
	}
}
