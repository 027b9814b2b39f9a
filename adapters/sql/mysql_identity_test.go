package sql

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// startTenants starts a server with a table invoices of two tenants. The login app has no rights but its roles, and the
// login hatchel all of them.
func startTenants(t testing.TB) *mariaDB {
	m := startMariaDB(t)
	for _, text := range []string{
		"USE hatchel",
		"CREATE TABLE invoices (id INTEGER PRIMARY KEY, tenant VARCHAR(50) COLLATE utf8mb4_general_ci, german VARCHAR(50) COLLATE utf8mb4_german2_ci)",
		"INSERT INTO invoices VALUES (1, 'acme', 'acme'), (2, 'umbrella', 'umbrella'), (3, 'acme', 'acme')",
		"CREATE TABLE plain (a INTEGER) ENGINE = MyISAM",
		"CREATE ROLE tenant_ro", "CREATE ROLE tenant_rw", "CREATE ROLE `the ``odd' one`", "CREATE ROLE not_granted", "CREATE ROLE idle",
		"GRANT SELECT, EXECUTE ON hatchel.* TO tenant_ro",
		"GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON hatchel.* TO tenant_rw", "GRANT SELECT ON hatchel.* TO `the ``odd' one`",
		"CREATE USER app@'127.0.0.1' IDENTIFIED BY 'app'",
		"GRANT tenant_ro TO app@'127.0.0.1'", "GRANT idle TO app@'127.0.0.1'", "GRANT tenant_rw TO app@'127.0.0.1'", "GRANT `the ``odd' one` TO app@'127.0.0.1'",
		"GRANT tenant_ro TO hatchel@'127.0.0.1'", "GRANT tenant_rw TO hatchel@'127.0.0.1'",
		"CREATE PROCEDURE intrude() SQL SECURITY INVOKER BEGIN " + intrusion + " END",
		"CREATE FUNCTION intrude_f() RETURNS INTEGER SQL SECURITY INVOKER BEGIN " + intrusion + " RETURN 1; END",
		"CREATE SQL SECURITY INVOKER VIEW intruding AS SELECT intrude_f() AS a",
		"CREATE SQL SECURITY INVOKER VIEW current_invoices AS SELECT id FROM invoices WHERE tenant = current_tenant()",
		"CREATE FUNCTION current_tenant() RETURNS VARCHAR(50) COLLATE utf8mb4_general_ci RETURN @tenant",
		"CREATE FUNCTION cached_tenant() RETURNS VARCHAR(50) COLLATE utf8mb4_general_ci READS SQL DATA BEGIN IF @Seen IS NULL THEN SET @Seen = @tenant; END IF; RETURN @Seen; END",
		"CREATE VIEW cached_invoices AS SELECT id FROM invoices WHERE tenant = cached_tenant()",
		"CREATE TABLE triggering (a INTEGER)", "CREATE TRIGGER intruder BEFORE INSERT ON triggering FOR EACH ROW CALL intrude()",
	} {
		if strings.HasPrefix(text, "CREATE SQL SECURITY INVOKER VIEW current") {
			defer m.exec(t, text)
			continue
		}
		m.exec(t, text)
	}
	return m
}

// intrusion sets what another caller must not find.
const intrusion = "SET @tenant = 'umbrella'; SET @note = 'intruder'; SET NAMES gbk; SET ROLE tenant_rw;"

// tenants is the source of a tool whose connection has variables and a role.
func (m *mariaDB) tenants(login, arguments, body string) adaptertest.Source {
	s := server{kind: "mysql", url: "mysql://" + login + ":" + login + "@" + m.address + "/hatchel"}
	return s.sourceWith("max_connections = 1\n"+arguments, "", body)
}

const variables = "session = { tenant = caller.claims.tenant, note = caller.claims.note }\n"

// A transaction sees the identity of its call, whatever the ones before it on the same connection have left.
func TestMariaDBKeepsCallersApart(t *testing.T) {
	m := startTenants(t)
	b := adaptertest.Bind(t, m.tenants("app", variables+`role = caller.claims.plan == "paid" ? "tenant_rw" : "tenant_ro"`, `query = "SELECT 1 AS a"`))
	db := b.Handle("db").(*mysqlDatabase)
	callers := []identity{
		{role: "tenant_ro", values: []string{"acme", "'; SET ROLE tenant_rw; -- \\' ? $1 縞"}},
		{role: "tenant_rw", values: []string{"umbrella", "é\\"}},
		{role: "tenant_ro", values: []string{"acme", "true"}},
	}
	ids := map[string]string{"acme": `[[1],[3]]`, "umbrella": `[[2]]`}
	check := func(t *testing.T, as identity, after string) {
		t.Helper()
		for _, q := range [][2]string{
			{"SELECT id FROM cached_invoices ORDER BY id", ids[as.values[0]]},
			{"SELECT CURRENT_ROLE() AS r, @tenant AS t, @note AS n, 'ü' AS u", fmt.Sprintf(`["%s","%s",%s,"ü"]`, as.role, as.values[0], quoteJSON(as.values[1]))},
			{"SELECT id FROM invoices WHERE tenant = @tenant ORDER BY id", ids[as.values[0]]},
			{"SELECT id FROM current_invoices ORDER BY id", ids[as.values[0]]},
		} {
			got, err := cellsOf(t.Context(), db, as, q[0])
			if want := strings.TrimSuffix(strings.TrimPrefix(q[1], "["), "]"); err != nil || got != want && got != q[1] {
				t.Fatalf("after %s, %s gives %s, %v; want %s", after, q[0], got, err, q[1])
			}
		}
	}
	hostile := []string{
		"SELECT id FROM cached_invoices", "CALL intrude()", "SELECT intrude_f()", "SELECT a FROM intruding", "SELECT @tenant := 'umbrella', @note := 'x'",
		"SELECT id FROM invoices WHERE tenant = @tenant", "SELECT nothing", "INSERT INTO invoices VALUES (1, '', '')",
		"INSERT INTO triggering VALUES (1)", "SET @tenant = 'umbrella'", "SET ROLE NONE", "KILL CONNECTION_ID()", "SELECT SLEEP(60)",
		"SELECT id, 1 / (SELECT 0) FROM invoices", "RESET QUERY CACHE",
	}
	failed := errors.New("expect")
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		as := callers[random.IntN(len(callers))]
		text := hostile[n%len(hostile)]
		ctx, cancel := t.Context(), func() {}
		if strings.Contains(text, "SLEEP") {
			ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		}
		run := db.read
		if random.IntN(2) == 0 {
			run = db.write
		}
		err := run(ctx, as, func(tx transaction) error {
			for range 1 + random.IntN(2) {
				if err := tx.run(ctx, &execution{text: text, isQuery: strings.HasPrefix(text, "SELECT"), result: &resultSet{maxRows: 9}}); err != nil {
					return err
				}
			}
			if random.IntN(3) == 0 {
				return failed
			}
			return nil
		})
		cancel()
		check(t, callers[random.IntN(len(callers))], fmt.Sprintf("%s as %s (%v)", text, as.role, err))
		if n%50 == 0 {
			m.exec(t, "KILL USER app")
		}
	}
	t.Run("a role is what the database knows by this name", func(t *testing.T) {
		got, err := cellsOf(t.Context(), db, identity{role: "the `odd' one", values: []string{"a", "b"}}, "SELECT CURRENT_ROLE() AS r")
		wantEqual(t, fmt.Sprint(got, err), `["the `+"`odd' one"+`"]<nil>`)
	})
	t.Run("the rights are those of the role", func(t *testing.T) {
		add := "INSERT INTO invoices VALUES (9, 'acme', 'acme')"
		for range 2 {
			_, err := cellsOf(t.Context(), db, callers[1], add)
			wantEqual(t, fmt.Sprint(err), "<nil>")
			_, err = cellsOf(t.Context(), db, callers[0], add)
			if err == nil || !strings.Contains(err.Error(), "INSERT command denied") {
				t.Error(err)
			}
		}
	})
	t.Run("a role that the login does not have", func(t *testing.T) {
		_, err := cellsOf(t.Context(), db, identity{role: "not_granted", values: []string{"a", "b"}}, "SELECT 1")
		if refused := new(identityError); !errors.As(err, &refused) {
			t.Error(err)
		}
		check(t, callers[0], "a role that was refused")
	})
	t.Run("each form of a call", func(t *testing.T) { checkCallsOnMariaDB(t, m) })
	t.Run("a failed transaction of tables without transactions", func(t *testing.T) {
		if !db.mayLackTransactions(t.Context(), "tenant_rw") {
			t.Error("the role does not see the table plain")
		}
	})
}

// checkCallsOnMariaDB checks that each form of a call runs as its caller: queries, streamed rows, lists, each, and
// calls that an expect block refuses.
func checkCallsOnMariaDB(t *testing.T, m *mariaDB) {
	m.exec(t, "CREATE TABLE hatchel.notes (id INTEGER AUTO_INCREMENT PRIMARY KEY, tenant VARCHAR(50) COLLATE utf8mb4_bin, n INTEGER)")
	m.exec(t, "CREATE TRIGGER hatchel.stamp BEFORE INSERT ON hatchel.notes FOR EACH ROW SET NEW.tenant = @tenant, @stamped = @tenant")
	source := m.tenants("app", `session = { tenant = caller.claims.tenant }
  role = { free = "tenant_ro", paid = "tenant_rw" }[caller.claims.plan]`, `query = "SELECT 1 AS a"`)
	source.HCL += `
tool "list" {
  description = "Lists the notes."
  sql "db" { query = "SELECT @tenant AS me, CURRENT_ROLE() AS role, @stamped IS NULL AS clean" }
}
tool "own" {
  description = "Counts the notes of a tenant."
  sql "db" { query = "SELECT COUNT(*) AS n FROM invoices WHERE tenant = @tenant" }
}
tool "add" {
  description = "Adds notes."
  input "ns" { type = list(integer) }
  sql "db" {
    each = input.ns
    exec = [
      "INSERT INTO notes (n) VALUES (${each.value})",
      "UPDATE notes SET n = n + 1 WHERE n = ${each.value} AND tenant = @tenant",
    ]
  }
}
`
	bound := adaptertest.Bind(t, source)
	list, own, add := bound.Other(t, "list"), bound.Other(t, "own"), bound.Other(t, "add")
	counts := map[string]string{"acme": "2", "umbrella": "1"}
	check := func(as hcl.CallerMembers, name, role string) {
		t.Helper()
		for range 2 {
			wantEqual(t, mustCall(t, own.As(as), `{}`), oneRow(`{"n":`+counts[name]+`}`))
			wantEqual(t, mustCall(t, list.As(as), `{}`), oneRow(`{"me":"`+name+`","role":"`+role+`","clean":1}`))
			rows := &rowCounter{}
			if err := stream(t, own.As(as), `{}`, rows); err != nil || fmt.Sprint(rows.last) != "["+counts[name]+"]" {
				t.Errorf("%s streams %v, %v", name, rows.last, err)
			}
		}
	}
	for n := range 6 {
		name := []string{"acme", "umbrella"}[n%2]
		paid := tenant(name)
		mustCall(t, add.As(paid), fmt.Sprintf(`{"ns":[%d,%d]}`, 10*n+1, 10*n+5))
		free := tenant([]string{"umbrella", "acme"}[n%2])
		free["claims"].(map[string]any)["plan"] = "free"
		check(free, free["claims"].(map[string]any)["tenant"].(string), "tenant_ro")
		mustFail(t, add.As(free), `{"ns":[1]}`)
		check(paid, name, "tenant_rw")
		call, err := add.As(paid).Call(t.Context(), fmt.Sprintf(`{"ns":[%d]}`, 10*n+7))
		if err != nil {
			t.Fatal(err)
		}
		call.CheckOutput = func(any) error { return errExpected }
		if _, err := add.Action.Do(t.Context(), call); !errors.Is(err, errExpected) {
			t.Error(err)
		}
	}
	wantEqual(t, fmt.Sprint(m.scan(t, "SELECT n FROM hatchel.notes WHERE tenant = 'acme' ORDER BY n")), "[2 6 22 26 42 46]")
	wantEqual(t, fmt.Sprint(m.scan(t, "SELECT n FROM hatchel.notes WHERE tenant = 'umbrella' ORDER BY n")), "[12 16 32 36 52 56]")
	wantEqual(t, fmt.Sprint(m.scan(t, "SELECT COUNT(*) FROM hatchel.notes")), "[12]")
}

// cellsOf returns the rows of a query in a transaction that changes nothing, as JSON.
func cellsOf(ctx context.Context, db database, as identity, text string) (got string, err error) {
	undone := errors.New("undone")
	err = db.write(ctx, as, func(tx transaction) error {
		e := &execution{text: text, isQuery: strings.HasPrefix(text, "SELECT"), result: &resultSet{maxRows: 9}}
		if err := tx.run(ctx, e); err != nil {
			return err
		}
		var rows []string
		for i := range e.result.rows {
			var cells []string
			width := len(e.result.columns.columns)
			for _, v := range e.result.cells[i*width : (i+1)*width] {
				cells = append(cells, string(appendCell(nil, v)))
			}
			rows = append(rows, "["+strings.Join(cells, ",")+"]")
		}
		got = strings.Join(rows, ",")
		return undone
	})
	if errors.Is(err, undone) {
		err = nil
	}
	return got, err
}

func quoteJSON(text string) string { return string(appendCell(nil, text)) }

// logged returns what the server was sent during a call, one line for each command.
func (m *mariaDB) logged(t *testing.T, login string, do func()) (all []string) {
	t.Helper()
	m.exec(t, "SET GLOBAL log_output = 'TABLE', GLOBAL general_log = 1")
	m.exec(t, "TRUNCATE mysql.general_log")
	do()
	m.exec(t, "SET GLOBAL general_log = 0")
	rows, err := m.root.Query("SELECT command_type, argument FROM mysql.general_log WHERE user_host LIKE '" + login + "%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var command, argument string
		if err := rows.Scan(&command, &argument); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(argument)
		all = append(all, command+" "+strings.Join(words[:min(2, len(words))], " "))
	}
	return all
}

// A connection with variables takes no more round trips than one without; a role takes one.
func TestRoundTripsOfAnIdentityOnMariaDB(t *testing.T) {
	m := startTenants(t)
	plain := []string{"Query SET NAMES", "Query START TRANSACTION", "Execute SELECT id", "Query ROLLBACK"}
	with := []string{"Execute SET NAMES", "Query START TRANSACTION", "Execute SELECT id", "Query ROLLBACK"}
	for _, c := range []struct {
		name, arguments, where string
		callers                []identity
		want                   []string
	}{
		{"without an identity", "", "'acme'", []identity{{}}, plain},
		{"with variables", variables, "@tenant", []identity{{values: []string{"acme", "n"}}, {values: []string{"acme", "m"}}}, with},
		{"with a role", `role = "tenant_ro"`, "'acme'", []identity{{role: "tenant_ro"}}, slices.Insert(slices.Clone(plain), 1, "Query SET ROLE")},
		{"with both", variables + `role = "tenant_ro"`, "@tenant", []identity{{role: "tenant_ro", values: []string{"acme", "n"}}, {role: "tenant_rw", values: []string{"acme", "m"}}},
			slices.Insert(slices.Clone(with), 1, "Query SET ROLE")},
	} {
		t.Run(c.name, func(t *testing.T) {
			login := "hatchel"
			b := adaptertest.Bind(t, m.tenants(login, c.arguments, `query = "SELECT 1 AS a"`))
			db := b.Handle("db").(*mysqlDatabase)
			for n := range 4 {
				as := c.callers[n%len(c.callers)]
				got := m.logged(t, login, func() {
					if rows, err := readOnce(t.Context(), db, as, "SELECT id FROM invoices WHERE tenant = "+c.where); err != nil || rows != 2 {
						t.Fatal(rows, err)
					}
				})
				if n > 0 && !slices.Equal(got, c.want) {
					t.Errorf("the call takes\n%s, not\n%s", strings.Join(got, "; "), strings.Join(c.want, "; "))
				}
			}
		})
	}
}

func readOnce(ctx context.Context, db database, as identity, text string) (rows int, err error) {
	err = db.read(ctx, as, func(tx transaction) error {
		e := &execution{text: text, isQuery: true, last: true, result: &resultSet{maxRows: 9}}
		err := tx.run(ctx, e)
		rows = e.result.rows
		return err
	})
	return rows, err
}

func TestProofOfIdentitiesOnMariaDB(t *testing.T) {
	m := startTenants(t)
	const swapped = "The value of tenant does not reach the second statement of a transaction. A pooler or a proxy in between must keep a " +
		"connection for each transaction, as pool_mode = transaction of PgBouncer does."
	for _, c := range []struct{ login, arguments, want string }{
		{"app", variables + `role = "tenant_ro"`, ""},
		{"hatchel", variables, ""},
		{"app", `role = caller.claims.n == 1 ? "not_granted" : caller.claims.n == 2 ? "not there" : "tenant_rw"`, `
fault: The login "app@127.0.0.1" may not become not there: GRANT ` + "`not there`" + ` TO 'app'@'127.0.0.1'
fault: The login "app@127.0.0.1" may not become not_granted: GRANT not_granted TO 'app'@'127.0.0.1'`},
		{"app", `role = "idle"`, `fault: The role idle may not use the database of the url: Access denied for user 'app'@'127.0.0.1' to database 'hatchel'.`},
		{"hatchel", variables + `role = "tenant_ro"`,
			"warning: The login \"hatchel@127.0.0.1\" has rights without a role, which each role adds to: ALL PRIVILEGES ON `hatchel`.*. Revoke them, or calls of every role have them."},
	} {
		wantEqual(t, proofOf(t, adaptertest.Bind(t, m.tenants(c.login, c.arguments, `query = "SELECT 1 AS a"`))), strings.TrimSpace(c.want))
	}
	address := m.address
	m.address = swappingProxy(t, address, hex.EncodeToString([]byte(probeValue)), hex.EncodeToString([]byte("another's value!")))
	wantEqual(t, proofOf(t, adaptertest.Bind(t, m.tenants("app", `session = { tenant = caller.claims.tenant }`+"\n"+`role = "tenant_ro"`, `query = "SELECT 1 AS a"`))),
		"fault: "+swapped)
	t.Run("columns that ignore case", func(t *testing.T) {
		m.address = address
		m.exec(t, "CREATE TABLE hatchel.cased (id INTEGER, tenant VARCHAR(50) CHARACTER SET latin1, exact VARCHAR(50) COLLATE utf8mb4_bin, `the note` VARCHAR(50) CHARACTER SET utf8mb4)")
		const same = "warning: A caller whose %[1]s is \"ACME\" also reads the rows of \"acme\": the column %[2]s has the collation %[3]s, which " +
			"ignores case. Give the column the collation utf8mb4_bin, or write @%[1]s COLLATE utf8mb4_bin."
		for query, want := range map[string]string{
			"SELECT id FROM cased WHERE exact = @tenant AND id = @note":                                  "",
			"SELECT id FROM cased WHERE tenant = @Tenant COLLATE utf8mb4_bin":                            "",
			"SELECT id FROM cased WHERE @tenant COLLATE utf8mb4_bin = tenant -- tenant = @tenant":        "",
			"SELECT c.id FROM hatchel.cased c WHERE c.tenant = @TENANT":                                  fmt.Sprintf(same, "tenant", "hatchel.cased.tenant", "latin1_swedish_ci"),
			"SELECT c.id FROM cased c JOIN invoices i ON i.id = c.id AND @tenant <=> i.`tenant`":         fmt.Sprintf(same, "tenant", "cased.tenant", "latin1_swedish_ci") + "\n" + fmt.Sprintf(same, "tenant", "invoices.tenant", "utf8mb4_general_ci"),
			"DELETE FROM cased WHERE `the note` = @note":                                                 fmt.Sprintf(same, "note", "cased.the note", "utf8mb4_general_ci"),
			"INSERT INTO cased (id) SELECT id FROM invoices WHERE tenant=@tenant AND '@note' = 'german'": fmt.Sprintf(same, "tenant", "cased.tenant", "latin1_swedish_ci") + "\n" + fmt.Sprintf(same, "tenant", "invoices.tenant", "utf8mb4_general_ci"),
		} {
			argument := "exec"
			if strings.HasPrefix(query, "SELECT") {
				argument = "query"
			}
			role := `role = caller.claims.n == 1 ? "tenant_ro" : "tenant_rw"`
			b := adaptertest.Bind(t, m.tenants("app", variables+role, fmt.Sprintf("%s = %q", argument, query)))
			wantEqual(t, proofOf(t, b), want)
		}
	})
	t.Run("collations", func(t *testing.T) {
		m.address = address
		for query, want := range map[string]string{
			"query = \"SELECT id FROM invoices WHERE tenant = @tenant\"":                            "<nil>",
			"query = \"SELECT id FROM invoices WHERE german = @tenant COLLATE utf8mb4_german2_ci\"": "<nil>",
			"query = \"SELECT id FROM invoices WHERE german = @tenant\"": "The database rejects the statement as tenant_rw: Illegal mix of collations " +
				"(utf8mb4_german2_ci,IMPLICIT) and (utf8mb4_general_ci,IMPLICIT) for operation '=' (a variable is compared with COLLATE and " +
				"the collation of the column: @tenant COLLATE utf8mb4_german2_ci).",
			"exec = \"DELETE FROM invoices WHERE german = @tenant\"": "The database rejects the statement as tenant_rw: Illegal mix of collations " +
				"(utf8mb4_german2_ci,IMPLICIT) and (utf8mb4_general_ci,IMPLICIT) for operation '=' (a variable is compared with COLLATE and " +
				"the collation of the column: @tenant COLLATE utf8mb4_german2_ci).",
		} {
			b := adaptertest.Bind(t, m.tenants("app", variables+`role = "tenant_rw"`, query))
			_, err := b.Action.(adapters.Prober).Probe(t.Context())
			wantEqual(t, fmt.Sprint(err), want)
		}
	})
}

// A variable means in a comparison what the value of the caller means.
func TestValuesOfCallersOnMariaDB(t *testing.T) {
	m := startTenants(t)
	for _, text := range []string{
		"CREATE TABLE hatchel.flags (id INTEGER, flag BOOLEAN, number BIGINT, price DECIMAL(30, 10), word VARCHAR(50), latin VARCHAR(50) CHARACTER SET latin1)",
		"INSERT INTO hatchel.flags VALUES (1, TRUE, 9007199254740993, 0.1, '42', 'Möller'), (2, FALSE, 9007199254740992, 0.1000000001, '42abc', 'Muller')",
	} {
		m.exec(t, text)
	}
	for _, c := range []struct {
		column string
		value  any
		want   string
	}{
		{"flag", true, `[{"id":1}]`}, {"flag", false, `[{"id":2}]`}, {"number", 9007199254740993, `[{"id":1}]`}, {"number", "9007199254740992", `[{"id":2}]`},
		{"word", 42, `[{"id":1}]`}, {"word", "42abc", `[{"id":2}]`}, {"latin", "Möller", `[{"id":1}]`}, {"latin", "縞", `[]`}, {"price", 0.1, `[{"id":1}]`},
	} {
		b := adaptertest.Bind(t, m.tenants("hatchel", "session = { v = caller.claims.v }", `query = "SELECT id FROM flags WHERE `+c.column+` = @v"`))
		got, err := b.As(hcl.CallerMembers{"claims": map[string]any{"v": c.value}}).Do(t.Context(), `{}`)
		if err != nil {
			t.Errorf("%s = %v: %v", c.column, c.value, err)
			continue
		}
		text, _ := value.AppendJSON(nil, got["rows"])
		if string(text) != c.want {
			t.Errorf("%s = %v finds %s, want %s", c.column, c.value, text, c.want)
		}
	}
}

// BenchmarkIdentityOnMariaDB reads one row as callers in turn.
func BenchmarkIdentityOnMariaDB(b *testing.B) {
	m := startTenants(b)
	four := "session = { tenant = caller.claims.tenant, note = caller.claims.tenant, third = caller.claims.tenant, fourth = caller.claims.tenant }\n"
	for _, c := range []struct{ name, arguments string }{
		{"without", ""}, {"session", four}, {"role", `role = "tenant_ro"`},
		{"session and role", four + `role = caller.claims.tenant == "acme" ? "tenant_ro" : "tenant_rw"`},
	} {
		b.Run(c.name, func(b *testing.B) {
			bound := adaptertest.Bind(b, m.tenants("hatchel", c.arguments, `query = "SELECT id FROM invoices WHERE id = 1"`))
			callers := []*adaptertest.BoundTool{bound.As(tenant("acme")), bound.As(tenant("umbrella"))}
			n := 0
			for b.Loop() {
				mustCall(b, callers[n%2], `{}`)
				n++
			}
		})
	}
}
