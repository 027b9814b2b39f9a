package sql

import (
	"fmt"
	"testing"

	"hatchel/hcl/template/sqltext"
)

func TestQuotedNamesAndTextDoNotHideTables(t *testing.T) {
	for name, test := range map[string]struct {
		dialect sqltext.Dialect
		text    string
		want    string
	}{
		"a doubled quote":          {sqltext.SQLite, `INSERT INTO "we""ird x" ("a") VALUES (1)`, `map[INSERT:["we""ird x"]] []`},
		"a doubled back-tick":      {sqltext.MySQL, "DELETE FROM `a``b`", "map[DELETE:[\"a`b\"]] []"},
		"a dot in a quoted name":   {sqltext.PostgreSQL, `DELETE FROM audit."a.b"`, `map[DELETE:[audit."a.b"]] []`},
		"brackets with qualifiers": {sqltext.SQLite, `DELETE FROM [a].[b]`, `map[DELETE:[a.b]] []`},
		"a quote within a name": {sqltext.PostgreSQL, `INSERT INTO "it's" SELECT * FROM hidden WHERE a = 'x'`,
			`map[INSERT:["it's"] SELECT:[hidden]] []`},
		"dashes within a name": {sqltext.SQLite, `INSERT INTO "a--b" SELECT * FROM hidden`,
			`map[INSERT:["a--b"] SELECT:[hidden]] []`},
		"a quote between dollar signs": {sqltext.PostgreSQL, `SELECT $$'$$, $x$'$x$, a FROM hidden WHERE b = 'x'`,
			`map[SELECT:[hidden]] []`},
		"code between dollar signs": {sqltext.PostgreSQL, `DO $$ BEGIN DELETE FROM a; END $$`, `map[DELETE:[a]] []`},
		"an escaped quote": {sqltext.PostgreSQL, `SELECT E'\'', a FROM hidden WHERE b = 'x'`,
			`map[SELECT:[hidden]] []`},
		"a backslash that escapes nothing": {sqltext.PostgreSQL, `SELECT '\', a FROM hidden WHERE b = 'x'`,
			`map[SELECT:[hidden]] []`},
		"a nested comment":             {sqltext.PostgreSQL, `SELECT /* /* */ 1 FROM no */ a FROM hidden`, `map[SELECT:[hidden]] []`},
		"a comment that does not nest": {sqltext.SQLite, `SELECT /* /* */ a FROM hidden /* */`, `map[SELECT:[hidden]] []`},
		"two dashes of MySQL":          {sqltext.MySQL, "SELECT 1--2 FROM hidden", `map[SELECT:[hidden]] []`},
		"a string in double quotes":    {sqltext.MySQL, `SELECT "a\"'" FROM hidden WHERE b = 'x'`, `map[SELECT:[hidden]] []`},
		"a quoted function":            {sqltext.PostgreSQL, `SELECT "my f"(1)`, `map[] ["my f"]`},
	} {
		t.Run(name, func(t *testing.T) {
			got := fmt.Sprint(tablesOf(test.text, test.dialect), functionsOf(test.text, test.dialect))
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
