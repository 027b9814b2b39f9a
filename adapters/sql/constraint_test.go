package sql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/mock"
)

// violation is a statement that violates a constraint, what the model reads of it, and what expressions do.
type violation struct{ statement, message, constraint, table, columns string }

// checkViolations executes the statements. Values of rows, which all contain "secret", are in no message.
func checkViolations(t *testing.T, kind string, bind func(inputs, body string) *adaptertest.BoundTool, all []violation) {
	t.Helper()
	for _, v := range all {
		t.Run(v.statement, func(t *testing.T) {
			_, err := bind("", fmt.Sprintf("exec = %q", v.statement)).Do(t.Context(), `{}`)
			var f *adapters.Fault
			if !errors.As(err, &f) {
				t.Fatal(err)
			}
			wantEqual(t, f.Message, v.message)
			c := adapters.Constraint{}
			if f.Constraint != nil {
				c = *f.Constraint
			}
			wantEqual(t, fmt.Sprintf("%s|%s|%s", c.Name, c.Table, strings.Join(c.Columns, ",")), fmt.Sprintf("%s|%s|%s", v.constraint, v.table, v.columns))
			if strings.Contains(f.Message+f.Hint+fmt.Sprint(c), "secret") {
				t.Error("a value of a row leaks")
			}
			if f.Unquoted == nil || strings.Contains(fmt.Sprint(*f.Unquoted), "secret") {
				t.Errorf("a mask leaves %v", f.Unquoted)
			} else if before, _, raised := strings.Cut(v.message, ": "); !raised {
				wantEqual(t, f.Unquoted.Message, v.message)
			} else if !strings.HasPrefix(f.Unquoted.Message, before+" (") {
				t.Errorf("a mask leaves %s", f.Unquoted.Message)
			}
			taped := &mockedDatabase{kind: kind}
			replayed := toFault(taped.engineError(&mock.Reply{Args: rejection(f.Cause)}), dialects[kind], false)
			wantEqual(t, fmt.Sprint(replayed.Message, replayed.Constraint), fmt.Sprint(f.Message, f.Constraint))
		})
	}
}

func TestViolatedConstraintsAreNamedWithoutValues(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		s := connect(t, "postgres")
		for _, text := range []string{
			"DROP SCHEMA IF EXISTS con CASCADE", "CREATE SCHEMA con",
			"CREATE DOMAIN con.mail AS text CONSTRAINT mail_form CHECK (VALUE NOT LIKE '%)=(%')",
			"CREATE TABLE con.p (id text PRIMARY KEY, a text, b text, CONSTRAINT p_a_b UNIQUE (a, b))",
			"CREATE UNIQUE INDEX p_lower ON con.p (lower(a)) WHERE b = 'secret x'",
			"CREATE UNIQUE INDEX p_equal ON con.p ((a = 'secret (x)=(y)')) WHERE b = 'secret =='",
			"CREATE TABLE con.c (id int, p text CONSTRAINT c_p REFERENCES con.p, n int NOT NULL DEFAULT 1 CONSTRAINT c_n CHECK (n > 0), m con.mail, t text CHECK (t <> 'secret )=(x)=('), EXCLUDE USING hash (t WITH =))",
			"CREATE VIEW con.v AS SELECT * FROM con.p WHERE a <> 'secret v' WITH CHECK OPTION",
			"INSERT INTO con.p VALUES ('secret 1', 'secret a', 'secret x'), ('secret 2', 'secret z', 'secret ==')",
			"INSERT INTO con.c VALUES (1, 'secret 1', 1, NULL, 'secret t')",
			`CREATE FUNCTION con.f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no stock.' USING HINT = 'order less', ERRCODE = '23514', DETAIL = 'secret'; END $$`,
			`CREATE FUNCTION con.g() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no stock.' USING HINT = 'order less', ERRCODE = '23505', DETAIL = 'secret', CONSTRAINT = 'g_c', TABLE = 'g', COLUMN = 'n'; END $$`,
			`CREATE FUNCTION con.h() RETURNS int LANGUAGE plpgsql AS $$ BEGIN ASSERT 1 < 0, 'stock is negative'; RETURN 1; END $$`,
		} {
			s.run(t, text)
		}
		defer s.run(t, "DROP SCHEMA con CASCADE")
		checkViolations(t, s.kind, func(inputs, body string) *adaptertest.BoundTool { return s.bind(t, inputs, body) }, []violation{
			{"INSERT INTO con.p VALUES ('secret 1')", "a row with the same id already exists (constraint p_pkey, table p)", "p_pkey", "p", "id"},
			{"INSERT INTO con.p VALUES ('secret 3', 'secret a', 'secret x')", "a row with the same a, b already exists (constraint p_a_b, table p)", "p_a_b", "p", "a,b"},
			{"INSERT INTO con.p VALUES ('secret 3', 'SECRET A', 'secret x')", "a row with the same lower(a) already exists (constraint p_lower, table p)", "p_lower", "p", "lower(a)"},
			{"INSERT INTO con.p VALUES ('secret 3', 'secret y', 'secret ==')", "a row with the same p_equal already exists (table p)", "p_equal", "p", ""},
			{"INSERT INTO con.c (p) VALUES ('secret 9')", "the values refer to a row of p that does not exist (constraint c_p, table c, key (p))", "c_p", "c", "p"},
			{"DELETE FROM con.p", "rows of c refer to the row (constraint c_p)", "c_p", "c", "id"},
			{"INSERT INTO con.c (n, t) VALUES (NULL, 'secret')", "n must not be null (table c)", "", "c", "n"},
			{"INSERT INTO con.c (n, t) VALUES (0, 'secret')", "a value violates the constraint c_n of the database (table c)", "c_n", "c", ""},
			{"INSERT INTO con.c (t) VALUES ('secret )=(x)=(')", "a value violates the constraint c_t_check of the database (table c)", "c_t_check", "c", ""},
			{"INSERT INTO con.c (m) VALUES ('secret)=(')", "a value violates the constraint mail_form of the database", "mail_form", "", ""},
			{"INSERT INTO con.c (t) VALUES ('secret t')", "a row that conflicts with the new one in t already exists (constraint c_t_excl, table c)", "c_t_excl", "c", "t"},
			{"INSERT INTO con.v VALUES ('secret 4', 'secret v')", "the row violates the condition of the view v", "", "", ""},
			{"SELECT con.f()", "the database rejected it: no stock: order less", "", "", ""},
			{"SELECT con.g()", "the database rejected it: no stock: order less (constraint g_c, table g)", "g_c", "g", "n"},
			{"SELECT con.h()", "the database rejected it: stock is negative", "", "", ""},
		})
		b := s.bind(t, "", `exec = "INSERT INTO con.p (idd) VALUES ('x')"`)
		_, err := b.Do(t.Context(), `{}`)
		var f *adapters.Fault
		if !errors.As(err, &f) || f.Message != msgToolMistake || f.Hint != `column "idd" of relation "p" does not exist` {
			t.Errorf("%v: %+v", err, f)
		}
		_, err = s.bind(t, "", `query = "SELECT lower(1) AS a"`).Do(t.Context(), `{}`)
		if !errors.As(err, &f) || !strings.Contains(f.Hint, "function lower(integer) does not exist (No function matches") {
			t.Errorf("%v: %+v", err, f)
		}
	})
	t.Run("mysql", func(t *testing.T) {
		s := connect(t, "mysql")
		drop := func() { s.run(t, "DROP TABLE IF EXISTS con_c"); s.run(t, "DROP TABLE IF EXISTS con_p, con_g") }
		drop()
		for _, text := range []string{
			"CREATE TABLE con_p (id VARCHAR(20) PRIMARY KEY, a VARCHAR(20), b VARCHAR(20), UNIQUE KEY p_a_b (a, b))",
			"CREATE TABLE con_g (n INT, g INT AS (n))", "CREATE TABLE con_c (id INT AUTO_INCREMENT PRIMARY KEY, p VARCHAR(20), n INT NOT NULL DEFAULT 1 CHECK (n > 0), m INT NOT NULL, CONSTRAINT c_p FOREIGN KEY (p) REFERENCES con_p (id), CONSTRAINT c_m CHECK (m <> 7))",
			"INSERT INTO con_p VALUES ('secret 1', 'secret'' for key ''x', 'secret b')", "INSERT INTO con_c (p, m) VALUES ('secret 1', 1)",
		} {
			s.run(t, text)
		}
		defer drop()
		checkViolations(t, s.kind, func(inputs, body string) *adaptertest.BoundTool { return s.bind(t, inputs, body) }, []violation{
			{"INSERT INTO con_p VALUES ('secret 1', 'x', 'x')", "a row with the same primary key already exists", "PRIMARY", "", ""},
			{"INSERT INTO con_p VALUES ('secret 2', 'secret'' for key ''x', 'secret b')", "a row with the same p_a_b already exists", "p_a_b", "", ""},
			{"INSERT INTO con_c (p, m) VALUES ('secret 9', 1)", "the values refer to a row of con_p that does not exist (constraint c_p, table con_c, key (p))", "c_p", "con_c", "p"},
			{"DELETE FROM con_p", "rows of con_c refer to the row (constraint c_p)", "c_p", "con_c", "p"},
			{"INSERT INTO con_c (m) VALUES (NULL)", "m must not be null", "", "", "m"},
			{"INSERT INTO con_c (p) VALUES ('secret 1')", "m must not be null", "", "", "m"},
			{"INSERT INTO con_c (n, m) VALUES (0, 1)", "a value violates the constraint con_c.n of the database", "con_c.n", "con_c", "n"},
			{"INSERT INTO con_g (n, g) VALUES (1, 2)", msgToolMistake, "", "", ""},
			{"INSERT INTO con_c (m) VALUES (7)", "a value violates the constraint c_m of the database (table con_c)", "c_m", "con_c", ""},
		})
	})
	t.Run("sqlite", func(t *testing.T) {
		source := sqliteSource(t, "", `exec = "SELECT 1"`)
		bind := func(_, body string) *adaptertest.BoundTool {
			s := source
			s.HCL = strings.Replace(s.HCL, `exec = "SELECT 1"`, body, 1)
			return adaptertest.Bind(t, s)
		}
		mustCall(t, bind("", `exec = [
			"CREATE TABLE p (id TEXT PRIMARY KEY, a TEXT, b TEXT, n INT NOT NULL DEFAULT 1 CHECK (n > 0), m INT CONSTRAINT p_m CHECK (m <> 7), UNIQUE (a, b))",
			"CREATE TABLE q (a TEXT)", "CREATE UNIQUE INDEX q_lower ON q (lower(a))", "INSERT INTO q VALUES ('secret')", "CREATE TABLE c (p TEXT REFERENCES p)", "CREATE TABLE s (n INTEGER) STRICT",
			"INSERT INTO p VALUES ('secret 1', 'secret a', 'secret b', 1, 1)", "INSERT INTO c VALUES ('secret 1')",
		]`), `{}`)
		checkViolations(t, "sqlite", bind, []violation{
			{"INSERT INTO p VALUES ('secret 1', 'x', 'x', 1, 1)", "a row with the same p.id already exists", "", "p", "id"},
			{"INSERT INTO p VALUES ('secret 2', 'secret a', 'secret b', 1, 1)", "a row with the same p.a, p.b already exists", "", "p", "a,b"},
			{"INSERT INTO q VALUES ('SECRET')", "a row with the same key q_lower already exists", "q_lower", "", ""},
			{"INSERT INTO p (id, n) VALUES ('secret 3', NULL)", "p.n must not be null", "", "p", "n"},
			{"INSERT INTO p (id, n) VALUES ('secret 3', 0)", "a value violates a constraint of the database", "", "", ""},
			{"INSERT INTO p (id, m) VALUES ('secret 3', 7)", "a value violates the constraint p_m of the database", "p_m", "", ""},
			{"INSERT INTO c VALUES ('secret 9')", msgForeignKey, "", "", ""},
			{"INSERT INTO s VALUES ('secret')", "the database rejected the change: cannot store TEXT value in INTEGER column s.n", "", "", ""},
		})
	})
}
