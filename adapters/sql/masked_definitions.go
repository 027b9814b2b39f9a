package sql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hatchel/hcl/template/sqltext"
)

// createWords come before the name of what CREATE creates.
var createWords = wordSet("CREATE OR REPLACE TEMP TEMPORARY UNLOGGED RECURSIVE MATERIALIZED VIEW TABLE IF NOT EXISTS")

// define tells the scan of the views and tables that statements create, as far as its statement uses them: the columns
// that hold masked values, and the tables that these are from. It follows views of views.
func (s *maskScan) define(definitions []string) {
	tables := slices.Clone(s.tables)
	used := map[string]*maskScan{}
	for known := -1; known < len(used); {
		known = len(used)
		for _, text := range definitions {
			if used[text] != nil {
				continue
			}
			if d := newMaskScan(text, s.dialect, s.mask); d.word(0) == "CREATE" && d.isCreated(tables) {
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
	name := strings.Join(partsOf(d.created()), ".")
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
	name := partsOf(s.created())
	return len(name) > 0 && slices.ContainsFunc(tables, func(table []string) bool {
		n := min(len(table), len(name))
		return slices.EqualFunc(table[len(table)-n:], name[len(name)-n:], func(a, b string) bool {
			return a == b || s.dialect != sqltext.PostgreSQL && strings.EqualFold(a, b)
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
		s.problem = fmt.Sprintf("The login of the connection may not read what it computes, so what mask %q masks "+
			"cannot be followed. Grant it SHOW VIEW on %s.", s.mask.Name, s.created())
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
		case c.masked:
			names = append(names, c.name)
		}
	}
	return names
}
