// Package sqltext turns an SQL template into a program that binds every ${...} as a parameter of a
// statement.
//
// Compile is its entry point. It reads every text that the template can render, with a lexer of the
// dialect that walks a set of states over both branches of each %{if} and any number of rounds of
// each %{for}. What it lets through has one guarantee: no value of a call can change the text of a
// statement. The text depends only on which branches are taken, how many rounds a loop has, how
// many elements a list has that the dialect can only bind one by one, and which of the author's own
// texts ident and raw choose.
//
// How a value is bound. A string, bool, int or float64 stays as it is. A json.Number becomes its
// text, so that no digit is lost: servers read it as the number where a number belongs. Bytes
// become []byte, null becomes nil, and an object becomes its JSON text. A list is expanded after
// IN and VALUES; on PostgreSQL it is one array ([]string, []int64, []float64, []bool, or []any if
// its elements differ or hold a null), elsewhere on the others it is refused.
package sqltext

import (
	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// Dialect is the SQL that a server speaks, with the settings that the lexer relies on:
// standard_conforming_strings on PostgreSQL, neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES on MySQL.
type Dialect int

const (
	SQLite Dialect = iota
	PostgreSQL
	MySQL // and MariaDB
)

func (d Dialect) String() string { return [...]string{"SQLite", "PostgreSQL", "MySQL"}[d] }

// maxParams is how many parameters one statement of a dialect can have.
func (d Dialect) maxParams() int {
	if d == SQLite {
		return 32766
	}
	return 65535
}

// quote appends s as a quoted identifier. On SQLite it uses the quotes that never turn into a
// string when no column has the name.
func (d Dialect) quote(dst []byte, s string) []byte {
	q := byte('`')
	if d == PostgreSQL {
		q = '"'
	}
	dst = append(dst, q)
	for i := range len(s) {
		if s[i] == q {
			dst = append(dst, q)
		}
		dst = append(dst, s[i])
	}
	return append(dst, q)
}

// Compile checks every rendering of a template and returns its program, which is nil if and only if
// the diagnostics hold an error. All mistakes are found in one pass.
func Compile(t *template.Tree, d Dialect) (*Program, hclv2.Diagnostics) {
	c := &checker{
		dialect: d, tree: t,
		contexts:    map[*template.Interpolation]holeContext{},
		rawTexts:    map[*template.Interpolation][]*template.Text{},
		unseparated: map[*template.For]bool{},
		seen:        map[seenKey]bool{},
		verbs:       map[string]bool{},
	}
	c.checkEnd(c.readNodes(t.Nodes, stateSet{initial()}))
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return c.generate(), c.diags
}
