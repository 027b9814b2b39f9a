package dbschema

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/catalog"
	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/printable"
)

// Options select tables and tools.
type Options struct {
	Kind       string   // of the connection: postgres, mysql or sqlite
	Connection string   // its name
	Tables     []string // patterns of names, such as invoices, orders_* or sales.*; empty for all
	Writes     bool     // also insert and update
	All        bool     // also without Tables as many tools as there are
	Existing   []string // the names of the tools of the directory; they count, unless they are generated again

	Settings []string // the settings of the session that each call sends

	TextDecimals bool // decimals are answered as text
	TextIntegers bool // and so are integers that JavaScript rounds
}

// Kinds of losses.
const (
	tableLeftOut  = "table left out"
	databaseRules = "rules of the database"
)

// Import generates tools for the tables of the database that q queries. It also returns all tables that q can read,
// whether they are selected or not, for completion.
func Import(ctx context.Context, q Query, o Options) (*importer.Result, []catalog.Table, error) {
	d := dialects[o.Kind]
	if d == nil {
		return nil, nil, fmt.Errorf("connection %q is of the kind %s; tables can be read from postgres, mysql and "+
			"sqlite", o.Connection, o.Kind)
	}
	r := &importer.Result{Source: "schema " + o.Kind + " " + o.Connection}
	tables, err := readTables(ctx, d, q, r)
	if err != nil {
		return nil, nil, err
	}
	all := namesOf(tables)
	if tables, err = selectTables(tables, o.Tables); err != nil {
		return nil, nil, err
	}
	g := &generator{options: o, dialect: d, result: r, names: importer.Names{}}
	for _, t := range tables {
		if err := g.addTable(ctx, q, t); err != nil {
			return nil, nil, err
		}
	}
	others := slices.DeleteFunc(slices.Clone(o.Existing), func(name string) bool { return g.names[name] })
	if n := len(r.Blocks); n+len(others) > importer.MaxTools {
		if len(o.Tables) == 0 && !o.All {
			return nil, nil, tooMany(tables, n, len(others))
		}
		g.addToolsets()
	}
	r.Losses = slices.DeleteFunc(r.Losses, func(l importer.Loss) bool {
		isOf := func(t *table) bool { return l.Name == t.origin() }
		return l.Kind != tableLeftOut && !slices.ContainsFunc(tables, isOf)
	})
	return r, all, nil
}

// Reads reports whether tables can be read from a kind of connection.
func Reads(kind string) bool { return dialects[kind] != nil }

// Tables returns the names of all tables that q can read, for completion. Reads must report true for the kind.
func Tables(ctx context.Context, q Query, kind string) ([]catalog.Table, error) {
	tables, err := readTables(ctx, dialects[kind], q, new(importer.Result))
	return namesOf(tables), err
}

func namesOf(tables []*table) (all []catalog.Table) {
	for _, t := range tables {
		if len(t.all) > 0 {
			all = append(all, catalog.Table{Name: t.name, SQL: t.ref, Columns: t.all})
		}
	}
	return all
}

// tooMany returns the error for more tools than agents choose well among, n of them new.
func tooMany(tables []*table, n, others int) error {
	count := fmt.Sprintf("%d tables give %d tools", len(tables), n)
	if len(tables) == 1 {
		count = fmt.Sprintf("one table gives %d tools", n)
	}
	if others > 0 {
		count += fmt.Sprintf(", and the directory has %d others", others)
	}
	example := tables[0].name
	if len(tables) > 1 {
		example += "," + tables[1].name
	}
	const text = "%s, and agents choose badly among more than %d. Select tables with --table, as in --table '%s', " +
		"or take all with --all, which writes toolsets of at most %[2]d. The tables: %[4]s"
	return fmt.Errorf(text, count, importer.MaxTools, example, tableNames(tables))
}

// maxToolsetBytes is the size of the blocks of a toolset. The tools of a toolset take at most as many tokens as lint
// accepts, which are fewer than a third of the bytes.
const maxToolsetBytes = 60_000

// addToolsets adds toolsets with all tools, each with at most
// importer.MaxTools, and the tools of a table in one of them.
func (g *generator) addToolsets() {
	var sets [][]int // of numbers of blocks
	size := 0
	blocks := g.result.Blocks
	for i := 0; i < len(blocks); {
		next, bytes := i, 0
		for ; next < len(blocks) && blocks[next].Origin == blocks[i].Origin; next++ {
			bytes += len(blocks[next].Text)
		}
		if len(sets) == 0 || len(sets[len(sets)-1])+next-i > importer.MaxTools || size+bytes > maxToolsetBytes {
			sets, size = append(sets, nil), 0
		}
		for ; i < next; i++ {
			sets[len(sets)-1] = append(sets[len(sets)-1], i)
		}
		size += bytes
	}
	for n, set := range sets {
		first, last := plain(blocks[set[0]].Origin), plain(blocks[set[len(set)-1]].Origin)
		name := fmt.Sprintf("%s_%d", importer.Identifier(g.options.Connection), n+1)
		text := "toolset " + importer.Quote(name) + " {\n" +
			"title = " + importer.Quote("Tables from "+first+" to "+last) + "\ntools = [\n"
		for _, i := range set {
			text += importer.Quote(g.added[i]) + ",\n"
		}
		g.result.Blocks = append(g.result.Blocks, importer.Block{
			File: blocks[0].File, Text: text + "]\n}\n", Origin: g.options.Kind + "." + g.options.Connection,
		})
	}
}

func tableNames(tables []*table) string {
	const maxNames = 200
	var names []string
	for _, t := range tables[:min(len(tables), maxNames)] {
		names = append(names, printable.Reveal(shortName(t), ""))
	}
	if len(tables) > maxNames {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// shortName returns the name of a table, with its schema if statements need it.
func shortName(t *table) string {
	if t.qualified {
		return t.schema + "." + t.name
	}
	return t.name
}

// selectTables returns the tables that a pattern matches. Each pattern must match one.
func selectTables(tables []*table, patterns []string) (selected []*table, err error) {
	if len(tables) == 0 {
		return nil, fmt.Errorf("the database has no tables that this connection may read")
	}
	if len(patterns) == 0 {
		return tables, nil
	}
	used := map[string]bool{}
	for _, t := range tables {
		matches := false
		for _, p := range patterns {
			byName, err := path.Match(p, t.name)
			if err != nil {
				return nil, fmt.Errorf("--table %s is not a valid pattern: * matches any characters, ? one", p)
			}
			full, _ := path.Match(p, t.schema+"."+t.name)
			if byName || full {
				matches, used[p] = true, true
			}
		}
		if matches {
			selected = append(selected, t)
		}
	}
	for _, p := range patterns {
		if !used[p] {
			return nil, fmt.Errorf("--table %s matches no table. The tables: %s", p, tableNames(tables))
		}
	}
	return selected, nil
}

// generator generates the tools of one database.
type generator struct {
	options Options
	dialect dialect
	result  *importer.Result
	names   importer.Names
	added   []string // the names of the tools, one for each block
}

const (
	maxName        = 50 // of a tool: clients put the name of the server before it
	maxFilters     = 8  // inputs of list, besides those for the order and the part
	maxDescription = 1000
)

// addTable adds the tools of one table, or reports why there are none. The error is that of the connection.
func (g *generator) addTable(ctx context.Context, q Query, t *table) error {
	why, err := g.unreadable(ctx, q, t)
	switch {
	case err != nil:
		return err
	case why == "" && len(t.readable()) == 0:
		why = "it has no column that can be read"
	}
	if why != "" {
		g.result.Lose(t.origin(), tableLeftOut, why, "")
		return nil
	}
	if t.rowSecurity && !t.view {
		const policies = "row-level security applies: the tools see and write what its policies allow the role"
		g.result.Lose(t.origin(), databaseRules, policies, "")
	}
	if t.writeNote != "" && !t.view && g.options.Writes {
		g.result.Lose(t.origin(), databaseRules, t.writeNote, "")
	}
	if g.options.Writes && !t.view {
		if err := g.checkDefaults(ctx, q, t); err != nil {
			return err
		}
	}
	g.addTools(t)
	return nil
}

// unreadable selects no rows of a table, and returns why that fails: what a view selects from is gone, or the role
// may not read it. The error is that of the connection. A table with row-level security is not asked, because its
// policies may need settings of a caller, as session of a connection sends them; the catalog has its privileges. A view
// that lacks nothing but such a setting can be read with a caller.
func (g *generator) unreadable(ctx context.Context, q Query, t *table) (why string, err error) {
	if t.rowSecurity && !t.view {
		return "", nil
	}
	columns := "*"
	for i, c := range t.readable() {
		if i == 0 {
			columns = c.ref
		} else {
			columns += ", " + c.ref
		}
	}
	_, failed := q(ctx, "SELECT "+columns+" FROM "+t.ref+" LIMIT 0")
	if failed == nil {
		return "", nil
	}
	if _, err = q(ctx, "SELECT 1 AS one"); err != nil {
		return "", err
	}
	for _, name := range g.options.Settings {
		if t.view && strings.Contains(failed.Error(), `"`+name+`"`) {
			g.result.Lose(t.origin(), databaseRules, "it needs "+name+" of a caller, which session sends: row-level "+
				"security of a table that it reads, or the view itself, chooses the rows", "")
			return "", nil
		}
	}
	return "it cannot be read: " + failed.Error(), nil
}

// addTools adds the tools of one table.
func (g *generator) addTools(t *table) {
	base := importer.Identifier(t.name)
	if t.qualified {
		base = importer.Identifier(t.schema) + "_" + base
	}
	g.add(t, "list", base, g.list(t))
	also := "" // what has no tool besides
	if g.options.Writes {
		also = "; no insert and no update tool is written either"
	}
	if t.key == nil {
		if !t.view {
			const noKey = "the table has neither a primary key nor a unique index without nulls"
			g.result.Lose(t.origin(), "no get tool", cmp.Or(t.noKey, noKey)+also, "")
		}
		return
	}
	if c := t.unusableKey(); c != nil {
		why := "has the type " + c.typ + ", with which no input is compared"
		if c.credential {
			why = c.why()
		}
		g.result.Lose(t.origin(), "no get tool", c.name+" of the key "+why+also, c.name)
		return
	}
	g.add(t, "get", base, g.get(t))
	if !g.options.Writes || t.view {
		return
	}
	if tool := g.insert(t); tool != nil {
		g.add(t, "insert", base, tool)
	}
	if tool := g.update(t); tool != nil {
		g.add(t, "update", base, tool)
	}
}

// tool is one tool as text. Its lines are indented when it is written.
type tool struct {
	description string
	inputs      []string // blocks
	verb        string   // query or exec
	statement   string   // of HCL templates
	after       string   // arguments and blocks behind the sql block
}

func (g *generator) add(t *table, verb, base string, tool *tool) {
	name := g.names.Take(verb+"_"+base, maxName)
	g.added = append(g.added, name)
	text := importer.Comment(t.origin()) + "tool " + importer.Quote(name) + " {\n" +
		"description = " + importer.Quote(tool.description) + "\n" + strings.Join(tool.inputs, "") + "\n" +
		"sql " + importer.Quote(g.options.Connection) + " {\n" +
		tool.verb + " = <<-SQL\n" + indent(tool.statement, "      ") + "    SQL\n}\n" + tool.after + "}\n"
	g.result.Blocks = append(g.result.Blocks, importer.Block{
		File: importer.FileName(g.options.Connection + "_tables"), Text: text, Origin: t.origin(),
	})
}

func indent(text, by string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(by + line)
	}
	return out.String()
}

// readable returns the columns that a SELECT lists.
func (t *table) readable() (columns []*column) {
	for _, c := range t.columns {
		if c.kind != binary && !c.credential {
			columns = append(columns, c)
		}
	}
	return columns
}

// unusableKey returns a column of the key whose value no input can have, or nil.
func (t *table) unusableKey() *column {
	for _, name := range t.key {
		if c := t.column(name); !c.scalar() {
			return c
		}
	}
	return nil
}

// why says why no input has a value of the column.
func (c *column) why() string {
	switch {
	case c.credential:
		return "is named like a credential"
	case c.writable():
		return "may not be set by the role"
	}
	return "has the type " + c.typ + ", " + c.refusal
}

// scalar reports whether an input with one value can be compared with the column.
func (c *column) scalar() bool {
	return c.dimensions == 0 && c.kind != binary && c.kind != document && !c.unequal && !c.credential
}

// describe returns the description of a tool, with the comments of the table and its columns. Texts that instruct
// models only together are left out.
func describe(first string, t *table) string {
	full := first
	if t.comment != "" {
		full += " " + sentence(t.comment)
	}
	var names, columns []string
	for _, c := range t.readable() {
		text := plain(c.name)
		names = append(names, text)
		if c.comment != "" {
			text += " (" + strings.TrimRight(plain(c.comment), ".") + ")"
		}
		columns = append(columns, text)
	}
	full += " Columns: " + strings.Join(columns, ", ") + "."
	for _, text := range []string{full, first + " Columns: " + strings.Join(names, ", ") + "."} {
		if !importer.Steers(text) {
			return importer.Sentence(text, maxDescription)
		}
	}
	return first
}

// plain returns a name or comment for a description: back quotes would name inputs.
func plain(s string) string { return importer.Sentence(strings.ReplaceAll(s, "`", "'"), 300) }

// sentence returns a comment with a full stop.
func sentence(s string) string {
	s = plain(s)
	if s != "" && !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}
