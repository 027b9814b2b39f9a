package sql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/template/sqltext"
)

// The kinds of what definitionsQuery selects.
const (
	ofTable     = "table"     // it is there, and no more is known
	ofView      = "view"      // its query
	ofColumn    = "column"    // a column that is computed, and its expression
	ofParent    = "parent"    // the table of which it is a partition or an heir
	ofStatement = "statement" // the statement that creates it
)

// maxAsked is how many tables one query of definitionsQuery asks for.
const maxAsked = 100

// definitionsQuery returns a query for what creates tables of tablesOf, and its parameters. It selects the index of the
// table, a kind, the name of a column or nothing, and a text. What the database has of itself is left out.
func definitionsQuery(tables []string, dialect sqltext.Dialect) (text string, args []any) {
	var selects []string
	var schemas, names []any
	for i, table := range tables {
		parts := partsOf(table)
		name, schema := parts[len(parts)-1], ""
		if len(parts) > 1 {
			schema = parts[len(parts)-2]
		}
		schemas, names = append(schemas, schema), append(names, name)
		switch dialect {
		case sqltext.MySQL:
			selects = append(selects, strings.ReplaceAll(mysqlDefinitions, "{i}", fmt.Sprint(i)))
			args = append(args, schema, name, schema, name, schema, name)
		case sqltext.SQLite:
			selects = append(selects, fmt.Sprintf("SELECT '%d', 'statement', '', sql FROM sqlite_schema "+
				"WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", i))
			args = append(args, name)
		}
	}
	if dialect == sqltext.PostgreSQL {
		return postgresDefinitions, []any{schemas, names}
	}
	return strings.Join(selects, " UNION ALL "), args
}

const postgresDefinitions = `WITH relation AS (
		SELECT (n.i - 1)::text AS i, c.oid, c.relkind
		FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (schema, name, i)
		JOIN pg_catalog.pg_class c ON c.relname = n.name
		JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
		WHERE s.nspname NOT IN ('pg_catalog', 'information_schema')
			AND CASE WHEN n.schema = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE s.nspname = n.schema END)
	SELECT i, 'view', '', pg_catalog.pg_get_viewdef(oid) FROM relation WHERE relkind IN ('v', 'm')
	UNION ALL SELECT i, 'column', a.attname::text, pg_catalog.pg_get_expr(d.adbin, d.adrelid)
	FROM relation r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attgenerated <> ''
	JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	UNION ALL SELECT i, 'parent', '', pg_catalog.quote_ident(s.nspname) || '.' || pg_catalog.quote_ident(p.relname)
	FROM relation r JOIN pg_catalog.pg_inherits h ON h.inhrelid = r.oid
	JOIN pg_catalog.pg_class p ON p.oid = h.inhparent JOIN pg_catalog.pg_namespace s ON s.oid = p.relnamespace`

const (
	mysqlNamed = " WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?" +
		" AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'sys', 'mysql')"
	mysqlDefinitions = "SELECT '{i}', 'table', '', '' FROM information_schema.TABLES" + mysqlNamed +
		" UNION ALL SELECT '{i}', 'view', '', VIEW_DEFINITION FROM information_schema.VIEWS" + mysqlNamed +
		" UNION ALL SELECT '{i}', 'column', COLUMN_NAME, GENERATION_EXPRESSION FROM information_schema.COLUMNS" +
		mysqlNamed + " AND GENERATION_EXPRESSION <> ''"
)

// definitionError is the mistakes of statements whose results would hold masked values under names that no mask has,
// because a view or a table of the database computes them.
type definitionError struct {
	adapters.RefusedError
	hasRun bool // the database has run a statement
}

func newDefinitionError(text string, hasRun bool, err error) error {
	return &definitionError{adapters.RefusedError{Statements: []string{text}, Errs: []error{err}}, hasRun}
}

// definedFor is for whom a database has been asked.
type definedFor struct{ instance, role string }

// followed is what a database has said of the tables that the statements of an action name, and what was found of its
// statements under the masks. It may be used concurrently.
type followed struct {
	action      *action
	asked       atomic.Pointer[time.Time]
	named       []string // the tables that the statements name
	definitions []string
	texts       sync.Map // the columns of texts, as a [][]selected, a list for each mask
	known       atomic.Int32
}

const (
	// maxAge is how long a followed is used: what a view computes may change.
	maxAge = time.Minute
	// maxTexts is how many texts a followed knows.
	maxTexts = 10_000
)

// follow asks the database what creates the tables that the statements name, unless it has done so lately. The error is
// a *definitionError of the statements whose results would hold masked values, or that of the database.
func (a *action) follow(ctx context.Context, as identity) (*followed, error) {
	db := a.db
	if m, ok := db.(*mockedDatabase); ok {
		if db = m.memory; db == nil {
			db = m.live
		}
	}
	if len(a.masks) == 0 || db == nil {
		return nil, nil
	}
	key := definedFor{as.instance, as.role}
	now := time.Now()
	var before *followed
	if known, ok := a.followed.Load(key); ok {
		before = known.(*followed)
		asked := before.asked.Load()
		if now.Sub(*asked) < maxAge || !before.asked.CompareAndSwap(asked, &now) { // another call asks
			return before, nil
		}
	}
	f := &followed{action: a}
	if before != nil {
		f.named = before.named
	} else {
		f.named = a.namedTables()
	}
	f.asked.Store(&now)
	if err := f.read(ctx, db, as); err != nil {
		a.followed.Delete(key)
		return nil, err
	}
	if before != nil && slices.Equal(before.definitions, f.definitions) {
		return before, nil
	}
	var found definitionError
	for _, s := range a.statements() {
		for _, text := range s.Renderings(maxFollowed) {
			_, err := f.check(s, text)
			isSame := func(other error) bool { return other.Error() == err.Error() }
			if err != nil && !slices.ContainsFunc(found.Errs, isSame) {
				found.Statements = append(found.Statements, text)
				found.Errs = append(found.Errs, err)
			}
		}
	}
	if found.Errs != nil {
		a.followed.Delete(key)
		return nil, &found
	}
	a.followed.Store(key, f)
	return f, nil
}

// check returns the columns of the result of a text of a statement, for each mask. The error, for the author, says that
// the result would hold masked values under names that no mask has.
func (f *followed) check(s *sqltext.Program, text string) (columns [][]selected, err error) {
	if known, ok := f.texts.Load(text); ok {
		return known.([][]selected), nil
	}
	for _, mask := range f.action.masks {
		scan, detail := f.scan(text, mask)
		if detail != "" {
			return nil, hcl.Blame(s, "%s", detail)
		}
		columns = append(columns, scan.columns)
	}
	if f.known.Add(1) <= maxTexts {
		f.texts.Store(text, columns)
	}
	return columns, nil
}

// scan follows a mask through a text, and says which column of the result holds masked values that the mask does not
// know of; nothing for none.
func (f *followed) scan(text string, mask eval.Applied) (s *maskScan, detail string) {
	s = newMaskScan(text, f.action.dialect, mask.Mask)
	s.define(f.definitions)
	if s.run(); s.problem != "" {
		return s, s.problem
	}
	for _, name := range s.maskedResult() {
		if mask.Matches([]string{"rows", name}) {
			continue
		}
		if s.computed == nil {
			return s, fmt.Sprintf("The column %s of the result holds what mask %q masks. The statement has more forms "+
				"than can be followed at load. Add to members of the mask: %[1]q.", name, mask.Name)
		}
		return s, fmt.Sprintf("The column %s of the result holds what mask %q masks, because the database computes %s "+
			"from it. Add to members of the mask: \"%s\".", name, mask.Name, strings.Join(s.computed, " and "),
			strings.Join(s.computed, `", "`))
	}
	return s, ""
}

// accept compares the columns that the database returns with those that were followed. Its error is for the author.
func (f *followed) accept(s *sqltext.Program, followed [][]selected, returned []column) error {
	for i, columns := range followed {
		mask := f.action.masks[i]
		if len(columns) == 0 || slices.ContainsFunc(columns, func(c selected) bool { return c.star }) {
			continue
		}
		if len(columns) != len(returned) {
			return hcl.Blame(s, "The database returns %d columns, and %d could be followed, so what mask %q masks may "+
				"be among the others. Write simple names after AS, in quotes.", len(returned), len(columns), mask.Name)
		}
		for n, c := range columns {
			if name := returned[n].name; c.masked && !mask.Matches([]string{"rows", name}) {
				return hcl.Blame(s, "The column %s of the result holds what mask %q masks, and the database calls it "+
					"%s. Give it a simple name: … AS name.", c.name, mask.Name, name)
			}
		}
	}
	return nil
}

// namedTables returns the tables that the statements name.
func (b *block) namedTables() (tables []string) {
	for _, s := range b.statements() {
		for _, text := range s.Renderings(maxFollowed) {
			tables = append(tables, namedTables(text, b.dialect)...)
		}
	}
	return tables
}

// read asks for the statements that create the tables and views which the statements name, and those that these name.
func (f *followed) read(ctx context.Context, db database, as identity) error {
	dialect := f.action.dialect
	asked := map[string]bool{}
	return db.read(ctx, as, func(tx transaction) error {
		f.definitions = nil
		clear(asked)
		for next, isNested := f.named, false; ; isNested = true {
			var tables []string
			for _, table := range next {
				if !asked[table] && nameParts.FindString(table) != "" {
					asked[table] = true
					tables = append(tables, table)
				}
			}
			if len(tables) == 0 {
				return nil
			}
			next = nil
			for chunk := range slices.Chunk(tables, maxAsked) {
				definitions, err := readDefinitions(ctx, tx, dialect, chunk, isNested)
				if err != nil {
					return err
				}
				f.definitions = append(f.definitions, definitions...)
				for _, text := range definitions {
					for _, found := range tablesOf(text, dialect) {
						next = append(next, found...)
					}
				}
			}
		}
	})
}

// readDefinitions returns the statements that create tables of tablesOf. IsNested says that a view names them: in MySQL
// a login does not see those on which it has no right, and what they compute.
func readDefinitions(
	ctx context.Context, tx transaction, dialect sqltext.Dialect, tables []string, isNested bool,
) (definitions []string, err error) {
	text, args := definitionsQuery(tables, dialect)
	rows, err := textsOf(ctx, tx, text, args...)
	if err != nil {
		return nil, err
	}
	seen, computed := make([]bool, len(tables)), make([][]string, len(tables))
	for _, row := range rows {
		i, err := strconv.Atoi(row[0])
		if err != nil {
			return nil, err
		}
		seen[i] = true
		switch column, text := row[2], row[3]; row[1] {
		case ofTable:
		case ofStatement:
			definitions = append(definitions, text)
		case ofView:
			definitions = append(definitions, "CREATE VIEW "+tables[i]+" AS "+text)
		case ofParent:
			definitions = append(definitions, "CREATE VIEW "+tables[i]+" AS SELECT * FROM "+text)
		case ofColumn:
			computed[i] = append(computed[i], `"`+strings.ReplaceAll(column, `"`, `""`)+`" AS (`+text+")")
		}
	}
	for i, table := range tables {
		if computed[i] != nil {
			definitions = append(definitions, "CREATE TABLE "+table+" ("+strings.Join(computed[i], ", ")+")")
		}
		if isNested && dialect == sqltext.MySQL && !seen[i] && !isOfMySQL(table) {
			definitions = append(definitions, "CREATE VIEW "+table+" AS ")
		}
	}
	return definitions, nil
}

// isOfMySQL reports whether a table is one that the server has of itself.
func isOfMySQL(table string) bool {
	parts := partsOf(table)
	return len(parts) > 1 && slices.Contains([]string{"information_schema", "performance_schema", "sys", "mysql"},
		strings.ToLower(parts[len(parts)-2]))
}
