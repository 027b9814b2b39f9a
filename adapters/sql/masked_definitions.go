package sql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/template/sqltext"
)

// createWords come before the name of what CREATE creates.
var createWords = wordSet("CREATE OR REPLACE TEMP TEMPORARY UNLOGGED RECURSIVE MATERIALIZED VIEW TABLE IF NOT EXISTS")

// define tells the scan of the views and tables that statements create, as far as its statement uses them: the columns
// that hold masked values, and the tables that these are from. It follows views of views.
func (s *maskScan) define(definitions []string, dialect sqltext.Dialect) {
	tables := slices.Clone(s.tables)
	used := map[string]*maskScan{}
	for known := -1; known < len(used); {
		known = len(used)
		for _, text := range definitions {
			if used[text] != nil {
				continue
			}
			if d := newMaskScan(text, dialect, s.mask); d.word(0) == "CREATE" && d.isCreated(tables) {
				used[text], tables = d, append(tables, d.tables...)
			}
		}
	}
	defined := map[string]bool{}
	for known := -1; known < len(defined) && s.problem == ""; {
		known = len(defined)
		for _, text := range definitions {
			if d := used[text]; d != nil {
				maps.Copy(d.derived, defined)
				d.tables = tables
				s.follow(d, defined)
			}
		}
	}
}

// follow adds the masked columns of a view or a table that another statement creates to those that are defined, and
// to those of the scan if its statement names it.
func (s *maskScan) follow(d *maskScan, defined map[string]bool) {
	name := lastName(d.created())
	var masked []string
	for _, c := range d.definedColumns() {
		switch {
		case c.star:
			masked = append(masked, s.mask.ColumnsOf(d.tables)...)
		case c.masked || d.isMasked(c.name):
			masked = append(masked, c.name)
		}
	}
	for _, column := range masked {
		if s.mask.NamesColumn(nil, column) {
			continue
		}
		member := name + "." + column
		if defined[column] = true; d.isCreated(s.tables) && !slices.Contains(s.computed, member) {
			s.derived[column] = true
			s.computed = append(s.computed, member)
		}
	}
	if d.problem != "" && s.problem == "" {
		s.problem = fmt.Sprintf("The statement reads %s of the database. %s", name, d.problem)
	}
}

// created returns the name of what the statement creates.
func (s *maskScan) created() string {
	i := 0
	for createWords[s.word(i)] {
		i++
	}
	if i == len(s.tokens) {
		return ""
	}
	return s.tokens[i]
}

// isCreated reports whether the statement creates one of the tables. A schema is compared if both have one.
func (s *maskScan) isCreated(tables [][]string) bool {
	name := nameParts.FindAllString(s.created(), -1)
	return len(name) > 0 && slices.ContainsFunc(tables, func(table []string) bool {
		n := min(len(table), len(name))
		return slices.EqualFunc(table[len(table)-n:], name[len(name)-n:], func(a, b string) bool {
			return strings.EqualFold(lastName(a), lastName(b))
		})
	})
}

// definedColumns follows the columns of the view or the table that the statement creates. Of a table they are those
// that the database computes.
func (s *maskScan) definedColumns() (columns []selected) {
	isView, i := false, 0
	for ; createWords[s.word(i)]; i++ {
		isView = isView || s.word(i) == "VIEW"
	}
	i++
	var names []string
	switch {
	case s.word(i) == "(" && !isView:
		return s.computedColumns(i)
	case s.word(i) == "(":
		names = s.nameList(i)
	}
	for i < len(s.tokens) && s.word(i) != "AS" {
		i++
	}
	if isView && i >= len(s.tokens)-1 {
		s.problem = fmt.Sprintf("The login of the connection may not read what the view computes, so what mask %q "+
			"masks cannot be followed. Give it the right: GRANT SHOW VIEW ON %s TO …", s.mask.Name, s.created())
	}
	for known := -1; known < len(s.derived) && s.problem == ""; {
		known = len(s.derived)
		columns = s.query(i+1, len(s.tokens))
	}
	of := s.created()
	if names == nil {
		s.name(columns, of)
	} else {
		s.rename(columns, names, of)
	}
	for n := range columns {
		if n < len(names) {
			columns[n] = selected{name: names[n], masked: columns[n].masked || s.isMasked(columns[n].name)}
		}
	}
	return columns
}

// computedColumns returns the columns of CREATE TABLE that are computed from masked columns.
func (s *maskScan) computedColumns(open int) (columns []selected) {
	for from := open + 1; from < s.closes[open]; from++ {
		first := from
		for ; from < s.closes[open] && s.word(from) != ","; from++ {
			if s.word(from) != "(" {
				continue
			}
			if s.word(from-1) == "AS" && s.reads(from+1, s.closes[from]) {
				columns = append(columns, selected{name: lastName(s.tokens[first]), masked: true})
			}
			from = s.closes[from]
		}
	}
	return columns
}

// maskedResult returns the names of the columns of the result that hold masked values. A name may be a pattern.
func (s *maskScan) maskedResult() (names []string) {
	for _, c := range s.columns {
		switch {
		case c.star:
			names = slices.Concat(names, slices.Collect(maps.Keys(s.derived)), s.mask.ColumnsOf(s.tables))
		case c.masked || s.isMasked(c.name):
			names = append(names, c.name)
		}
	}
	return names
}

// definitionQueries select what creates a view, or a table with computed columns, in rows: the name of a computed
// column, or null for a view, and its expression or the query of the view. That of SQLite selects whole statements.
// What the database has of itself is left out. The parameters are those of definitionArgs.
var definitionQueries = map[sqltext.Dialect]string{
	sqltext.PostgreSQL: `WITH relation AS (
			SELECT c.oid, c.relkind FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relname = $2 AND n.nspname NOT IN ('pg_catalog', 'information_schema')
				AND CASE WHEN $1 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $1 END)
		SELECT NULL, pg_catalog.pg_get_viewdef(oid) FROM relation WHERE relkind IN ('v', 'm')
		UNION ALL SELECT a.attname::text, pg_catalog.pg_get_expr(d.adbin, d.adrelid)
		FROM relation r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attgenerated <> ''
		JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum`,
	sqltext.MySQL: "SELECT NULL, VIEW_DEFINITION FROM information_schema.VIEWS " +
		"WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ? " +
		"AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'sys', 'mysql') " +
		"UNION ALL SELECT COLUMN_NAME, GENERATION_EXPRESSION FROM information_schema.COLUMNS " +
		"WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ? AND GENERATION_EXPRESSION <> ''",
	sqltext.SQLite: "SELECT NULL, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE",
}

// definitionArgs returns the parameters for a table of tablesOf.
func definitionArgs(table string, dialect sqltext.Dialect) []any {
	parts := nameParts.FindAllString(table, -1)
	name := lastName(parts[len(parts)-1])
	switch dialect {
	case sqltext.PostgreSQL:
		schema := ""
		if len(parts) > 1 {
			schema = lastName(parts[len(parts)-2])
		}
		return []any{schema, name}
	case sqltext.MySQL:
		var schema any
		if len(parts) > 1 {
			schema = lastName(parts[0])
		}
		return []any{schema, name, schema, name}
	}
	return []any{name}
}

// definitionError is the mistakes of statements whose results would hold masked values under names that no mask has,
// because a view or a table of the database computes them.
type definitionError struct{ adapters.RefusedError }

// checkDefinitions asks the database what creates the views and tables that the statements name. The error is a
// *definitionError of the statements whose results would hold masked values, or that of the database. An answer without
// one is kept: a view that changes later is seen at the next load.
func (a *action) checkDefinitions(ctx context.Context, as identity) error {
	db := a.db
	if m, ok := db.(*mockedDatabase); ok {
		if db = m.memory; db == nil {
			db = m.live
		}
	}
	key := definedFor{as.instance, as.role}
	if _, known := a.defined.Load(key); known || len(a.masks) == 0 || db == nil {
		return nil
	}
	definitions, err := a.readDefinitions(ctx, db, as)
	if err != nil {
		return err
	}
	var found adapters.RefusedError
	for _, s := range a.statements() {
		for _, sample := range s.Samples() {
			for _, mask := range a.masks {
				if text := unmaskedColumn(sample.Text, a.dialect, mask, definitions); text != "" {
					found.Statements = append(found.Statements, sample.Text)
					found.Errs = append(found.Errs, hcl.Blame(s, "%s", text))
				}
			}
		}
	}
	if found.Errs != nil {
		return &definitionError{found}
	}
	a.defined.Store(key, true)
	return nil
}

// unmaskedColumn says which column of the result of a statement holds masked values that the mask does not know of;
// empty for none.
func unmaskedColumn(text string, dialect sqltext.Dialect, mask eval.Applied, definitions []string) string {
	s := newMaskScan(text, dialect, mask.Mask)
	s.define(definitions, dialect)
	if s.run(); s.problem != "" {
		return s.problem
	}
	for _, name := range s.maskedResult() {
		if !mask.Matches([]string{"rows", name}) {
			return fmt.Sprintf("The column %s of the result holds what mask %q masks, because the database computes "+
				"%s from it. Add to members of the mask: \"%s\".", name, mask.Name,
				strings.Join(s.computed, " and "), strings.Join(s.computed, `", "`))
		}
	}
	return ""
}

// definedFor is for whom a database has been asked.
type definedFor struct{ instance, role string }

// readDefinitions returns the statements that create the views and tables which the statements name, and those that
// these name.
func (a *action) readDefinitions(ctx context.Context, db database, as identity) (definitions []string, err error) {
	var tables []string
	note := func(text string) {
		for _, found := range tablesOf(text, a.dialect) {
			tables = append(tables, found...)
		}
	}
	for _, text := range a.texts() {
		note(text)
	}
	if tables == nil {
		return nil, nil
	}
	err = db.read(ctx, as, func(tx transaction) error {
		definitions = nil
		asked := map[string]bool{}
		for i := 0; i < len(tables); i++ { // it grows
			table := tables[i]
			if asked[table] || nameParts.FindString(table) == "" {
				continue
			}
			asked[table] = true
			rows, err := textsOf(ctx, tx, definitionQueries[a.dialect], definitionArgs(table, a.dialect)...)
			if err != nil {
				return err
			}
			for _, text := range a.definitionsOf(table, rows) {
				definitions = append(definitions, text)
				note(text)
			}
		}
		return nil
	})
	return definitions, err
}

// definitionsOf returns the statements that create a table of tablesOf, of the rows that definitionQueries select.
func (a *action) definitionsOf(table string, rows [][]string) (definitions []string) {
	var computed []string
	for _, row := range rows {
		switch column, text := row[0], row[1]; {
		case a.dialect == sqltext.SQLite:
			definitions = append(definitions, text)
		case column == "":
			definitions = append(definitions, "CREATE VIEW "+table+" AS "+text)
		default:
			computed = append(computed, `"`+strings.ReplaceAll(column, `"`, `""`)+`" AS (`+text+")")
		}
	}
	if computed != nil {
		definitions = append(definitions, "CREATE TABLE "+table+" ("+strings.Join(computed, ", ")+")")
	}
	return definitions
}
