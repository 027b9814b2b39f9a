package sql

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
	"hatchel/internal/poolertest"
)

// startPooler starts a PgBouncer in front of the server.
func (s server) startPooler(t *testing.T, settings ...string) server {
	t.Helper()
	s.url = poolertest.Start(t, s.url, settings...)
	return s
}

// routes are the ways to the PostgreSQL server.
var routes = []string{"direct", "pool_mode = session", "pool_mode = transaction"}

// eachRoute runs a test on every way to a database of its own.
func eachRoute(t *testing.T, test func(t *testing.T, direct ownServer, s server)) {
	for _, route := range routes {
		t.Run(route, func(t *testing.T) {
			direct := ownDatabase(t)
			test(t, direct, direct.through(t, route))
		})
	}
}

// through returns a route to the database.
func (o ownServer) through(t *testing.T, route string) server {
	t.Helper()
	switch route {
	case "direct":
		return o.server
	case "pool_mode = session": // each idle connection of a client has one
		return o.startPooler(t, route, "default_pool_size = 60")
	}
	return o.startPooler(t, route)
}

// ownServer is a database and a role that no other test uses.
type ownServer struct {
	server
	name  string
	admin *pgx.Conn // a superuser
}

func ownDatabase(t *testing.T) ownServer {
	t.Helper()
	address := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
	if address == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	o := ownServer{server: connect(t, "postgres"), name: "own_" + strings.ToLower(rand.Text())}
	o.admin = connectTo(t, address)
	o.exec(t, "CREATE ROLE "+o.name+" LOGIN")
	o.exec(t, "CREATE DATABASE "+o.name+" OWNER "+o.name)
	t.Cleanup(func() {
		o.exec(t, "DROP DATABASE "+o.name+" WITH (FORCE)")
		o.exec(t, "DROP ROLE "+o.name)
	})
	u, err := url.Parse(o.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.User(o.name), "/"+o.name
	o.url = u.String()
	return o
}

// exec executes a statement as a superuser.
func (o ownServer) exec(t *testing.T, text string) {
	t.Helper()
	if _, err := o.admin.Exec(context.WithoutCancel(t.Context()), text); err != nil {
		t.Error(err)
	}
}

func connectTo(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// killConns ends all connections to the database.
func (o ownServer) killConns(t *testing.T) {
	t.Helper()
	o.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+o.name+"'")
}

// Six clients use three tools while connections of the server are ended. A call whose commit was interrupted may fail,
// and says so.
func TestEachAnswerIsThatOfItsToolThroughAPooler(t *testing.T) {
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		single, first, second := direct.createTable(t, "n INTEGER"), "t_first", "t_second"
		for _, name := range []string{first, second} {
			direct.run(t, "CREATE TABLE "+name+" (n INTEGER, who TEXT)")
		}
		n := `input "n" { type = integer }`
		read := s.bind(t, n, `query = "SELECT 'reads' AS who, ${input.n}::int AS n"`)
		insert := s.bind(t, n, `exec = "INSERT INTO `+single+` VALUES (${input.n}) RETURNING 'inserts' AS who, n"`)
		several := s.bind(t, n, `exec = ["INSERT INTO `+first+` VALUES (${input.n}, 'a') RETURNING 'first' AS who, n", `+
			`"INSERT INTO `+second+` VALUES (${output.results[0].row.n}, 'b') RETURNING 'second' AS who, n"]`)
		const clients, calls = 6, 60
		var unknown, made atomic.Int64
		var killing sync.Mutex
		var all sync.WaitGroup
		for client := range clients {
			all.Go(func() {
				for i := range calls {
					n := client*calls + i
					for tool, wants := range map[*adaptertest.BoundTool][]string{
						read: {"reads"}, insert: {"inserts"}, several: {"first", "second"},
					} {
						if made.Add(1)%60 == 0 {
							killing.Lock()
							direct.killConns(t)
							killing.Unlock()
						}
						got, err := tool.Do(t.Context(), fmt.Sprintf(`{"n":%d}`, n))
						if err != nil && tool != read && err.Error() == msgCommitUnknown {
							unknown.Add(1)
							continue
						}
						if err != nil {
							t.Errorf("%s: %v: %v", wants, err, errors.Unwrap(err))
							continue
						}
						out, _ := value.AppendJSON(nil, got)
						for _, want := range wants {
							if row := fmt.Sprintf(`"row":{"who":"%s","n":%d}`, want, n); !strings.Contains(string(out), row) {
								t.Errorf("got %s, which lacks %s", out, row)
							}
						}
					}
				}
			})
		}
		all.Wait()
		const count = "SELECT (SELECT count(*) FROM %[1]s) + (SELECT count(*) FROM %[2]s WHERE who = 'a') + " +
			"(SELECT count(*) FROM %[3]s WHERE who = 'b'), (SELECT count(*) - count(DISTINCT n) FROM %[1]s) + " +
			"(SELECT count(*) - count(DISTINCT n) FROM %[2]s) + (SELECT count(*) - count(DISTINCT n) FROM %[3]s), " +
			"(SELECT count(*) FROM %[2]s FULL JOIN %[3]s USING (n) WHERE %[2]s.who IS NULL OR %[3]s.who IS NULL)"
		var rows, twice, halves int64
		if err := connectTo(t, direct.url).QueryRow(t.Context(), fmt.Sprintf(count, single, first, second)).Scan(&rows, &twice, &halves); err != nil {
			t.Fatal(err)
		}
		// A call of unknown outcome has added no row, or its one or two.
		if most := int64(3 * clients * calls); rows > most || rows < most-2*unknown.Load() || twice != 0 || halves != 0 {
			t.Errorf("%d rows, %d twice, %d without the other, %d calls of unknown outcome", rows, twice, halves, unknown.Load())
		}
		t.Logf("%d calls of unknown outcome", unknown.Load())
	})
}

// Another user of the connections of a pooler finds them as they were.
func TestNothingStaysBehindInAPooledConnection(t *testing.T) {
	direct := ownDatabase(t)
	s := direct.startPooler(t, "pool_mode = transaction", "default_pool_size = 1")
	table := direct.createTable(t, "n INTEGER")
	other := connectTo(t, s.url+"&default_query_exec_mode=simple_protocol")
	state := func() string {
		const query = "SELECT (SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name NOT IN " +
			"('application_name', 'transaction_read_only')) || (SELECT count(*) FROM pg_prepared_statements) || " +
			"(SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()) || coalesce((SELECT string_agg(relname, ',') " +
			"FROM pg_class WHERE relnamespace = pg_my_temp_schema()), '') || (SELECT count(*) FROM pg_cursors)"
		var out string
		if err := other.QueryRow(t.Context(), query).Scan(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := state()
	ro := adaptertest.Bind(t, s.sourceWith("mode = \"ro\"\ntimeout = \"7s\"\ntime_zone = \"Asia/Tokyo\"", `input "sql" { type = string }`, "statement = input.sql"))
	rw := func(body string) *adaptertest.BoundTool {
		return adaptertest.Bind(t, s.sourceWith("timeout = \"7s\"\ntime_zone = \"-03:30\"", "", body))
	}
	for name, call := range map[string]func(){
		"query":        func() { mustCall(t, rw(`query = "SELECT 1 AS a"`), `{}`) },
		"exec":         func() { mustCall(t, rw(`exec = "INSERT INTO `+table+` VALUES (1)"`), `{}`) },
		"failed exec":  func() { mustFail(t, rw(`exec = ["INSERT INTO `+table+` VALUES (1)", "SELECT 1 / (SELECT 0)"]`), `{}`) },
		"rejected":     func() { mustFail(t, rw(`exec = "INSERT INTO no_such_table VALUES (1)"`), `{}`) },
		"statement":    func() { mustCall(t, ro, sqlArgument(t, "SELECT set_config('work_mem', '1MB', false)")) },
		"lock":         func() { mustCall(t, ro, sqlArgument(t, "SELECT pg_advisory_lock(815)")) },
		"failed lock":  func() { mustFail(t, ro, sqlArgument(t, "SELECT pg_advisory_lock(815), 1 / (SELECT 0)")) },
		"lock of exec": func() { mustCall(t, rw(`exec = "SELECT pg_advisory_lock(816)"`), `{}`) },
		"temporary": func() {
			mustCall(t, rw(`exec = ["CREATE TEMP TABLE orders AS SELECT 1 AS n", "INSERT INTO orders VALUES (2)"]`), `{}`)
		},
		"endless": func() {
			mustCall(t, rw(`query = "SELECT * FROM generate_series(1, 10000000) AS n"`+"\ntruncate = true"), `{}`)
		},
		"probe": func() { rw(`query = "SELECT 1 AS a"`).Action.(adapters.Prober).Probe(t.Context()) },
		"time limit": func() {
			mustFail(t, adaptertest.Bind(t, s.sourceWith(`timeout = "50ms"`, "", `query = "SELECT pg_sleep(9)"`)), `{}`)
		},
		"unknown table": func() { mustFail(t, ro, sqlArgument(t, "SELECT * FROM no_such_table")) },
	} {
		call()
		if after := state(); after != before {
			t.Errorf("%s: the connection has changed:\n%s\n%s", name, before, after)
		}
	}
}

func TestStatementPoolingIsRefused(t *testing.T) {
	s := connect(t, "postgres").startPooler(t, "pool_mode = statement")
	b := s.bind(t, "", `query = "SELECT 1 AS a"`)
	got := mustFail(t, b, `{}`)
	if !strings.Contains(got, "pool_mode = statement") || strings.Contains(got, "unavailable") {
		t.Error(got)
	}
	if err := b.Handle("db").(adapters.Health).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "pool_mode = statement") {
		t.Error(err)
	}
	if _, err := b.Action.(adapters.Prober).Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "pool_mode = statement") {
		t.Error(err)
	}
}

// Each setting that the lexer and the converters depend on is set to the opposite, by everything that can.
func TestSettingsOfOthersChangeNoMeaning(t *testing.T) {
	opposite := map[string]string{
		"standard_conforming_strings": "off", "client_encoding": "LATIN1", "DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard",
		"bytea_output": "escape", "array_nulls": "off", "xmloption": "document", "extra_float_digits": "-10",
	}
	leaks := "CREATE OR REPLACE FUNCTION leak_settings() RETURNS int LANGUAGE plpgsql AS $$ BEGIN\n"
	for name, value := range opposite {
		leaks += fmt.Sprintf("PERFORM set_config('%s', '%s', false);\n", name, value)
	}
	const text = `SELECT '\' AS a, ${input.s} AS b, '\x00ff'::bytea AS c, '2026-02-01'::date AS d, '1 day 2 hours'::interval AS e, ` +
		`${[1, null]}::int[] AS f, 0.1::float8 + 0.2 AS g, 'é' AS h, '<a/><b/>'::xml AS i`
	want := `{"a":"\\","b":"\\' --","c":"AP8=","d":"2026-02-01","e":"P1DT2H","f":[1,null],"g":0.30000000000000004,"h":"é","i":"<a/><b/>"}`
	source := func(kind string) string {
		return fmt.Sprintf("%s = <<-SQL\n%s\nSQL", kind, text)
	}
	check := func(t *testing.T, direct ownServer, s server) {
		if _, err := connectTo(t, direct.url).Exec(t.Context(), leaks+"RETURN 1; END $$"); err != nil {
			t.Fatal(err)
		}
		input := `input "s" { type = string }`
		arguments := `{"s":"\\' --"}`
		b := s.bind(t, input, source("query"))
		wantEqual(t, mustCall(t, b, arguments), oneRow(want))
		// The second statement of a transaction comes after a function that changes the settings.
		leaking := s.bind(t, input, "exec = [\"SELECT leak_settings() AS n\", <<-SQL\n"+text+"\nSQL\n]")
		for range 2 {
			if got := mustCall(t, leaking, arguments); !strings.Contains(got, want) {
				t.Errorf("got %s", got)
			}
			wantEqual(t, mustCall(t, b, arguments), oneRow(want))
		}
		ro := adaptertest.Bind(t, s.sourceWith(`mode = "ro"`, `input "sql" { type = string }`, "statement = input.sql"))
		wantEqual(t, mustCall(t, ro, sqlArgument(t, `SELECT '\' AS a`)), oneRow(`{"a":"\\"}`))
		if _, err := b.Action.(adapters.Prober).Probe(t.Context()); err != nil {
			t.Error(err)
		}
		s.createTable(t, "a INTEGER")
	}
	for _, where := range []string{"DATABASE", "ROLE"} {
		t.Run("in the "+where, func(t *testing.T) {
			eachRoute(t, func(t *testing.T, direct ownServer, s server) {
				for name, value := range opposite {
					direct.exec(t, fmt.Sprintf("ALTER %s %s SET %s = '%s'", where, direct.name, name, value))
				}
				check(t, direct, s)
			})
		})
	}
	t.Run("in the url", func(t *testing.T) {
		eachRoute(t, func(t *testing.T, direct ownServer, s server) {
			for name, value := range opposite {
				if s == direct.server || strings.Contains("standard_conforming_strings client_encoding DateStyle", name) {
					s.url += "&" + name + "=" + url.PathEscape(value)
				}
			}
			check(t, direct, s)
		})
	})
	t.Run("in the options of the url", func(t *testing.T) { // which PgBouncer refuses
		direct := ownDatabase(t)
		var options strings.Builder
		for name, value := range opposite {
			options.WriteString(" -c " + name + "=" + strings.ReplaceAll(value, " ", `\ `))
		}
		s := direct.server
		s.url += "&options=" + strings.ReplaceAll(url.QueryEscape(options.String()), "+", "%20")
		check(t, direct, s)
	})
	t.Run("by a function", func(t *testing.T) { eachRoute(t, check) })
}

func TestTimeZoneIsThatOfTheDatabaseUnlessDeclared(t *testing.T) {
	const query = `query = "SELECT '2026-07-01 12:00:00Z'::timestamptz AS a, '2026-07-01 12:00:00Z'::timestamptz::timestamp AS b"`
	check := func(t *testing.T, s server, arguments, want string) {
		t.Helper()
		b := adaptertest.Bind(t, s.sourceWith(arguments, "", query))
		wantEqual(t, mustCall(t, b, `{}`), oneRow(want))
	}
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		direct.exec(t, "ALTER DATABASE "+direct.name+" SET TimeZone = 'America/New_York'")
		check(t, s, "", `{"a":"2026-07-01T08:00:00-04:00","b":"2026-07-01T08:00:00"}`)
		check(t, s, `time_zone = "Asia/Kolkata"`, `{"a":"2026-07-01T17:30:00+05:30","b":"2026-07-01T17:30:00"}`)
		check(t, s, `time_zone = "+05:30"`, `{"a":"2026-07-01T17:30:00+05:30","b":"2026-07-01T17:30:00"}`)
		check(t, s, `time_zone = "-03:30"`, `{"a":"2026-07-01T08:30:00-03:30","b":"2026-07-01T08:30:00"}`)
		check(t, s, `time_zone = "UTC"`, `{"a":"2026-07-01T12:00:00Z","b":"2026-07-01T12:00:00"}`)
		s.url += "&TimeZone=Europe/Berlin"
		check(t, s, "", `{"a":"2026-07-01T14:00:00+02:00","b":"2026-07-01T14:00:00"}`)
		b := adaptertest.Bind(t, s.sourceWith(`time_zone = "Mars/Olympus"`, "", query))
		if got := mustFail(t, b, `{}`); !strings.Contains(got, `time_zone = "Mars/Olympus"`) {
			t.Error(got)
		}
	})
}

// A function can change what the names of other tools mean, for the rest of a session.
func TestAFunctionChangesNoNameForOtherTools(t *testing.T) {
	s := ownDatabase(t)
	name := s.createTable(t, "n INTEGER")
	s.run(t, "INSERT INTO "+name+" VALUES (1)")
	s.run(t, "CREATE SCHEMA elsewhere")
	s.run(t, "CREATE TABLE elsewhere."+name+" (n INTEGER)")
	b := adaptertest.Bind(t, s.sourceWith("max_connections = 1", `input "do" { type = enum("read", "path", "zone", "role", "temp") }`, `exec = <<-SQL
		%{if input.do == "read"} SELECT n, current_setting('TimeZone') AS z FROM `+name+` %{else}
		%{if input.do == "path"} SELECT set_config('search_path', 'elsewhere', false) %{else}
		%{if input.do == "zone"} SELECT set_config('TimeZone', 'Asia/Tokyo', false) %{else}
		%{if input.do == "role"} SELECT set_config('role', '`+s.name+`', false) %{else}
		CREATE TEMP TABLE `+name+` (n INTEGER, z TEXT) %{endif} %{endif} %{endif} %{endif}
		SQL
		`))
	want := mustCall(t, b, `{"do":"read"}`)
	for _, do := range []string{"path", "zone", "role", "temp"} {
		mustCall(t, b, `{"do":"`+do+`"}`)
		wantEqual(t, mustCall(t, b, `{"do":"read"}`), want)
	}
}

func TestLostConnectionsOfPostgreSQLAreReplaced(t *testing.T) {
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		name := direct.createTable(t, "n INTEGER")
		tools := map[string]*adaptertest.BoundTool{
			"query":  s.bind(t, "", `query = "SELECT count(*) > 0 AS n FROM `+name+`"`),
			"exec":   s.bind(t, "", `exec = "INSERT INTO `+name+` VALUES (1)"`),
			"caller": adaptertest.Bind(t, s.sourceWith(`mode = "ro"`, `input "sql" { type = string }`, "statement = input.sql")),
		}
		arguments := map[string]string{"query": `{}`, "exec": `{}`, "caller": sqlArgument(t, "SELECT 1 AS n")}
		for range 3 {
			for kind, tool := range tools {
				mustCall(t, tool, arguments[kind])
				if err := tool.Handle("db").(adapters.Health).Ping(t.Context()); err != nil {
					t.Error(err)
				}
				var held sync.WaitGroup // several idle connections
				for range 4 {
					held.Go(func() { mustCall(t, tool, arguments[kind]) })
				}
				held.Wait()
				direct.killConns(t)
				if kind == "query" {
					if err := tool.Handle("db").(adapters.Health).Ping(t.Context()); err != nil {
						t.Error(err)
					}
					direct.killConns(t)
				}
				mustCall(t, tool, arguments[kind])
			}
		}
		var n int
		if err := connectTo(t, direct.url).QueryRow(t.Context(), "SELECT count(*) FROM "+name).Scan(&n); err != nil || n != 3*6 {
			t.Errorf("%d rows, want %d: %v", n, 3*6, err)
		}
	})
}

// A pooler in session mode lets those wait for whom it has no connection to the server.
func TestAPoolerWithFewSessionsServesMoreCallers(t *testing.T) {
	s := ownDatabase(t).startPooler(t, "pool_mode = session", "default_pool_size = 2")
	b := adaptertest.Bind(t, s.sourceWith(`connect_timeout = "300ms"`, "", `query = "SELECT 1 AS a"`))
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 20 {
				if _, err := b.Do(t.Context(), `{}`); err != nil {
					t.Errorf("%v: %v", err, errors.Unwrap(err))
				}
			}
		})
	}
	all.Wait()
}

// gate is a server's address, which can go away.
type gate struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

func openGate(t *testing.T, address, target string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: listener, target: target}
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
			g.mu.Lock()
			g.conns = append(g.conns, in, out)
			g.mu.Unlock()
			serving.Go(func() { io.Copy(out, in); out.Close() })
			serving.Go(func() { io.Copy(in, out); in.Close() })
		}
	})
	t.Cleanup(func() { g.close(); serving.Wait() })
	return g
}

// close ends the server: nothing listens, and its connections are closed.
func (g *gate) close() {
	g.listener.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range g.conns {
		conn.Close()
	}
}

// A database that was away is used by the first call after it is back, also at another address.
func TestADatabaseThatWasAwayIsUsedAgain(t *testing.T) {
	o := ownDatabase(t)
	name := o.createTable(t, "n INTEGER")
	u, err := url.Parse(o.url)
	if err != nil {
		t.Fatal(err)
	}
	first, second := openGate(t, "127.0.0.1:0", u.Host), openGate(t, "127.0.0.1:0", u.Host)
	secondAddress := second.listener.Addr().String()
	second.close()
	u.Host = first.listener.Addr().String() + "," + secondAddress
	s := o.server
	s.url = u.String()
	read := s.bind(t, "", `query = "SELECT count(*) AS n FROM `+name+`"`)
	write := s.bind(t, "", `exec = "INSERT INTO `+name+` VALUES (1)"`)
	want := 0
	call := func() {
		t.Helper()
		mustCall(t, write, `{}`)
		want++
		wantEqual(t, mustCall(t, read, `{}`), oneRow(fmt.Sprintf(`{"n":%d}`, want)))
	}
	call()
	first.close() // a restart, after which nobody has noticed anything
	first = openGate(t, first.listener.Addr().String(), first.target)
	call()
	first.close() // a failover
	openGate(t, secondAddress, first.target)
	call()
	for _, tool := range []*adaptertest.BoundTool{read, write} { // the other one is back, and is used at once
		if err := tool.Handle("db").(adapters.Health).Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	call()
}

// What a server that has become a standby answers to a change.
func TestAChangeOnAStandbyIsSaidToBeThat(t *testing.T) {
	s := connect(t, "postgres")
	name := s.createTable(t, "n INTEGER")
	b := s.bind(t, "", `exec = ["SELECT set_config('transaction_read_only', 'on', true)", "INSERT INTO `+name+` VALUES (1)"]`)
	wantEqual(t, mustFail(t, b, `{}`), msgReadOnlyServer)
}

func TestMistakesOfAPostgreSQLConnectionAreNotCalledUnavailable(t *testing.T) {
	s := connect(t, "postgres")
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	change := func(change func(u *url.URL, q url.Values)) string {
		changed, q := *u, u.Query()
		change(&changed, q)
		changed.RawQuery = q.Encode()
		return changed.String()
	}
	pooled := s.startPooler(t)
	for name, address := range map[string]string{
		"user":     change(func(u *url.URL, _ url.Values) { u.User = url.User("nobody-knows") }),
		"database": change(func(u *url.URL, _ url.Values) { u.Path = "/nowhere" }),
		"TLS":      change(func(_ *url.URL, q url.Values) { q.Set("sslmode", "verify-full") }),
		"option":   change(func(_ *url.URL, q url.Values) { q.Set("no_such_setting", "1") }),
		"value":    change(func(_ *url.URL, q url.Values) { q.Set("lock_timeout", "soon") }),
		"pooler":   pooled.url + "&search_path=x", "database of the pooler": strings.Replace(pooled.url, "/hatchel?", "/nowhere?", 1),
	} {
		t.Run(name, func(t *testing.T) {
			s.url = address
			b := s.bind(t, "", `query = "SELECT 1 AS a"`)
			var f *adapters.Fault
			if _, err := b.Do(t.Context(), `{}`); !errors.As(err, &f) || f.Unavailable || !f.NotSent ||
				!strings.Contains(f.Message, "misconfigured") || strings.Contains(f.Message, "nowhere") {
				t.Errorf("got %+v, %v", f, errors.Unwrap(err))
			}
			err := b.Handle("db").(adapters.Health).Ping(t.Context())
			if err == nil || strings.Contains(err.Error(), "failed to connect to") ||
				!strings.Contains(err.Error(), "; "+corrections[mistakeOf(err)]) {
				t.Errorf("validate --connect reports %v", err)
			}
		})
	}
	for name, err := range map[string]error{
		"password": &pgconn.PgError{Code: "28P01"}, "pg_hba.conf": &pgconn.PgError{Code: "28000"},
	} {
		if mistakeOf(fmt.Errorf("connect: %w", err)) == "" {
			t.Errorf("%s is no mistake", name)
		}
	}
}

// A change runs again in a transaction that begins again, if its rows have types that it did not have before.
func TestAChangeReturnsAColumnOfANewType(t *testing.T) {
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		table := direct.createTable(t, "n INTEGER")
		insert := s.bind(t, "", `exec = "INSERT INTO `+table+` (n) VALUES (NULL) RETURNING *"`)
		mustCall(t, insert, `{}`)
		direct.run(t, "CREATE TYPE mood_of_"+table+" AS ENUM ('good')")
		direct.run(t, "ALTER TABLE "+table+" ADD mood mood_of_"+table+" DEFAULT 'good'")
		for range 2 {
			got := mustCall(t, insert, `{}`)
			if !strings.Contains(got, `"row":{"n":null,"mood":"good"}`) {
				t.Errorf("got %s", got)
			}
		}
	})
}
