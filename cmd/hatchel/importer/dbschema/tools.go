package dbschema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// list returns the tool that lists rows. It filters by indexed columns, because others make the database read all rows;
// a view has no indexes, so it filters by all.
func (g *generator) list(t *table) *tool {
	tool := &tool{description: describe("List rows of "+plain(shortName(t))+".", t), verb: "query"}
	names := importer.Names{"sort": true, "descending": true, "limit": true, "offset": true}
	columns := t.filters()
	var where strings.Builder
	for i, c := range columns {
		if len(tool.inputs)+c.filterInputs() > maxFilters {
			g.result.Lose(t.origin(), "fewer filters", fmt.Sprintf("list filters by %d columns, and %d more are "+
				"indexed", i, len(columns)-i), "")
			columns = columns[:i]
			break
		}
		g.addFilter(tool, &where, names, c)
	}
	if len(columns) == 0 && !t.view {
		g.result.Lose(t.origin(), "no filters", "no column of the table is indexed", "")
	}
	order := g.addSort(tool, t, columns)
	tool.inputs = append(tool.inputs,
		input("limit", `optional(integer("Rows at most", { min = 1, max = 200 }), 50)`),
		input("offset", `optional(integer("Rows to skip", { min = 0 }), 0)`))
	tool.statement = "SELECT " + wrap(refs(t.readable())) + "\nFROM " + importer.Template(t.ref) + "\n"
	if where.Len() > 0 {
		tool.statement += "WHERE 1 = 1\n" + where.String()
	}
	tool.statement += order + "LIMIT ${input.limit} OFFSET ${input.offset}\n"
	return tool
}

// filters returns the columns that list can filter by, without repetition.
func (t *table) filters() (columns []*column) {
	names := t.indexed
	if t.view && len(names) == 0 {
		for _, c := range t.columns[:min(len(t.columns), maxFilters)] {
			names = append(names, c.name)
		}
	}
	for _, name := range names {
		if c := t.column(name); c.scalar() && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// filterInputs returns how many inputs compare with the column.
func (c *column) filterInputs() int {
	switch c.kind {
	case number, decimal, date, clock, local, instant:
		return 2
	}
	return 1
}

// addFilter adds the inputs that compare with one column: a range for numbers, dates and times, otherwise one value.
func (g *generator) addFilter(tool *tool, where *strings.Builder, names importer.Names, c *column) {
	compare := func(suffix, operator, note string) {
		name := names.Take(importer.Identifier(c.name)+suffix, 60)
		tool.inputs = append(tool.inputs, input(name, "optional("+g.typeOf(c, note)+")"))
		fmt.Fprintf(where, "  %%{if input.%s != null} AND %s %s %s %%{endif}\n",
			name, importer.Template(c.ref), operator, c.compared("${input."+name+"}"))
	}
	switch c.kind {
	case number, decimal:
		compare("_min", ">=", "at least")
		compare("_max", "<=", "at most")
	case date, clock, local, instant:
		compare("_from", ">=", "from")
		compare("_to", "<=", "up to")
	default:
		compare("", "=", "only rows with")
	}
}

// addSort adds the inputs for the order, which is total if the table has a key.
func (g *generator) addSort(tool *tool, t *table, columns []*column) string {
	var names, last []string
	for _, c := range columns {
		if strings.Contains(c.name, ".") { // ident would read a schema and a name
			g.result.Lose(t.origin(), "no order by a column", c.name+" has a dot in its name", c.name)
			continue
		}
		names = append(names, importer.Quote(c.name))
	}
	if len(names) == 0 {
		return ""
	}
	for _, name := range t.key {
		last = append(last, ", "+importer.Template(t.column(name).ref))
	}
	tool.inputs = append(tool.inputs,
		input("sort", "optional(enum("+strings.Join(names, ", ")+"), "+names[0]+")"),
		input("descending", `optional(bool("Whether the largest comes first"), false)`))
	return "ORDER BY ${ident(input.sort)} %{if input.descending} DESC %{endif}" + strings.Join(last, "") + "\n"
}

// get returns the tool that reads one row by its key.
func (g *generator) get(t *table) *tool {
	tool := &tool{description: describe("Get one row of "+plain(shortName(t))+" by its key.", t), verb: "query"}
	names := importer.Names{}
	tool.statement = "SELECT " + wrap(refs(t.readable())) + "\nFROM " + importer.Template(t.ref) + "\n" +
		"WHERE " + g.keyCondition(tool, t, names) + "\n"
	tool.after = notFound(t, "output.row != null") + "result = \"output.row\"\n"
	return tool
}

// keyCondition adds the inputs of the key.
func (g *generator) keyCondition(tool *tool, t *table, names importer.Names) string {
	var conditions []string
	for _, column := range t.key {
		c := t.column(column)
		name := names.Take(importer.Identifier(c.name), 60)
		tool.inputs = append(tool.inputs, input(name, g.typeOf(c, "of the row,")))
		conditions = append(conditions, importer.Template(c.ref)+" = "+c.compared("${input."+name+"}"))
	}
	return strings.Join(conditions, " AND ")
}

func notFound(t *table, that string) string {
	return "expect " + importer.Quote("there is no row of "+plain(shortName(t))+" with this key") +
		" { that = " + importer.Quote(that) + " }\n"
}

// insert returns the tool that inserts one row, or nil if a required column has no input.
func (g *generator) insert(t *table) *tool {
	if t.noInsert != "" {
		g.result.Lose(t.origin(), "no insert tool", t.noInsert, "")
		return nil
	}
	tool := &tool{description: describe("Insert one row into "+plain(shortName(t))+".", t), verb: "exec"}
	names := importer.Names{}
	var columns, values, laterColumns, laterValues []string
	fields := newFields(names, t.columns, (*column).insertable)
	for _, c := range t.columns {
		switch {
		case c.defaultDenied && (c.generated || !c.insertable()):
			g.result.Lose(t.origin(), "no insert tool", "the role may not use the sequence of "+c.name, c.name)
			return nil
		case c.generated:
			continue
		case !c.insertable() && (c.nullable || c.hasDefault):
			if !c.credential { // which is reported once
				g.result.Lose(t.origin(), "column not written", c.name+" "+c.why(), c.name)
			}
			continue
		case t.fills && !c.nullable && !c.hasDefault && (!c.insertable() || c.typ == "tsvector"):
			g.result.Lose(t.origin(), "column left to a trigger", c.name+" is required and has the type "+c.typ, c.name)
			continue
		case !c.insertable():
			g.result.Lose(t.origin(), "no insert tool",
				c.name+" is required and "+c.why(), c.name)
			return nil
		}
		name := names.Take(importer.Identifier(c.name), 60)
		typ, value := g.typeOf(c, "of the new row,"), g.written(c, fields.at+name)
		byDefault := c.hasDefault && !c.defaultDenied
		if c.nullable || byDefault {
			typ = "optional(" + typ + ")"
		}
		fields.add(name, typ)
		if byDefault { // the column is named only when it has a value
			condition := "%{if " + fields.at + name + " != null}, "
			laterColumns = append(laterColumns, condition+importer.Template(c.ref)+"%{endif}")
			laterValues = append(laterValues, condition+value+"%{endif}")
			continue
		}
		columns, values = append(columns, importer.Template(c.ref)), append(values, value)
	}
	if len(columns) == 0 {
		g.result.Lose(t.origin(), "no insert tool", "every column has a default value or is generated", "")
		return nil
	}
	tool.inputs = fields.inputs()
	tool.statement = "INSERT INTO " + importer.Template(t.ref) + " (\n  " + wrap(columns) + lines(laterColumns) +
		"\n) VALUES (\n  " + wrap(values) + lines(laterValues) + "\n)\n"
	if g.options.Kind != "mysql" { // MySQL has no RETURNING; output.last_id is the new number
		var key []string
		for _, name := range t.key {
			key = append(key, importer.Template(t.column(name).ref))
		}
		tool.statement += "RETURNING " + strings.Join(key, ", ") + "\n"
		tool.after = "result = \"output.row\"\n"
	}
	return tool
}

// update returns the tool that changes one row, or nil if there is nothing to change.
func (g *generator) update(t *table) *tool {
	if t.noUpdate != "" {
		g.result.Lose(t.origin(), "no update tool", t.noUpdate, "")
		return nil
	}
	first := "Change one row of " + plain(shortName(t)) + " by its key. What is omitted keeps its value."
	tool := &tool{description: describe(first, t), verb: "exec"}
	names := importer.Names{}
	condition := g.keyCondition(tool, t, names)
	var set []string
	fields := newFields(names, slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool {
		return slices.Contains(t.key, c.name)
	}), (*column).updatable)
	if fields.group != "" {
		names = importer.Names{}
	}
	for _, c := range t.columns {
		if !c.updatable() || slices.Contains(t.key, c.name) {
			continue
		}
		name := names.Take(importer.Identifier(c.name), 60)
		fields.add(name, "optional("+g.typeOf(c, "new")+")")
		ref := importer.Template(c.ref)
		set = append(set, ref+" = COALESCE("+g.written(c, fields.at+name)+", "+ref+")")
	}
	if len(set) == 0 {
		g.result.Lose(t.origin(), "no update tool", "there is no column that the role may change besides the key", "")
		return nil
	}
	tool.inputs = append(tool.inputs, fields.inputs()...)
	tool.statement = "UPDATE " + importer.Template(t.ref) + " SET\n  " + strings.Join(set, ",\n  ") + "\n" +
		"WHERE " + condition + "\n"
	tool.after = notFound(t, "output.affected == 1") + "text = " +
		importer.Quote("Changed one row of "+plain(shortName(t))+".") + "\n"
	return tool
}

// fields are the inputs for the values of a row. If the tool would have more inputs than models fill reliably, they are
// the members of one.
type fields struct {
	at      string   // how an expression begins that reads one
	group   string   // the input that has them; empty for none
	members []string // blocks, or members of an object
}

const maxInputs = 12 // of a tool; see lint

// newFields returns the fields for columns of a tool whose other inputs have names.
func newFields(names importer.Names, columns []*column, written func(*column) bool) *fields {
	n := len(names)
	for _, c := range columns {
		if written(c) {
			n++
		}
	}
	if n <= maxInputs {
		return &fields{at: "input."}
	}
	group := names.Take("row", 60)
	return &fields{at: "input." + group + ".", group: group}
}

func (f *fields) add(name, typ string) {
	if f.group == "" {
		f.members = append(f.members, input(name, typ))
	} else {
		f.members = append(f.members, name+" = "+typ+"\n")
	}
}

// inputs returns the blocks.
func (f *fields) inputs() []string {
	if f.group == "" {
		return f.members
	}
	return []string{"input " + importer.Quote(f.group) + " {\ntype = object({\n" + strings.Join(f.members, "") +
		"}, \"The values of the row\")\n}\n"}
}

// writable reports whether an input can have a value of the column.
func (c *column) writable() bool { return c.kind != binary && !c.credential }

// compared returns the part of a statement that a column is compared with, for the value that it binds.
func (c *column) compared(value string) string { return fmt.Sprintf(cmp.Or(c.compare, "%s"), value) }

// written returns the part of a statement that writes the value of an expression. Only PostgreSQL has parameters whose
// type says that a value is JSON.
func (g *generator) written(c *column, expression string) string {
	if c.kind == document && g.options.Kind != "postgres" {
		expression = expression + " == null ? null : jsonencode(" + expression + ")"
	}
	return "${" + expression + "}"
}

// insertable and updatable report whether a tool can set the column.
func (c *column) insertable() bool { return c.writable() && !c.generated && !c.insertDenied }
func (c *column) updatable() bool  { return c.writable() && !c.generated && !c.updateDenied }

func input(name, typ string) string {
	return importer.Input(name, typ)
}

func refs(columns []*column) (refs []string) {
	for _, c := range columns {
		refs = append(refs, importer.Template(c.ref))
	}
	return refs
}

func lines(parts []string) string {
	out := ""
	for _, part := range parts {
		out += "\n  " + part
	}
	return out
}

// wrap joins a list with commas, in lines of about 100 columns.
func wrap(list []string) string {
	var out strings.Builder
	width := 0
	for i, item := range list {
		if i > 0 {
			out.WriteByte(',')
			if width += len(item) + 2; width > 90 {
				out.WriteString("\n  ")
				width = len(item)
			} else {
				out.WriteByte(' ')
			}
		}
		out.WriteString(item)
	}
	return out.String()
}
