package highlight

import (
	"bytes"
	"strings"

	"hatchel/hcl/template"
)

// grammar is what the lexer knows of a language.
type grammar struct {
	keywords     map[string]bool
	foldCase     bool   // keywords are written in any case
	lineComment  string // what begins a comment up to the end of the line
	blockComment bool   // /* begins a comment
	strings      string // the quotes of strings
	names        string // the quotes of names
	backslash    bool   // a backslash escapes the next character of a string
	doubled      bool   // a doubled quote is one character of a string
	variable     byte   // what begins a variable, or 0
	operators    string
	commands     bool // the first word of a command is what it calls
}

var grammars = map[Language]*grammar{
	SQL: {
		keywords: template.WordSet(`ADD ALL ALTER ANALYZE AND AS ASC BEGIN BETWEEN BY CASE CAST CHECK COLLATE COLUMN
			COMMIT CONFLICT CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DEFAULT
			DELETE DESC DISTINCT DO DROP ELSE END ESCAPE EXCEPT EXISTS EXPLAIN FALSE FETCH FILTER FIRST FOLLOWING
			FOR FOREIGN FROM FULL GLOB GROUP HAVING IF IGNORE ILIKE IN INDEX INNER INSERT INTERSECT INTERVAL INTO
			IS JOIN KEY LAST LATERAL LEFT LIKE LIMIT LOCKED MATCHED MATERIALIZED MERGE NATURAL NEXT NOT NOTHING
			NULL NULLS OFFSET ON ONLY OR ORDER OUTER OVER PARTITION PRECEDING PRIMARY RANGE RECURSIVE REFERENCES
			REGEXP REPLACE RETURNING RIGHT ROLLBACK ROW ROWS SELECT SET SKIP TABLE THEN TO TRUE UNBOUNDED UNION
			UNIQUE UPDATE USING VALUES VIEW WHEN WHERE WINDOW WITH`),
		foldCase: true, lineComment: "--", blockComment: true, strings: "'", names: "\"`", doubled: true,
		operators: "+-*/<>=~!%^&|:",
	},
	Shell: {
		keywords:    template.WordSet(`if then elif else fi for in do done while until case esac function`),
		lineComment: "#", strings: "'\"`", backslash: true, variable: '$', operators: "|&;<>(){}", commands: true,
	},
	Program: {
		keywords: template.WordSet(`and or not in let if else matches contains startsWith endsWith true false nil
			null`),
		lineComment: "//", blockComment: true, strings: "'\"`", backslash: true, operators: "+-*/<>=!%^&|?:",
	},
}

// mode is what the lexer is in between two parts of a text.
type mode uint8

const (
	plain mode = iota
	inQuote
	inLine
	inBlock
)

// lexer finds the words of a language in a text, part by part: a string or a comment may contain interpolations.
type lexer struct {
	*grammar
	quoted  bool // the text is in quotes, where \" is a quote
	mode    mode
	quote   byte
	kind    Kind // of what is quoted
	argued  bool // of a shell: the command has its first word
	literal bool // of a shell: what is quoted has no variables and no escapes
}

// read finds the words between two bytes of the file.
func (l *lexer) read(r *reader, at, end int) {
	for at < end {
		next := max(l.word(r, at, end), at+1)
		at = next
	}
}

// word finds the word at a byte, and returns where it ends.
func (l *lexer) word(r *reader, at, end int) int {
	rest, c := r.src[at:end], r.src[at]
	switch {
	case l.mode != plain:
		return l.continued(r, at, at, end)
	case bytes.HasPrefix(rest, []byte(l.lineComment)) && (!l.commands || l.beginsWord(r, at)):
		l.mode, l.kind = inLine, Comment
		return l.continued(r, at, at, end)
	case l.blockComment && bytes.HasPrefix(rest, []byte("/*")):
		l.mode, l.kind = inBlock, Comment
		return l.continued(r, at, at+2, end)
	case l.quoted && c == '\\' && len(rest) > 1 && l.opens(rest[1]):
		l.open(rest[1])
		return l.continued(r, at, at+2, end)
	case l.opens(c):
		l.open(c)
		return l.continued(r, at, at+1, end)
	case c >= '0' && c <= '9':
		stop := at + span(rest, func(c byte) bool { return isWord(c) || c == '.' })
		if !l.commands {
			r.addRange(at, stop, Number)
		}
		l.argued = true
		return stop
	case l.variable != 0 && c == l.variable:
		stop := at + 1 + span(rest[1:], isWord)
		r.addRange(at, stop, Variable)
		l.argued = true
		return stop
	case isWord(c) || l.commands && strings.IndexByte("./-", c) >= 0:
		return l.name(r, at, end)
	case strings.IndexByte(l.operators, c) >= 0:
		stop := at + span(rest, func(c byte) bool { return strings.IndexByte(l.operators, c) >= 0 })
		if !l.commands && l.blockComment { // a comment may follow an operator at once
			if i := bytes.Index(r.src[at+1:stop], []byte(l.lineComment)); i >= 0 {
				stop = at + 1 + i
			}
		}
		r.addRange(at, stop, Operator)
		l.argued = strings.IndexByte("<>", c) >= 0
		return stop
	case c == '\n':
		l.argued = false
	}
	return at + 1
}

// name reads a word of letters: a keyword, a function, a command or a name.
func (l *lexer) name(r *reader, at, end int) int {
	more := isWord
	if l.commands {
		more = func(c byte) bool { return isWord(c) || strings.IndexByte("./-", c) >= 0 }
	}
	stop := at + span(r.src[at:end], more)
	word := string(r.src[at:stop])
	if l.foldCase {
		word = strings.ToUpper(word)
	}
	member := at > 0 && r.src[at-1] == '.'
	switch {
	case l.keywords[word] && !member && !(l.commands && l.argued):
		r.addRange(at, stop, Keyword)
		l.argued = word == "for" || word == "case" || word == "function"
	case l.commands && stop < end && r.src[stop] == '=':
		r.addRange(at, stop, Variable)
	case l.commands && !l.argued:
		r.addRange(at, stop, Function)
		l.argued = true
	case l.commands:
	case stop < end && r.src[stop] == '(':
		r.addRange(at, stop, Function)
	case member:
		r.addRange(at, stop, Argument)
	default:
		r.addRange(at, stop, Variable)
	}
	return stop
}

func (l *lexer) opens(c byte) bool {
	return strings.IndexByte(l.strings, c) >= 0 || strings.IndexByte(l.names, c) >= 0
}

func (l *lexer) open(c byte) {
	l.mode, l.quote, l.kind, l.argued = inQuote, c, String, true
	l.literal = l.commands && c == '\''
	if strings.IndexByte(l.names, c) >= 0 {
		l.kind = Variable
	}
}

// continued reads a string or a comment that begins at a byte, from byte i to its end or to the end of this part of the
// text.
func (l *lexer) continued(r *reader, at, i, end int) int {
	for ; i < end; i++ {
		c := r.src[i]
		switch {
		case l.mode == inLine && c == '\n':
			l.mode, l.argued = plain, false
			r.addRange(at, i, l.kind)
			return i + 1
		case l.mode == inBlock && c == '*' && i+1 < end && r.src[i+1] == '/':
			l.mode = plain
			r.addRange(at, i+2, l.kind)
			return i + 2
		case l.mode != inQuote:
		case l.quoted && l.quote == '"' && c == '\\' && i+1 < end && r.src[i+1] == '"':
			l.mode = plain
			r.addRange(at, i+2, l.kind)
			return i + 2
		case c == '\\' && l.backslash && !l.literal, c == l.quote && l.doubled && i+1 < end && r.src[i+1] == l.quote:
			i++
		case c == l.quote:
			l.mode = plain
			r.addRange(at, i+1, l.kind)
			return i + 1
		case c == l.variable && l.variable != 0 && !l.literal && i+1 < end && isWord(r.src[i+1]):
			r.addRange(at, i, l.kind)
			stop := i + 1 + span(r.src[i+1:end], isWord)
			r.addRange(i, stop, Variable)
			return stop
		}
	}
	r.addRange(at, min(i, end), l.kind)
	return end
}

// beginsWord reports whether the byte before is a space or there is none.
func (l *lexer) beginsWord(r *reader, at int) bool {
	return at == 0 || strings.IndexByte(" \t\r\n;", r.src[at-1]) >= 0
}

// span returns how many bytes at the beginning hold.
func span(text []byte, holds func(byte) bool) (n int) {
	for n < len(text) && holds(text[n]) {
		n++
	}
	return n
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
