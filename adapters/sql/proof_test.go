package sql

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// proofOf returns the faults and the warnings of the connection of a tool.
func proofOf(t *testing.T, b *adaptertest.BoundTool) string {
	t.Helper()
	faults, warnings := b.Handle("db").(adapters.Prover).Prove(t.Context(), []adapters.Action{b.Action})
	out := ""
	for _, found := range []struct {
		kind string
		err  error
	}{{"fault", faults}, {"warning", warnings}} {
		if found.err != nil {
			out += found.kind + ": " + strings.ReplaceAll(found.err.Error(), "\n", "\n"+found.kind+": ") + "\n"
		}
	}
	return strings.TrimSpace(out)
}

// swappingProxy replaces texts of the same length in what clients send to a server.
func swappingProxy(t *testing.T, target string, pairs ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer server.Close()
				go func() { _, _ = io.Copy(client, server) }()
				for buffer := make([]byte, 64<<10); ; {
					n, err := client.Read(buffer)
					if err != nil {
						return
					}
					sent := buffer[:n]
					for i := 0; i < len(pairs); i += 2 {
						sent = bytes.ReplaceAll(sent, []byte(pairs[i]), []byte(pairs[i+1]))
					}
					if _, err := server.Write(sent); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestProofOfIdentitiesOnPostgreSQL(t *testing.T) {
	o := ownDatabase(t)
	owner := connectTo(t, o.url)
	for _, role := range []string{"app", "ro", "other", "super", "bypass", "owning", "Odd one", "boss", "passing"} {
		name := `"` + o.name + "_" + role + `"`
		attributes := map[string]string{"super": "SUPERUSER", "bypass": "BYPASSRLS", "app": "LOGIN NOINHERIT", "boss": "LOGIN SUPERUSER", "passing": "LOGIN BYPASSRLS"}
		o.exec(t, "CREATE ROLE "+name+" "+attributes[role])
		t.Cleanup(func() { o.exec(t, "DROP ROLE "+name) })
		if role != "other" && attributes[role] == "" || role == "super" || role == "bypass" {
			o.exec(t, "GRANT "+name+` TO "`+o.name+`_app"`)
		}
	}
	o.exec(t, `GRANT "`+o.name+`" TO "`+o.name+`_owning"`)
	admin := connectTo(t, strings.Replace(strings.Replace(o.url, o.name+"@", "postgres@", 1), "?", "?", 1))
	for _, text := range []string{
		"CREATE TABLE invoices (id INTEGER, tenant TEXT)", "ALTER TABLE invoices ENABLE ROW LEVEL SECURITY",
		"CREATE POLICY own ON invoices USING (tenant = current_setting('app.tenant'))",
		`CREATE TABLE "Odd" (id INTEGER)`, `ALTER TABLE "Odd" ENABLE ROW LEVEL SECURITY`,
		"CREATE TABLE forced (id INTEGER)", "ALTER TABLE forced ENABLE ROW LEVEL SECURITY", "ALTER TABLE forced FORCE ROW LEVEL SECURITY",
		"CREATE TABLE plain (id INTEGER)", "CREATE TABLE forgotten (id INTEGER)", "CREATE POLICY own ON forgotten USING (true)",
		"CREATE TABLE parts (id INTEGER) PARTITION BY LIST (id)", "ALTER TABLE parts ENABLE ROW LEVEL SECURITY",
		"CREATE TABLE middle PARTITION OF parts FOR VALUES IN (1) PARTITION BY LIST (id)", "CREATE TABLE part_a PARTITION OF middle DEFAULT",
		"CREATE TABLE own_part PARTITION OF parts FOR VALUES IN (2)", "ALTER TABLE own_part ENABLE ROW LEVEL SECURITY",
		"CREATE TABLE audited (id INTEGER, who TEXT DEFAULT current_setting('app.tenant', true))",
		"CREATE MATERIALIZED VIEW stored AS SELECT id FROM forced",
		"CREATE VIEW recent AS SELECT id FROM invoices", "CREATE VIEW newest AS SELECT id FROM recent",
		"CREATE VIEW safe WITH (security_invoker) AS SELECT id FROM invoices", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC",
	} {
		if _, err := owner.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"CREATE VIEW by_admin AS SELECT id FROM forced", "GRANT SELECT ON by_admin TO PUBLIC"} {
		if _, err := admin.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	const addPolicy = "Let a policy of each table with rows of several callers read it, as in ALTER TABLE plain ENABLE " +
		"ROW LEVEL SECURITY; CREATE POLICY … USING (… = current_setting('app.tenant'))"
	tenant := `session = { "app.tenant" = caller.claims.tenant }`
	role := func(names ...string) string {
		text := `"` + o.name + "_" + names[0] + `"`
		for i, name := range names[1:] {
			text = fmt.Sprintf(`caller.claims.n == %d ? "%s_%s" : %s`, i, o.name, name, text)
		}
		return "role = " + text
	}
	for _, c := range []struct{ login, arguments, query, want string }{
		{"app", "", "SELECT id FROM invoices", ""},
		{"app", tenant + "\n" + role("ro"), "SELECT id FROM invoices, forced, plain, safe, information_schema.tables", ""},
		{"app", tenant, "SELECT id FROM invoices", ""},
		{"app", tenant + "\n" + role("ro", "Odd one"), "SELECT id FROM invoices", ""},
		{"app", role("other", "super", "bypass", "none_such", "Odd two"), "SELECT id FROM plain", `
fault: There is no role @Odd two: CREATE ROLE "@Odd two"; GRANT "@Odd two" TO @app
fault: The role @bypass bypasses row-level security, so no policy restricts it.
fault: There is no role @none_such: CREATE ROLE @none_such; GRANT @none_such TO @app
fault: The login "@app" may not become @other: GRANT @other TO @app
fault: The role @super is a superuser, so no policy restricts it.`},
		{"app", `session = { "app.tenant" = caller.claims.tenant, "app.user" = caller.subject }` + "\n" + role("bypass"), "SELECT id FROM plain",
			"fault: The role @bypass bypasses row-level security, so app.tenant and app.user filter nothing.\n" +
				"warning: No table of the tools has a policy, so app.tenant and app.user filter nothing. " + addPolicy},
		{"app", tenant, "SELECT p.id FROM plain p, plain", "warning: No table of the tools has a policy, so app.tenant filters nothing. " + addPolicy},
		{"app", tenant, "SELECT id FROM plain WHERE current_setting('app.tenant') = 'a'", ""},
		{"app", tenant, "SELECT id FROM plain, audited", ""},
		{"app", tenant, "SELECT p.id FROM plain p, pg_catalog.pg_class", ""},
		{"app", tenant + "\n" + role("owning"), `SELECT i.id FROM public.invoices i, forced f, plain, "Odd"`, `
warning: The policies of "Odd" do not apply to @owning, which owns it or has the rights of its owner: ALTER TABLE "Odd" FORCE ROW LEVEL SECURITY
warning: The policies of invoices do not apply to @owning, which owns it or has the rights of its owner: ALTER TABLE invoices FORCE ROW LEVEL SECURITY`},
		{"", tenant, "SELECT id FROM invoices",
			"warning: The policies of invoices do not apply to @, which owns it or has the rights of its owner: ALTER TABLE invoices FORCE ROW LEVEL SECURITY"},
		{"boss", tenant, "SELECT id FROM plain", "warning: The login @boss is a superuser, so app.tenant filters nothing."},
		{"boss", tenant, "SELECT id FROM invoices", "fault: The login @boss is a superuser, so app.tenant filters nothing."},
		{"passing", tenant, "SELECT id FROM plain", "warning: The login @passing bypasses row-level security, so app.tenant filters nothing."},
		{"passing", tenant, "SELECT id FROM forced", "fault: The login @passing bypasses row-level security, so app.tenant filters nothing."},
		{"app", tenant, "SELECT 1 AS a FROM forgotten, parts, part_a, stored, own_part", `
warning: The policies of parts do not apply to part_a when it is read by its own name. Read parts, or give part_a policies: ALTER TABLE part_a ENABLE ROW LEVEL SECURITY
warning: The policies of forgotten do not apply, because it has no row-level security: ALTER TABLE forgotten ENABLE ROW LEVEL SECURITY
warning: The materialized view stored stores rows of forced, to which the policies of that table do not apply. Read the table, or a view.`},
		{"app", tenant + "\n" + role("ro"), "SELECT n.id FROM newest n, safe, by_admin", `
warning: The view by_admin reads forced with the rights of postgres, to which the policies of that table do not apply: ALTER VIEW by_admin SET (security_invoker = true)
warning: The view recent reads invoices with the rights of @, to which the policies of that table do not apply: ALTER VIEW recent SET (security_invoker = true)`},
	} {
		b := adaptertest.Bind(t, o.as(c.login).sourceWith(c.arguments, "", fmt.Sprintf("query = %q", c.query)))
		got := strings.ReplaceAll(proofOf(t, b), o.name+"_", "@")
		wantEqual(t, strings.ReplaceAll(got, o.name, "@"), strings.TrimSpace(c.want))
	}
}

// as returns the server for a login whose name begins with that of the database; for its owner without one.
func (o ownServer) as(login string) server {
	if login != "" {
		u, _ := url.Parse(o.url)
		u.User = url.User(o.name + "_" + login)
		o.url = u.String()
	}
	return o.server
}

// The name of a value that an extension has taken, and values that do not arrive or that stay.
func TestProofOfValuesOnPostgreSQL(t *testing.T) {
	o := ownDatabase(t)
	u, err := url.Parse(o.url)
	if err != nil {
		t.Fatal(err)
	}
	address := u.Host
	for _, c := range []struct {
		pairs   []string
		session string
		want    string
	}{
		{nil, "app.tenant", ""},
		{[]string{probeValue, "another's value!"}, "app.tenant", "fault: The value of app.tenant does not reach the second statement of a " +
			"transaction. A pooler or a proxy in between must keep a connection for each transaction, as pool_mode = transaction of PgBouncer does."},
		{[]string{"$2, true)", "$2,false)", "ROLLBACK", "COMMIT  "}, "app.tenant", "fault: The value of app.tenant stays after its transaction, so another caller would find it."},
	} {
		u.Host = swappingProxy(t, address, c.pairs...)
		s := o.server
		s.url = u.String()
		wantEqual(t, proofOf(t, adaptertest.Bind(t, s.sourceWith(`max_connections = 1
			session = { "`+c.session+`" = caller.claims.tenant }`, "", `query = "SELECT 1 AS a"`))), c.want)
	}
	o.exec(t, "ALTER ROLE "+o.name+" SET session_preload_libraries = 'auth_delay'")
	wantEqual(t, proofOf(t, adaptertest.Bind(t, o.sourceWith(`session = { "Auth_Delay.milliseconds" = caller.claims.tenant }`, "", `query = "SELECT 1 AS a"`))),
		`fault: Auth_Delay.milliseconds is a setting of an extension that the server has loaded. Choose another prefix, such as "app.tenant".`)
}
