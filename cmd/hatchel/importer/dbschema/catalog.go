// Package dbschema generates tools from the tables of a database: list and get, and with Writes insert and update.
package dbschema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"hatchel/cmd/hatchel/catalog"
	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

// Query runs one SELECT without values in a read-only transaction and returns its rows.
type Query func(ctx context.Context, text string) ([]map[string]any, error)

// kind is what a column holds, as far as tools care.
type kind int

const (
	binary      kind = iota // left out, because no input can have its values
	text                    // also enumerations, and types that are read and written as text
	integer                 //
	number                  //
	decimal                 // a number with digits that a JSON number may lose
	boolean                 //
	date                    //
	clock                   // time of day, or a duration, without time zone
	offsetClock             // time of day with time zone
	local                   // date and time without time zone
	instant                 // date and time with time zone
	uuid                    //
	document                // JSON
	loose                   // of SQLite: a text or a number, as it was stored
)

// table is one table or view.
type table struct {
	schema, name, comment string
	ref                   string // as SQL names it
	qualified             bool   // the schema is not searched by default
	view                  bool
	columns               []*column
	all                   []catalog.Column // also those that no tool has
	key                   []string         // of the primary key, or of a unique index without nulls
	indexed               []string         // columns of indexes, the first ones of indexes first
	noInsert, noUpdate    string           // why the database takes no such statement; empty if it may
	noKey                 string           // why there is no key although the table has one
	conditions            []string         // of CHECK constraints, as SQL
	writeNote             string           // what the database does besides when a statement writes
	rowSecurity           bool             // policies choose the rows that the role reads and writes
	fills                 bool             // a trigger may set columns of a row that is inserted
}

// column is one column. Its name and ref hold no line break and no hidden character.
type column struct {
	name, ref, comment string
	typ                string // as the database names it
	kind               kind
	dimensions         int // of an array, as it was declared; 0 for others
	nullable           bool
	hasDefault         bool
	generated          bool   // the database computes it, or numbers it
	defaultValue       string // an expression; empty for none
	insertDenied       bool   // the role may not set it in a new row
	updateDenied       bool
	rowEnd             bool // the end of a row of a system-versioned table, which every unique index has as well
	defaultDenied      bool // the role may not use the sequence of its default
	credential         bool // its name is that of a credential, such as password_hash: no imported tool has it
	maxLength          int
	large              bool     // an integer that JavaScript may round
	unequal            bool     // the database has no = for its values
	compare            string   // how a statement compares a value, which is %s; empty for the value alone
	refusal            string   // why no input can have a value, if it is binary
	notation           string   // what a text says, if it is no free text: its type, or its parts; empty for free text
	values             []string // of an enumeration or CHECK (x IN …), the first maxValues at least; empty for none
	number             int      // of the values, if they are not all in values
}

func (t *table) origin() string { return strings.TrimPrefix(t.schema+"."+t.name, ".") }

func (t *table) column(name string) *column {
	for _, c := range t.columns {
		if c.name == name {
			return c
		}
	}
	return nil
}

// dialect reads the catalog of one kind of database.
type dialect interface {
	// columns returns one row for each column, and one without column_name for a table without any: table_schema,
	// table_name, table_ref, qualified, is_view, table_comment, column_name, column_ref, data_type, nullable,
	// has_default, generated, comment, enum_values (JSON or absent); and if they are known: no_insert and no_update
	// (reasons), fills, note, write_note, default_value, insert_denied, update_denied, row_end,
	// default_denied.
	columns(ctx context.Context, q Query) ([]map[string]any, error)
	// indexes returns one row for each column of an index, in the order of the index: table_schema, table_name,
	// index_name, is_primary, is_unique, column_name.
	indexes(ctx context.Context, q Query) ([]map[string]any, error)
	// checks returns the conditions of the tables: table_schema, table_name, clause; and domain_of for the condition of
	// a domain, the column that has it.
	checks(ctx context.Context, q Query) ([]map[string]any, error)
	classify(row map[string]any, c *column)
	quote(name string) string
}

var dialects = map[string]dialect{"postgres": postgres{}, "mysql": mysql{}, "sqlite": sqlite{}}

// readTables reads all tables that the connection can read.
func readTables(ctx context.Context, d dialect, q Query, r *importer.Result) ([]*table, error) {
	rows, err := d.columns(ctx, q)
	if err != nil {
		return nil, err
	}
	var tables []*table
	byName := map[[2]string]*table{}
	for _, row := range rows {
		id := [2]string{str(row, "table_schema"), str(row, "table_name")}
		t := byName[id]
		if t == nil {
			t = &table{schema: id[0], name: id[1], ref: str(row, "table_ref"), qualified: truth(row, "qualified"),
				view: truth(row, "is_view"), noInsert: str(row, "no_insert"), noUpdate: str(row, "no_update"),
				fills: truth(row, "fills"), rowSecurity: truth(row, "row_security"), writeNote: str(row, "write_note")}
			t.comment = r.Describe(t.origin(), "the comment of the table", str(row, "table_comment"), "", maxComment)
			byName[id] = t
			if !nameable(id[0]) || !nameable(id[1]) {
				r.Lose(t.origin(), tableLeftOut, "its name cannot be written in a statement of a file", "")
				continue
			}
			tables = append(tables, t)
		}
		t.addColumn(d, row, r)
	}
	if rows, err = d.indexes(ctx, q); err != nil {
		return nil, err
	}
	for _, index := range groupRows(rows) {
		if t := byName[[2]string{str(index[0], "table_schema"), str(index[0], "table_name")}]; t != nil {
			t.addIndex(index)
		}
	}
	if rows, err = d.checks(ctx, q); err != nil {
		r.Lose("CHECK constraints", "not read", err.Error(), "")
	}
	for _, row := range rows {
		if t := byName[[2]string{str(row, "table_schema"), str(row, "table_name")}]; t != nil {
			domain := t.column(str(row, "domain_of"))
			if t.addChecks(str(row, "clause"), domain); domain == nil {
				t.conditions = append(t.conditions, conditionsOf(str(row, "clause"))...)
			}
		}
	}
	return tables, nil
}

func (t *table) addColumn(d dialect, row map[string]any, r *importer.Result) {
	c := &column{name: str(row, "column_name"), ref: str(row, "column_ref"), typ: str(row, "data_type"),
		nullable: truth(row, "nullable"), hasDefault: truth(row, "has_default"),
		generated: truth(row, "generated"), defaultValue: str(row, "default_value"),
		insertDenied: truth(row, "insert_denied"), updateDenied: truth(row, "update_denied"),
		rowEnd: truth(row, "row_end"), defaultDenied: truth(row, "default_denied")}
	if c.name == "" {
		return // a table without columns
	}
	if len(c.typ) > maxTypeName {
		c.typ = c.typ[:cut.Before(c.typ, maxTypeName)] + "…"
	}
	t.all = append(t.all, catalog.Column{Name: c.name, SQL: c.ref, Type: c.typ})
	if !nameable(c.name) {
		r.Lose(t.origin(), "column left out", fmt.Sprintf("the name %q cannot be written in a statement of a file",
			c.name), c.name)
		return
	}
	c.comment = r.Describe(t.origin(), "the comment of "+c.name, str(row, "comment"), c.name, maxComment)
	c.refusal = "whose values have no form that an input can have"
	if d.classify(row, c); c.kind == binary {
		r.Lose(t.origin(), "column left out", fmt.Sprintf("%s has the type %s, %s", c.name, c.typ, c.refusal), c.name)
		if !c.nullable && !c.hasDefault && !c.generated {
			t.columns = append(t.columns, c) // insert needs it
		}
		return
	}
	if len(c.values) > 0 {
		c.setValues(c.values)
	}
	if c.credential = isCredential(c); c.credential {
		r.Lose(t.origin(), "credential left out",
			c.name+" is named like a credential, and no imported tool reads or writes it",
			c.name)
	}
	t.columns = append(t.columns, c)
}

// isCredential reports whether a column holds credentials, or what is computed from them, by its name. A number, a date
// or a truth about one is none, such as password_changed_at.
func isCredential(c *column) bool {
	if c.kind != text && c.kind != uuid && c.kind != document && c.kind != loose || len(c.values) > 0 {
		return false
	}
	name := c.name
	for _, ending := range derivedEndings {
		if short := len(name) - len(ending); short >= 0 && strings.EqualFold(name[short:], ending) {
			name = strings.TrimRight(name[:short], "_- .")
			if name == "" {
				return ending == "salt"
			}
		}
	}
	return importer.IsCredential(name, "")
}

// derivedEndings are the last words of the names of columns with what is computed from a credential. They may follow
// each other in this order, from the last.
var derivedEndings = []string{"hex", "hash", "hashed", "digest", "salt", "encrypted", "ciphertext", "bcrypt", "argon2",
	"sha256", "sha512", "md5"}

// maxTypeName is the maximum size of the name of a type; that of an enumeration of MySQL has all its values.
const maxTypeName = 200

// maxComment is the maximum size of a comment in a description.
const maxComment = 300

// maxValues is the maximum number of values of an enumeration.
const maxValues = 60

func (c *column) setValues(values []string) {
	number := max(c.number, len(values))
	if number <= maxValues && !slices.ContainsFunc(values, func(v string) bool { return !nameable(v) }) {
		c.values = values
		return
	}
	c.values = nil
	first := values[:min(len(values), 20)]
	note := fmt.Sprintf("One of %d values, such as %s.", number, strings.Join(first, ", "))
	c.comment = strings.TrimSpace(c.comment + " " + note)
}

// addIndex adds the columns of one index.
func (t *table) addIndex(index []map[string]any) {
	var names []string
	unique := truth(index[0], "is_unique")
	for _, row := range index {
		c := t.column(str(row, "column_name"))
		if c == nil || c.kind == binary {
			if truth(index[0], "is_primary") {
				t.noKey = "no tool has the column " + str(row, "column_name") + " of the primary key"
			}
			return
		}
		if c.rowEnd {
			continue
		}
		unique = unique && !c.nullable
		names = append(names, c.name)
	}
	if truth(index[0], "is_primary") || unique && t.key == nil {
		t.key = names
	}
	t.indexed = append(t.indexed, names...)
}

// groupRows groups adjacent rows of one index.
func groupRows(rows []map[string]any) (groups [][]map[string]any) {
	id := func(row map[string]any) string {
		return str(row, "table_schema") + "\x00" + str(row, "table_name") + "\x00" + str(row, "index_name")
	}
	for i, row := range rows {
		if i == 0 || id(row) != id(rows[i-1]) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], row)
	}
	return groups
}

// nameable reports whether a name can be written in a template, and is the same after the normalization of the
// language.
func nameable(name string) bool {
	return !printable.HasHidden(name) && !strings.ContainsAny(name, "\n\t") && importer.TemplateHolds(name) &&
		norm.NFC.IsNormalString(name)
}

func str(row map[string]any, member string) string {
	s, _ := row[member].(string)
	return s
}

func count(row map[string]any, member string) int {
	switch v := row[member].(type) {
	case int:
		return v
	case int64:
		return int(v)
	}
	return 0
}

func truth(row map[string]any, member string) bool {
	switch v := row[member].(type) {
	case bool:
		return v
	case int:
		return v != 0
	case int64:
		return v != 0
	}
	return false
}
