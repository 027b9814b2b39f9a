package sql

import (
	"strings"

	"hatchel/hcl/template/sqltext"
)

// layOut returns a statement without what has no meaning: comments, and white space outside of literals and quoted
// names but for one space between two words. Comments that a database may read as hints stay, and so does a comment
// with a zero byte, which stands for a value.
func layOut(text string, dialect sqltext.Dialect) string {
	l := sqlLayout{}
	for at := 0; at < len(text); {
		size, kind := nextToken(text, at, dialect)
		switch token := text[at : at+size]; {
		case kind == spaceToken, kind == commentToken && !readByDatabase(token):
			l.space = true
		case kind == commentToken && !strings.HasPrefix(token, "/*"):
			l.add(token)
			l.lineComment = true
		default:
			l.add(token)
		}
		at += size
	}
	return l.out.String()
}

// sqlLayout collects the tokens of a statement.
type sqlLayout struct {
	out         strings.Builder
	last        string // the last token
	space       bool   // white space or a comment follows it
	lineComment bool   // the last token ends with its line
}

func (l *sqlLayout) add(token string) {
	switch {
	case l.out.Len() == 0:
	case l.lineComment:
		l.out.WriteByte('\n')
	case l.last == ",", comparisons[l.last], comparisons[token],
		l.space && l.last != "(" && token != ")" && token != ",":
		l.out.WriteByte(' ')
	}
	l.out.WriteString(token)
	l.last, l.space, l.lineComment = token, false, false
}

// comparisons are operators with a space on both sides, whether it is written or not.
var comparisons = map[string]bool{"=": true, "<": true, ">": true, "<=": true, ">=": true, "<>": true, "!=": true}

// operatorSize returns the length of an operator at the beginning of a text, which no comment is part of.
func operatorSize(text string) int {
	for i := range len(text) {
		rest := text[i:]
		if strings.IndexByte("+-*/<>=~!@#%^&|?", text[i]) < 0 || strings.HasPrefix(rest, "--") ||
			strings.HasPrefix(rest, "/*") {
			return i
		}
	}
	return len(text)
}

// readByDatabase reports whether a comment is more than a remark: a hint, text that MySQL runs, or one with a value.
func readByDatabase(comment string) bool {
	for _, hint := range []string{"/*+", "/*!", "/*M!", "--+"} {
		if strings.HasPrefix(comment, hint) {
			return true
		}
	}
	return strings.IndexByte(comment, 0) >= 0
}

type tokenKind int

const (
	otherToken tokenKind = iota
	spaceToken
	commentToken
)

// nextToken returns the size of the token at a byte of a statement, and what it is.
func nextToken(text string, at int, dialect sqltext.Dialect) (size int, kind tokenKind) {
	rest, c := text[at:], text[at]
	switch {
	case c == ' ' || c >= '\t' && c <= '\r':
		size = len(rest) - len(strings.TrimLeft(rest, " \t\n\v\f\r"))
		return size, spaceToken
	case c == '\'':
		_, size = readQuoted(rest, hasEscapes(text, at, dialect))
		return size, otherToken
	case c == '"' || c == '`' && dialect != sqltext.PostgreSQL || c == '[' && dialect == sqltext.SQLite:
		_, size = readQuoted(rest, c == '"' && dialect == sqltext.MySQL)
		return size, otherToken
	case strings.HasPrefix(rest, "/*"):
		return blockComment(rest, dialect == sqltext.PostgreSQL), commentToken
	case c == '#' && dialect == sqltext.MySQL, strings.HasPrefix(rest, "--") &&
		(dialect != sqltext.MySQL || len(rest) == 2 || rest[2] <= ' '):
		if size = strings.IndexByte(rest, '\n'); size < 0 {
			size = len(rest)
		}
		return size, commentToken
	case c == '$' && dialect == sqltext.PostgreSQL && (at == 0 || !isNameByte(text[at-1])):
		tag := dollarTag.FindString(rest)
		if end := strings.Index(rest[len(tag):], tag); tag != "" && end >= 0 {
			return end + 2*len(tag), otherToken
		}
	}
	return max(operatorSize(rest), 1), otherToken
}

// hasEscapes reports whether a backslash in the literal at a byte is an escape.
func hasEscapes(text string, at int, dialect sqltext.Dialect) bool {
	return dialect == sqltext.MySQL || dialect == sqltext.PostgreSQL && at > 0 && text[at-1]|0x20 == 'e' &&
		(at == 1 || !isNameByte(text[at-2]))
}
