package sql

import (
	"strings"
	"testing"

	"hatchel/hcl/template/sqltext"
)

func TestFunctionsThatMayDoMoreThanComputeAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT count(*), coalesce(sum(total), 0) FROM invoices":                "",
		"SELECT pg_read_file('/etc/passwd')":                                    "pg_read_file",
		"SELECT pg_catalog.pg_read_file('/etc/passwd'), pg_catalog.lower('A')":  "pg_read_file",
		"SELECT id FROM dblink('host=x', 'SELECT 1') AS t(id int)":              "dblink",
		"SELECT load_extension('evil'), \"Drop All\"(1)":                        "\"Drop All\" load_extension",
		"INSERT INTO log (id, note) VALUES (1, upper('x'))":                     "",
		"INSERT INTO log(id) SELECT do_it(id) FROM invoices":                    "do_it",
		"WITH r(id) AS (SELECT 1) SELECT id FROM r WHERE id IN (1) AND (1 = 1)": "",
		"SELECT 'pg_read_file(1)' -- pg_read_file(1)":                           "",
		"SELECT cast(a AS numeric(10, 2)), b::varchar(3) FROM t":                "",
		"SELECT rank() OVER (PARTITION BY a ORDER BY b) FROM t":                 "",
		"SELECT * FROM t INTO OUTFILE '/tmp/t'":                                 "outfile",
		"CREATE TABLE t (id int, PRIMARY KEY (id), UNIQUE (id))":                "",
	} {
		if got := strings.Join(functionsOf(text, sqltext.PostgreSQL), " "); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
