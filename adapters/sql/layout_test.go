package sql

import (
	"testing"

	"hatchel/hcl/template/sqltext"
)

func TestALayoutKeepsWhatADatabaseReads(t *testing.T) {
	for _, test := range []struct {
		dialect    sqltext.Dialect
		text, want string
	}{
		{sqltext.SQLite, "SELECT  a,b\n FROM t -- all\nWHERE x=\x00", "SELECT a, b FROM t WHERE x = \x00"},
		{sqltext.SQLite, "SELECT 'a  -- b', \"c  d\", [e  f] , count( * ) FROM t", "SELECT 'a  -- b', \"c  d\", [e  f], count(*) FROM t"},
		{sqltext.SQLite, "SELECT a - -1, a--1\n, b", "SELECT a - -1, a, b"},
		{sqltext.MySQL, "SELECT a--1, 'it\\'s  x' # c\n, `d  e`", "SELECT a--1, 'it\\'s  x', `d  e`"},
		{sqltext.MySQL, "SELECT /*!50000 a, */ /*+ NO_INDEX(t) */ /* note */ b", "SELECT /*!50000 a, */ /*+ NO_INDEX(t) */ b"},
		{sqltext.PostgreSQL, "SELECT $x$ a  b $x$, E'a\\'  b', a->>'x'>='y'", "SELECT $x$ a  b $x$, E'a\\'  b', a->>'x' >= 'y'"},
		{sqltext.PostgreSQL, "SELECT /* a /* b */ c */ 1 -- \x00\n, 2", "SELECT 1 -- \x00\n, 2"},
		{sqltext.PostgreSQL, "a IN (1,2) AND b <>3", "a IN (1, 2) AND b <> 3"},
	} {
		got := layOut(test.text, test.dialect)
		if got != test.want {
			t.Errorf("%q is %q, not %q", test.text, got, test.want)
		}
		if again := layOut(got, test.dialect); again != got {
			t.Errorf("%q is laid out as %q", got, again)
		}
	}
}
