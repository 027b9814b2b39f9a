// Package sqltext turns an SQL template into a program that binds every ${...} as a parameter of a
// statement.
//
// [Compile] is its entry point. It checks every rendering of the template with a lexer of the
// dialect, which processes sets of states over both branches of each %{if} and any number of rounds
// of each %{for}. A program guarantees that no value of a call changes the text of a statement. The
// text depends only on the branches that are taken, the number of rounds of each loop, the length
// of lists whose elements the dialect binds one by one, and the constant names and texts that ident
// and raw select.
//
// Values are bound as follows. A string, bool, int or float64 is passed unchanged, Bytes become []byte, and null
// becomes nil. A list is expanded after IN and VALUES.
//
// PostgreSQL tells the types of parameters, so a json.Number, a list ([]any) and an object (map[string]any) stay what
// they are, and a string of an expression that may have another type is an [AnyText]. Other dialects do not: a
// json.Number becomes its text, so that no digit is lost, and a list or an object becomes its JSON text.
package sqltext

import (
	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// Dialect is the SQL dialect of a server. The lexer relies on these settings:
// standard_conforming_strings on PostgreSQL, neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES on MySQL.
type Dialect int

const (
	SQLite Dialect = iota
	PostgreSQL
	MySQL // and MariaDB
)

func (d Dialect) String() string { return [...]string{"SQLite", "PostgreSQL", "MySQL"}[d] }

// maxParams returns the maximum number of parameters of a statement.
func (d Dialect) maxParams() int {
	if d == SQLite {
		return 32766
	}
	return 65535
}

// quote appends s as a quoted identifier. On SQLite it uses backquotes, because double
// quotes become a string if no column has the name.
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
// the diagnostics contain an error. It reports all mistakes in one pass.
func Compile(t *template.Tree, d Dialect) (*Program, hclv2.Diagnostics) {
	c := newChecker(t, d)
	c.check()
	if c.HasErrors() {
		return nil, c.All()
	}
	return c.generate(), c.All()
}
