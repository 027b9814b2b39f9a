package surface

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A statement of SQL is compared by its words, so that one that certainly reads and changes no more than another is
// known: conditions that are joined with AND were added, columns are fewer, the limit is lower.

// statement is one statement of SQL in parts. Only what stands outside of parentheses is taken apart.
type statement struct {
	head    []string // up to the columns, or up to WHERE
	columns []string // of a SELECT; nil for others
	from    []string // after the columns, up to WHERE
	where   []string // conditions of which each must be true
	tail    []string // after the conditions, without order and limit
	order   []string // of a query
	limit   []string // nil for none
}

// clauses are the words that end the conditions of a statement.
var clauses = []string{"GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", "RETURNING", "UNION",
	"INTERSECT", "EXCEPT", "ON", "INTO", "PROCEDURE"}

// parseStatement takes a statement apart. It reports false for what it does not take apart: several statements, those
// that begin with WITH or combine queries.
func parseStatement(text string) (s statement, ok bool) {
	words, ok := sqlWords(text)
	if !ok || len(words) == 0 || isWordOf(words[0], "WITH", "EXPLAIN") {
		return s, false
	}
	rest := words
	if isWordOf(words[0], "SELECT") {
		n := topLevel(rest, 1, append([]string{"FROM", "WHERE"}, clauses...)...)
		s.head = rest[:1]
		for n > len(s.head) && isWordOf(rest[len(s.head)], "DISTINCT", "ALL") {
			s.head = rest[:len(s.head)+1]
		}
		if columns := rest[len(s.head):n]; topLevel(columns, 0, "UNION", "INTERSECT", "EXCEPT", "INTO") < len(columns) {
			return s, false
		}
		s.columns, rest = splitTop(rest[len(s.head):n], ","), rest[n:]
	}
	where := topLevel(rest, 0, "WHERE")
	end := where
	if where == len(rest) {
		end = topLevel(rest, 0, clauses...)
		where = end
	} else {
		end = where + 1 + topLevel(rest[where+1:], 0, clauses...)
		s.where = conjuncts(rest[where+1 : end])
	}
	if s.columns != nil {
		s.from = rest[:where]
	} else {
		s.head = rest[:where]
	}
	s.tail = rest[end:]
	if topLevel(s.tail, 0, "UNION", "INTERSECT", "EXCEPT") < len(s.tail) {
		return s, false
	}
	if n := topLevel(s.tail, 0, "LIMIT"); n < len(s.tail) {
		s.limit, s.tail = s.tail[n+1:], s.tail[:n:n]
		if m := topLevel(s.limit, 0, clauses...); m < len(s.limit) { // OFFSET, FOR UPDATE, RETURNING
			s.tail, s.limit = append(s.tail, s.limit[m:]...), s.limit[:m]
		}
	}
	if n := topLevel(s.tail, 0, "ORDER"); n < len(s.tail) && s.columns != nil {
		m := n + 1 + topLevel(s.tail[n+1:], 0, clauses...)
		s.order, s.tail = s.tail[n:m], append(s.tail[:n:n], s.tail[m:]...)
	}
	return s, true
}

// sqlWords returns the words of a statement. A quoted text, and a value that is bound, are one word each. It reports
// false for several statements, and for what has no end.
func sqlWords(text string) (words []string, ok bool) {
	for i := 0; i < len(text); {
		start, ch := i, text[i]
		switch {
		case strings.IndexByte(" \t\r\n", ch) >= 0:
			i++
			continue
		case ch == '\'' || ch == '"' || ch == '`':
			if i = endOfQuoted(text, i); i < 0 {
				return nil, false
			}
		case ch == '{' || strings.HasPrefix(text[i:], "${") || strings.HasPrefix(text[i:], "%{"):
			if i = endOfValue(text, i); i < 0 {
				return nil, false
			}
		case ch == '-' && strings.HasPrefix(text[i:], "--"), ch == '#', strings.HasPrefix(text[i:], "/*"),
			ch == '$', ch == '\\':
			return nil, false // a comment or a dollar quote, of which dialects think differently
		case ch == ';':
			if strings.TrimSpace(text[i+1:]) != "" {
				return nil, false
			}
			return words, true
		case isSQLLetter(ch):
			for i < len(text) && isSQLLetter(text[i]) {
				i++
			}
		case strings.IndexByte("(),", ch) >= 0:
			i++
		default:
			for i < len(text) && strings.IndexByte("<>=!|&+*/%^~@:.?[]", text[i]) >= 0 {
				i++
			}
			if i == start {
				i++
			}
		}
		words = append(words, text[start:i])
	}
	return words, true
}

func isSQLLetter(ch byte) bool {
	return ch == '_' || ch >= '0' && ch <= '9' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= 0x80
}

// endOfQuoted returns where a quoted text ends; -1 if it does not, or if a backslash stands in it, of which dialects
// think differently.
func endOfQuoted(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			return -1
		case text[i] == text[at] && i+1 < len(text) && text[i+1] == text[at]:
			i++
		case text[i] == text[at]:
			return i + 1
		}
	}
	return -1
}

// endOfValue returns where a bound value ends; -1 if it does not.
func endOfValue(text string, at int) int {
	depth := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '"', '\'':
			end := strings.IndexByte(text[i+1:], text[i])
			if end < 0 {
				return -1
			}
			i += end + 1
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func isWordOf(word string, among ...string) bool {
	return slices.ContainsFunc(among, func(w string) bool { return strings.EqualFold(w, word) })
}

// topLevel returns the index of the first of some words that stands outside of parentheses and of CASE; the length
// for none.
func topLevel(words []string, from int, among ...string) int {
	depth := 0
	for i := from; i < len(words); i++ {
		switch {
		case words[i] == "(" || isWordOf(words[i], "CASE"):
			depth++
		case words[i] == ")" || isWordOf(words[i], "END"):
			depth--
		case depth == 0 && isWordOf(words[i], among...):
			return i
		}
	}
	return len(words)
}

// splitTop splits words at another one that stands outside of parentheses.
func splitTop(words []string, at string) (parts []string) {
	for {
		n := topLevel(words, 0, at)
		parts = append(parts, joinWords(words[:n]))
		if n == len(words) {
			return parts
		}
		words = words[n+1:]
	}
}

// keywords are the words that are the same in upper and in lower case. Names may differ, so they are left alone.
var keywords = strings.Fields(`ALL AND AS ASC BETWEEN BY CASE DELETE DESC DISTINCT ELSE END EXISTS FROM GROUP HAVING
	ILIKE IN INNER INSERT INTO IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OUTER
	RETURNING RIGHT SELECT SET THEN UNION UPDATE USING VALUES WHEN WHERE`)

// joinWords returns words as a text, with keywords in upper case.
func joinWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; isWordOf(w, keywords...) {
			out[i] = strings.ToUpper(w)
		}
	}
	return strings.Join(out, " ")
}

// conjuncts splits a condition at AND, outside of parentheses and of BETWEEN … AND. A condition with OR is one.
func conjuncts(words []string) (parts []string) {
	words = unwrap(words)
	if topLevel(words, 0, "OR", "XOR", "||") < len(words) {
		return []string{joinWords(words)}
	}
	start, between := 0, false
	for i := topLevel(words, 0, "AND", "BETWEEN"); ; i = topLevel(words, i+1, "AND", "BETWEEN") {
		switch {
		case i < len(words) && isWordOf(words[i], "BETWEEN"):
			between = true
			continue
		case i < len(words) && between:
			between = false
			continue
		}
		if part := unwrap(words[start:i]); topLevel(part, 0, "AND") < len(part) && len(part) < i-start {
			parts = append(parts, conjuncts(part)...)
		} else {
			parts = append(parts, joinWords(part))
		}
		if i == len(words) {
			return parts
		}
		start = i + 1
	}
}

// unwrap removes parentheses around all of a condition.
func unwrap(words []string) []string {
	for len(words) > 2 && words[0] == "(" {
		depth, end := 0, 0
		for i, w := range words {
			if w == "(" {
				depth++
			} else if w == ")" {
				depth--
			}
			if depth == 0 {
				end = i
				break
			}
		}
		if end != len(words)-1 || isWordOf(words[1], "SELECT", "WITH", "VALUES") {
			break
		}
		words = words[1:end]
	}
	return words
}

// disjuncts splits a condition at OR.
func disjuncts(condition string) []string {
	words, ok := sqlWords(condition)
	if !ok || topLevel(words, 0, "XOR", "||") < len(words) {
		return []string{condition}
	}
	return splitTop(words, "OR")
}

// statementChange is how a statement changed.
type statementChange struct {
	wider   []string // what it can do or read more, one sentence each; empty for a statement that is proved narrower
	filters bool     // it has a further condition
	same    bool     // by its words
}

// otherStatement says that nothing is known of a statement but that it is another one.
const otherStatement = "the statement is another one"

// compareStatements compares two statements.
func compareStatements(old, new string) statementChange {
	if old == new {
		return statementChange{same: true}
	}
	before, okBefore := sqlWords(old)
	after, okAfter := sqlWords(new)
	if okBefore && okAfter && joinWords(before) == joinWords(after) {
		return statementChange{same: true}
	}
	a, known := parseStatement(old)
	b, alsoKnown := parseStatement(new)
	if !known || !alsoKnown || joinWords(a.head) != joinWords(b.head) || joinWords(a.from) != joinWords(b.from) ||
		joinWords(a.tail) != joinWords(b.tail) || (a.columns == nil) != (b.columns == nil) {
		return statementChange{wider: []string{otherStatement}}
	}
	var wider []string
	for _, column := range missing(b.columns, a.columns) {
		wider = append(wider, "reads "+column)
	}
	for _, condition := range a.where {
		implied := func(c string) bool { return len(missing(disjuncts(c), disjuncts(condition))) == 0 }
		if !slices.ContainsFunc(b.where, implied) {
			wider = append(wider, "no longer requires "+condition)
		}
	}
	if limit := joinWords(a.limit); limit != "" && limit != joinWords(b.limit) {
		from, err := strconv.Atoi(limit)
		to, failed := strconv.Atoi(joinWords(b.limit))
		if err != nil || failed != nil || to > from {
			wider = append(wider, "LIMIT "+limit+" → "+cmp.Or(joinWords(b.limit), "none"))
		}
	}
	return statementChange{wider: wider, filters: len(missing(b.where, a.where)) > 0}
}
