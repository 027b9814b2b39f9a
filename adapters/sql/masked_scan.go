package sql

import (
	"slices"
	"strings"

	"hatchel/hcl/eval"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
)

// maskScan follows the columns that a mask names through one statement, to the columns of its result.
type maskScan struct {
	tokens    []string
	closes    []int      // for each token that is a parenthesis or a bracket, the one that closes it
	tables    [][]string // that the statement names
	whole     []string   // the names by which it names them, of which each is a row
	dialect   sqltext.Dialect
	hasRows   bool     // a name of a table stands for its row
	records   []string // names of queries and joins, whose rows are texts in a result
	documents bool     // the column value is that of json_each, of which parts can be read by their names
	isMySQL   bool     // the columns of VALUES have no names
	mask      *eval.Mask
	columns   []selected // of the result

	computed []string        // columns of views and tables, with their names, that hold masked values; see define
	derived  map[string]bool // names of columns that hold masked values
	problem  string          // why the columns cannot be followed
}

// stringToken begins the token of a text in quotes. It is a name that no statement has.
const stringToken = "\"\x00"

func newMaskScan(text string, dialect sqltext.Dialect, mask *eval.Mask) *maskScan {
	named := withoutText(text, dialect, func(content string) string {
		content = strings.ReplaceAll(content, "''", "'")
		return " " + stringToken + strings.ReplaceAll(content, `"`, `""`) + `" `
	})
	named = textAfterDot.ReplaceAllString(named, `."`)
	named = textBeforeDot.ReplaceAllString(named, `"$1".`)
	s := &maskScan{tokens: tokensOf(named, dialect), mask: mask, derived: map[string]bool{}, dialect: dialect,
		hasRows: dialect == sqltext.PostgreSQL, isMySQL: dialect == sqltext.MySQL}
	s.closes = make([]int, len(s.tokens))
	var open []int
	for i, token := range s.tokens {
		s.closes[i] = len(s.tokens)
		switch {
		case isOpening(token):
			open = append(open, i)
		case (token == ")" || token == "]") && len(open) > 0:
			s.closes[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	for _, table := range namedTables(text, dialect) {
		s.tables = append(s.tables, partsOf(table))
	}
	return s
}

var (
	// textAfterDot finds a text in quotes that is the name of a column in SQLite, as in people.'email'.
	textAfterDot = lazyregexp.New(`\.\s*"\x00`)
	// textBeforeDot finds one that is the name of a table.
	textBeforeDot = lazyregexp.New(`"\x00([^"]*)"\s*\.`)
)

// namedTables returns the tables of a statement, as tablesOf does, and the names that WITH gives to others: a query in
// WITH may read the table of its own name. SQLite accepts a text as the name of a table.
func namedTables(text string, dialect sqltext.Dialect) (tables []string) {
	var literal func(string) string
	if dialect == sqltext.SQLite {
		literal = func(content string) string {
			return ` "` + strings.ReplaceAll(strings.ReplaceAll(content, "''", "'"), `"`, `""`) + `" `
		}
	}
	tokens := tokensOf(withoutText(text, dialect, literal), dialect)
	s := &tableScan{tokens: tokens, found: map[string][]string{}}
	for i := range s.tokens {
		s.at(i)
	}
	for _, found := range s.found {
		tables = append(tables, found...)
	}
	slices.Sort(tables)
	return slices.Compact(tables)
}

// partsOf returns the parts of a name of tablesOf, without quotes.
func partsOf(table string) []string {
	parts := nameParts.FindAllString(table, -1)
	for i, part := range parts {
		parts[i] = lastName(part)
	}
	return parts
}

// tokensOf returns the tokens of a statement. Brackets are those of an array, and of a name in SQLite alone.
func tokensOf(text string, dialect sqltext.Dialect) []string {
	const bracket = "\x01"
	if dialect != sqltext.SQLite {
		text = strings.ReplaceAll(text, "[", bracket)
	}
	tokens := sqlToken.FindAllString(text, -1)
	for i, token := range tokens {
		tokens[i] = strings.ReplaceAll(token, bracket, "[")
	}
	return tokens
}

// isOpening reports whether a token is a parenthesis or the bracket of an array.
func isOpening(token string) bool { return token == "(" || token == "[" }

// word returns a token in upper case; a name in quotes is no word.
func (s *maskScan) word(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return strings.ToUpper(s.tokens[i])
}

// lastName returns the last part of a name as a result has it.
func lastName(token string) string {
	if text, ok := strings.CutPrefix(token, stringToken); ok { // MySQL and SQLite accept a text as an alias
		return strings.ReplaceAll(strings.TrimSuffix(text, `"`), `""`, `"`)
	}
	parts := nameParts.FindAllString(token, -1)
	if len(parts) == 0 {
		return ""
	}
	last := parts[len(parts)-1]
	if quote := last[:1]; strings.Contains("\"`[", quote) {
		last = last[1 : len(last)-1]
		return strings.ReplaceAll(last, quote+quote, quote)
	}
	return last
}

// nameOf returns the name that a column has in the result. PostgreSQL cuts it, and MySQL drops spaces before it.
func (s *maskScan) nameOf(token string) string {
	name := lastName(token)
	switch {
	case s.isMySQL:
		return strings.TrimLeft(name, " ")
	case s.hasRows && len(name) > maxPostgresName:
		return name[:cut.Before(name, maxPostgresName)]
	}
	return name
}

// maxPostgresName is how many bytes a name has in PostgreSQL.
const maxPostgresName = 63

// isName reports whether a token is a name, perhaps with that of its table.
func isName(token string) bool {
	return !strings.HasPrefix(token, stringToken) && nameParts.FindString(token) != "" && token != "*" &&
		strings.HasPrefix(token, nameParts.FindString(token))
}
