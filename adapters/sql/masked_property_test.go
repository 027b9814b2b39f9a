package sql

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"hatchel/hcl/eval"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/sampletest"
)

// secretValue is what the masked column holds. Random statements keep it whole.
const secretValue = "q7w8e9"

const secretTables = `
CREATE TABLE people (id TEXT, email TEXT, name TEXT, "offset" TEXT, low TEXT GENERATED ALWAYS AS (lower(email)) STORED);
CREATE TABLE orders (id TEXT, person TEXT, "order" TEXT, note TEXT);
CREATE TABLE sink (a TEXT, b TEXT);
CREATE VIEW contacts AS SELECT id, email AS contact, name FROM people;
CREATE VIEW "all orders" (a, b, c) AS SELECT o.id, o.note, c.contact FROM orders o JOIN contacts c ON c.id = o.person;
INSERT INTO people (id, email, name, "offset") VALUES ('1', 'q7w8e9', 'Ada', '5'), ('2', 'Q7W8E9', 'Bo', '6');
INSERT INTO orders VALUES ('1', '1', 'first', 'n'), ('2', '2', 'second', 'm');
`

// sqlWriter writes random statements.
type sqlWriter struct {
	*rand.Rand
	dialect sqltext.Dialect
	aliases int
}

// source is a table in FROM with the columns that it has.
type source struct {
	text    string
	columns []string
}

func (w *sqlWriter) pick(options ...string) string { return options[w.IntN(len(options))] }

func (w *sqlWriter) name() string {
	switch w.dialect {
	case sqltext.MySQL:
		return w.pick("contact", "x", "y", "name", "id", "email", "offset", "`order`", "`from`", "'a text'", "`a b`", "`Contact`", "note", "minus")
	case sqltext.PostgreSQL:
		return w.pick("contact", "x", "y", "name", "id", "email", `"offset"`, `"order"`, `"from"`, `"a b"`, `"Contact"`, "note", "value", "p")
	}
	return w.pick("contact", "x", "y", "name", "id", "email", "offset", `"order"`, `"from"`, "window", "'a text'", "[b c]",
		"`limit`", "fetch", "note", "value")
}

func (w *sqlWriter) peoples() []string {
	switch w.dialect {
	case sqltext.MySQL:
		return []string{"people ", "people AS ", "`people` "}
	case sqltext.PostgreSQL:
		return []string{"people ", "ONLY people AS ", `"people" `}
	}
	return []string{"people ", "main.people AS ", "'people' "}
}

func (w *sqlWriter) source(depth int) source {
	w.aliases++
	alias := fmt.Sprint("t", w.aliases)
	qualified := func(columns ...string) (all []string) {
		for _, c := range columns {
			all = append(all, alias+"."+c)
		}
		return all
	}
	switch n := w.IntN(9); {
	case n < 3:
		return source{w.pick(w.peoples()...) + alias, qualified("id", "email", "name", `"offset"`, "low")}
	case n < 5:
		return source{"orders " + alias, qualified("id", "person", `"order"`, "note")}
	case n == 5:
		return source{"contacts AS " + alias, qualified("id", "contact", "name")}
	case n == 6:
		return source{`"all orders" ` + alias, qualified("a", "b", "c")}
	case n == 7 && depth > 0:
		a, b := w.source(depth-1), w.source(depth-1)
		join := a.text + w.pick(" JOIN ", " LEFT JOIN ", ", ", " CROSS JOIN ") + b.text
		if strings.Contains(join, " JOIN ") && w.IntN(2) == 0 {
			join += " ON 1 = 1"
		}
		return source{join, slices.Concat(a.columns, b.columns)}
	case depth > 0:
		query, names := w.query(depth-1, 1+w.IntN(3), true)
		var columns []string
		for _, name := range names {
			columns = append(columns, alias+"."+name)
		}
		return source{"(" + query + ") AS " + alias, columns}
	}
	return source{"people AS " + alias, qualified("id", "email", "name")}
}

func (w *sqlWriter) expression(depth int, columns []string) string {
	column := columns[w.IntN(len(columns))]
	if depth == 0 || w.IntN(3) == 0 {
		return column
	}
	a, b := w.expression(depth-1, columns), w.expression(depth-1, columns)
	if w.dialect == sqltext.PostgreSQL && w.IntN(3) == 0 {
		alias, _, _ := strings.Cut(column, ".")
		return w.pick("("+a+")::text", "to_json("+alias+")::text", alias+"::text", "array_to_string(ARRAY["+a+", "+b+"], ',')",
			"(SELECT string_agg(v, ',') FROM unnest(ARRAY["+a+"]) AS v)", "format('%s', "+a+")", "concat("+alias+".*)",
			"(ARRAY["+a+", "+b+"])[2]", "jsonb_build_object('k', "+a+")->>'k'", "row_to_json("+alias+")->>'name'",
			"(jsonb_each_text(to_jsonb("+alias+"))).value", "first_value("+a+") OVER ()", "split_part("+a+", '@', 1)")
	}
	switch w.IntN(9) {
	case 0:
		return w.pick("lower(", "upper(", "trim(", "max(", "(") + a + ")"
	case 1:
		if w.dialect == sqltext.MySQL {
			return "concat(" + a + ", " + w.pick("'-'", b) + ")"
		}
		return a + " || " + w.pick("'-'", b)
	case 2:
		return "coalesce(" + a + ", " + b + ")"
	case 3:
		return "CASE WHEN " + a + " = 'x' THEN " + a + " ELSE " + b + " END"
	case 4:
		return w.pick("1", "'email'", "count(*)", "NULL")
	case 5:
		query, _ := w.query(depth-1, 1, true)
		return "(" + query + " LIMIT 1)"
	case 6:
		if w.dialect == sqltext.PostgreSQL {
			return "json_build_array(" + a + ", " + b + ")::text"
		}
		return "json_array(" + a + ", " + b + ")"
	case 7:
		if w.dialect != sqltext.SQLite {
			return "greatest(" + b + ", " + a + ")"
		}
		return "iif(" + a + " IS NULL, " + b + ", " + a + ")"
	}
	if w.dialect == sqltext.PostgreSQL {
		return "string_agg(" + a + ", ',' ORDER BY " + b + ")"
	}
	return "group_concat(" + a + ")"
}

// query returns a query with a number of columns, and their names.
func (w *sqlWriter) query(depth, width int, named bool) (text string, names []string) {
	if depth > 0 && w.IntN(6) == 0 {
		inner, columns := w.query(depth-1, 1+w.IntN(2), true)
		w.aliases++
		with := fmt.Sprint("w", w.aliases)
		if w.IntN(4) == 0 {
			with = w.pick("people", "contacts", "orders")
		}
		outer := source{with + " AS q", nil}
		for _, c := range columns {
			outer.columns = append(outer.columns, "q."+c)
		}
		text, names = w.selects(depth-1, width, named, outer)
		return "WITH " + with + " AS (" + inner + ") " + text, names
	}
	text, names = w.selects(depth, width, named, w.source(depth))
	if depth > 0 && w.IntN(6) == 0 {
		other, _ := w.selects(depth-1, width, false, w.source(depth-1))
		text += w.pick(" UNION ALL ", " UNION ", " EXCEPT ") + other
	}
	return text, names
}

func (w *sqlWriter) selects(depth, width int, named bool, from source) (text string, names []string) {
	var list []string
	for range width {
		e := w.expression(depth, from.columns)
		name := w.name()
		for slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.Trim(n, "\"`"), strings.Trim(name, "\"`")) }) {
			name += "2"
			if strings.ContainsAny(name, "\"'`]") {
				name = fmt.Sprint("n", len(names))
			}
		}
		switch names = append(names, strings.ReplaceAll(name, "'", `"`)); {
		case named || w.IntN(4) > 0:
			e += w.pick(" AS ", " AS ", " as ") + name
		}
		list = append(list, e)
	}
	text = "SELECT " + w.pick("", "", "DISTINCT ") + strings.Join(list, ", ") + " FROM " + from.text
	if w.IntN(3) == 0 {
		text += " WHERE " + w.expression(0, from.columns) + w.pick(" IS NOT NULL", " <> 'zz'", " IN (SELECT email FROM people)")
	}
	return text, names
}

// Whatever a statement is, no column of its result that has the value of a masked column is shown: it is masked, or the
// statement is refused.
func TestNoRandomStatementShowsAMaskedValue(t *testing.T) {
	db, err := sql.Open("sqlite3", "file:masked_property?mode=memory&cache=shared")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), secretTables); err != nil {
		t.Fatal(err)
	}
	checkRandomStatements(t, sqltext.SQLite, splitStatements(secretTables, sqltext.SQLite), rowsOfDriver(t, db))
}

func TestNoRandomStatementOfPostgreSQLShowsAMaskedValue(t *testing.T) {
	dsn := os.Getenv("HATCHEL_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("HATCHEL_TEST_POSTGRES is not set")
	}
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	schema := fmt.Sprint("masked_property_", os.Getpid())
	const simple = pgx.QueryExecModeSimpleProtocol
	if _, err := db.Exec(t.Context(), "CREATE SCHEMA "+schema+"; SET search_path = "+schema+"; "+secretTables, simple); err != nil {
		t.Fatal(err)
	}
	defer db.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE", simple)
	definitions := splitStatements(secretTables, sqltext.PostgreSQL)
	checkRandomStatements(t, sqltext.PostgreSQL, definitions, func(text string) (names []string, cells [][]any, err error) {
		rows, err := db.Query(t.Context(), text, simple)
		if err != nil {
			return nil, nil, err
		}
		defer rows.Close()
		for _, field := range rows.FieldDescriptions() {
			names = append(names, field.Name)
		}
		for rows.Next() && len(cells) < 20 {
			row, err := rows.Values()
			if err != nil {
				return nil, nil, err
			}
			cells = append(cells, row)
		}
		return names, cells, rows.Err()
	})
}

func TestNoRandomStatementOfMariaDBShowsAMaskedValue(t *testing.T) {
	dsn := os.Getenv("HATCHEL_TEST_MYSQL")
	if dsn == "" {
		t.Skip("HATCHEL_TEST_MYSQL is not set")
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	schema := fmt.Sprint("masked_property_", os.Getpid())
	tables := strings.ReplaceAll(secretTables, `"`, "`")
	for _, text := range append([]string{"CREATE DATABASE " + schema, "USE " + schema}, splitStatements(tables, sqltext.MySQL)...) {
		if text == "" {
			continue
		}
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	defer db.ExecContext(context.Background(), "DROP DATABASE "+schema)
	checkRandomStatements(t, sqltext.MySQL, splitStatements(tables, sqltext.MySQL), rowsOfDriver(t, db))
}

// rowsOfDriver returns a function that runs a statement.
func rowsOfDriver(t *testing.T, db *sql.DB) func(text string) (names []string, cells [][]any, err error) {
	t.Helper()
	return func(text string) (names []string, cells [][]any, err error) {
		rows, err := db.QueryContext(t.Context(), text)
		if err != nil {
			return nil, nil, err
		}
		defer rows.Close()
		if names, err = rows.Columns(); err != nil {
			return nil, nil, err
		}
		for rows.Next() && len(cells) < 20 {
			row := make([]any, len(names))
			for i := range row {
				row[i] = new(any)
			}
			if err := rows.Scan(row...); err != nil {
				return nil, nil, err
			}
			for i, cell := range row {
				row[i] = *cell.(*any)
			}
			cells = append(cells, row)
		}
		return names, cells, rows.Err()
	}
}

// checkRandomStatements judges random statements by what they return.
func checkRandomStatements(
	t *testing.T, dialect sqltext.Dialect, definitions []string, run func(text string) (names []string, cells [][]any, err error),
) {
	t.Helper()
	var seeds []uint64
	for seed := range uint64(20000) {
		seeds = append(seeds, seed)
	}
	seeds = sampletest.Of(t, 1500, seeds)
	shown, refused := 0, 0
	for _, seed := range seeds {
		w := &sqlWriter{Rand: rand.New(rand.NewPCG(seed, 1)), dialect: dialect}
		text, _ := w.query(3, 1+w.IntN(3), false)
		switch w.IntN(8) {
		case 0:
			text = "SELECT * FROM (" + text + ") AS q"
		case 1:
			text, _ = w.query(2, 2, false)
			text = "INSERT INTO sink (a, b) " + text + w.pick(" RETURNING a, b", " RETURNING b AS x, a AS y", " RETURNING *")
		}
		if dialect == sqltext.MySQL {
			text = strings.ReplaceAll(text, `"`, "`")
		}
		names, cells, err := run(text)
		if err != nil {
			continue // it is no statement
		}
		found := map[int]bool{}
		for _, row := range cells {
			for i, cell := range row {
				if strings.Contains(strings.ToLower(fmt.Sprintf("%s", cell)), secretValue) {
					found[i] = true
				}
			}
		}
		if len(found) == 0 {
			continue
		}
		shown++
		mask := &eval.Mask{Name: "m"}
		mask.SetMembers([]string{[]string{"email", "people.email"}[seed%2]})
		applied, isRefused := followedMask(text, dialect, mask, definitions, names)
		if isRefused {
			refused++
			continue
		}
		var columns []column
		for _, name := range names {
			columns = append(columns, column{name: name})
		}
		for i, c := range newResultColumns(columns).columns {
			if found[i] && !applied.Matches([]string{"rows", c.name}) {
				t.Errorf("seed %d: the column %s is shown of %s", seed, c.name, text)
			}
		}
	}
	t.Logf("%d statements show the value, %d are refused", shown, refused)
	if shown < len(seeds)/8 || refused > shown*2/3 {
		t.Errorf("%d of %d statements show the value, and %d are refused: too few are followed", shown, len(seeds), refused)
	}
}

// followedMask returns a mask as it applies to a statement, and whether the statement is refused: at load, or in a call
// for the columns that the database returns.
func followedMask(
	text string, dialect sqltext.Dialect, mask *eval.Mask, definitions, names []string,
) (applied eval.Applied, isRefused bool) {
	s := newMaskScan(text, dialect, mask)
	s.define(definitions)
	if s.run(); s.problem != "" {
		return applied, true
	}
	for _, name := range mask.ColumnsOf(s.tables) {
		s.derived[name] = true
	}
	known := eval.Columns(slices.Sorted(maps.Keys(s.derived)))
	applied = eval.Applied{Mask: mask, Columns: &known}
	b := &block{dialect: dialect, masks: []eval.Applied{applied}}
	f := &followed{action: &action{block: b}, definitions: definitions}
	var columns []column
	for _, name := range names {
		columns = append(columns, column{name: name})
	}
	scan, detail := f.scan(text, applied)
	return applied, detail != "" || f.accept(nil, [][]selected{scan.columns}, newResultColumns(columns).columns) != nil
}
