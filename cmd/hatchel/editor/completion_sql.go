package editor

import (
	"maps"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
)

// Tables are the tables behind connections, by kind and name of the connection, such as "postgres.desk".
type Tables map[string][]Table

// Table is a table or a view. Names are written as in a statement.
type Table struct {
	Name    string
	Columns []Column
}

// Column is a column of a table and its type as the database names it.
type Column struct{ Name, Type string }

var (
	sqlBlock   = lazyregexp.New(`\bsql[ \t]+"([^"\n]*)"[ \t]*\{`)
	tablePlace = lazyregexp.New(`(?i)\b(from|join|into|update|table)\s+[A-Za-z0-9_."]*$`)
	qualified  = lazyregexp.New(`([A-Za-z_][A-Za-z0-9_]*|"[^"]+")\.$`)
	aliasOf    = lazyregexp.New(`(?i)\b(?:from|join|into|update)\s+([\w."]+)(?:\s+(?:as\s+)?([A-Za-z_]\w*))?`)
)

// sqlKeywords are the words of statements that are written most.
var sqlKeywords = strings.Fields(`
	SELECT FROM WHERE AND OR NOT IN IS NULL LIKE BETWEEN JOIN LEFT ON GROUP BY ORDER HAVING LIMIT OFFSET AS
	DISTINCT COUNT SUM MIN MAX AVG CASE WHEN THEN ELSE END INSERT INTO VALUES UPDATE SET DELETE RETURNING
	DESC ASC UNION ALL EXISTS COALESCE WITH`)

// addSQL adds tables, columns and words of SQL.
func (c *completion) addSQL() {
	defer c.escapeNames()
	tables := c.tablesOfBlock()
	text := string(c.src[c.top().from:c.from])
	statement := text + string(c.src[c.to:c.endOfText()])
	used := usedTables(statement, tables)
	switch m := qualified.FindStringSubmatch(text); {
	case m != nil:
		if t := used[strings.ToLower(strings.Trim(m[1], `"`))]; t != nil {
			c.addColumns(t)
			return
		}
		for i := range tables { // of a schema
			if rest, ok := strings.CutPrefix(tables[i].Name, m[1]+"."); ok {
				c.add(Item{Label: rest, Kind: ItemTable})
			}
		}
		return
	case tablePlace.MatchString(text):
		for _, t := range tables {
			c.add(Item{Label: t.Name, Kind: ItemTable, Detail: columnNames(t)})
		}
		return
	}
	named := slices.Collect(maps.Values(used))
	for i := range tables {
		if slices.Contains(named, &tables[i]) {
			c.addColumns(&tables[i])
		}
	}
	for _, alias := range diag.SortedNames(used) {
		if !slices.ContainsFunc(tables, func(t Table) bool { return strings.EqualFold(t.Name, alias) }) {
			c.add(Item{Label: alias, Kind: ItemTable, Detail: used[alias].Name})
		}
	}
	for _, t := range tables {
		c.add(Item{Label: t.Name, Kind: ItemTable, Detail: columnNames(t)})
	}
	lower := c.from < c.offset && c.src[c.from] >= 'a'
	for _, word := range sqlKeywords {
		if lower {
			word = strings.ToLower(word)
		}
		c.add(Item{Label: word, Kind: ItemKeyword})
	}
}

// escapeNames escapes the quotes of names for a quoted text.
func (c *completion) escapeNames() {
	for i := range c.items {
		if item := &c.items[i]; c.top().kind == frameQuote {
			item.Insert = strings.ReplaceAll(item.Insert, `"`, `\"`)
		}
	}
}

func (c *completion) addColumns(t *Table) {
	for _, column := range t.Columns {
		c.add(Item{Label: column.Name, Kind: ItemColumn, Detail: column.Type, Doc: "Column of " + t.Name})
	}
}

func columnNames(t Table) string {
	var names []string
	for _, column := range t.Columns {
		names = append(names, column.Name)
	}
	return strings.Join(names, ", ")
}

// tablesOfBlock returns the tables of the connection that the sql block around the cursor names.
func (c *completion) tablesOfBlock() []Table {
	all := sqlBlock.FindAllSubmatch(c.src[c.region.From:c.from], -1)
	if len(all) == 0 || c.tables == nil {
		return nil
	}
	name := string(all[len(all)-1][1])
	for _, conn := range c.cfg.Connections {
		if tables := (*c.tables)[conn.Kind+"."+name]; conn.Name == name && tables != nil {
			return tables
		}
	}
	return nil
}

// endOfText returns where the text around the cursor ends.
func (c *completion) endOfText() int {
	if f := c.top(); f.kind == frameHeredoc {
		if end := heredocEnd(c.src, c.from, f.marker); end >= 0 {
			return end
		}
	}
	if i := strings.IndexAny(string(c.src[c.to:c.region.To]), "\"\n"); i >= 0 {
		return c.to + i
	}
	return c.region.To
}

// usedTables returns the tables that a statement names, by their names and aliases in lower case.
func usedTables(statement string, tables []Table) map[string]*Table {
	used := map[string]*Table{}
	for _, m := range aliasOf.FindAllStringSubmatch(statement, -1) {
		for i := range tables {
			t := &tables[i]
			short := t.Name[strings.LastIndexByte(t.Name, '.')+1:]
			if !strings.EqualFold(t.Name, m[1]) && !strings.EqualFold(short, m[1]) {
				continue
			}
			used[strings.ToLower(strings.Trim(short, `"`))] = t
			if alias := strings.ToLower(m[2]); alias != "" && !slices.Contains(sqlKeywords, strings.ToUpper(alias)) {
				used[alias] = t
			}
		}
	}
	return used
}
