package sqltext

import "strings"

// lexer reads the text of one node, starting in one state.
type lexer struct {
	*checker
	state
	node span // the current text node
	at   int  // the index of the current byte
}

// read advances the state over the whole text of the node.
func (l *lexer) read() {
	text := l.node.text.Value
	for l.at = 0; l.at < len(text); {
		if l.step(text[l.at]) {
			l.at++
		}
	}
}

// step reads one byte. It reports false if the byte ended the current token and must be read again.
func (l *lexer) step(c byte) bool {
	if c == 0 {
		l.errorAt(l.here(), "Zero byte in SQL",
			"A statement cannot hold a zero byte: a server would stop reading there. Remove it.")
		return true
	}
	switch l.mode {
	case plain:
		return l.beginToken(c)
	case afterInterpolation:
		l.mode = plain
		if l.joinsValue(c) {
			l.missingSpace(l.interpolation)
			l.set(operator, "") // the mistake was reported once
		}
		return false
	case inWord:
		return l.wordByte(c)
	case inNumber:
		if isName(c) && !(c == '$' && l.dialect == PostgreSQL) || c == '.' {
			return true
		}
		l.token(literal, "")
		return false
	case inOperator:
		return l.operatorByte(c)
	case afterColon:
		return l.colonByte(c)
	case twoDashes:
		if isSpace(c) || c < ' ' || c == 0x7f {
			l.mode = inLine
			return false
		}
		if c == '-' {
			return true
		}
		l.token(operator, "-")
		return false
	case inQuote, inEscape, quoteEnd:
		return l.quoteByte(c)
	case inTag, inDollar:
		return l.dollarByte(c)
	}
	return l.commentByte(c)
}

// beginToken reads the first byte of a token.
func (l *lexer) beginToken(c byte) bool {
	if isSpace(c) {
		return true
	}
	l.from = l.here()
	switch {
	case c >= '0' && c <= '9':
		l.mode = inNumber
	case c == '$' && l.dialect == PostgreSQL:
		l.mode, l.text = inTag, "$"
	case c == '$' && l.dialect == SQLite, c == '@' && l.dialect == SQLite, c == '#' && l.dialect == SQLite,
		c == '?' && l.dialect != PostgreSQL:
		l.rejectPlaceholder()
	case c == '#' && l.dialect == MySQL:
		l.mode = inLine
	case isName(c), c == '@' && l.dialect == MySQL:
		l.mode, l.text = inWord, upper(c)
	case c == '\'', c == '"', c == '`' && l.dialect != PostgreSQL:
		l.openQuote(c, l.dialect == MySQL && c != '`')
	case c == '[' && l.dialect == SQLite:
		l.openQuote(']', false)
	case c == ':':
		l.mode = afterColon
	case strings.IndexByte("()[],.;", c) >= 0:
		l.punctuation(c)
	default:
		l.mode, l.text = inOperator, string(c)
	}
	return true
}

func (l *lexer) wordByte(c byte) bool {
	if isName(c) || c == '@' && l.dialect == MySQL {
		if len(l.text) <= 32 { // no keyword is longer
			l.text += upper(c)
		}
		return true
	}
	prefix := c == '\'' && l.dialect == PostgreSQL && l.text == "E"
	l.endWord()
	if prefix {
		l.from = l.here()
		l.openQuote(c, true)
		return true
	}
	return false
}

// operatorBytes are the bytes of operators in any dialect.
const operatorBytes = "+-*/<>=~!@#%^&|`?\\{}"

func (l *lexer) operatorByte(c byte) bool {
	last := l.text[len(l.text)-1]
	switch {
	case c == '-' && last == '-':
		l.beginComment(inLine)
		if l.dialect == MySQL {
			l.mode = twoDashes
		}
	case c == '*' && last == '/':
		l.beginComment(inBlock)
		if l.dialect == MySQL {
			l.mode = blockOpen
		}
	case strings.IndexByte(operatorBytes, c) < 0, c == '@' && l.dialect != PostgreSQL,
		c == '#' && l.dialect != PostgreSQL,
		c == '?' && l.dialect != PostgreSQL, c == '`' && l.dialect != PostgreSQL:
		l.endOperator()
		return false
	case len(l.text) < 8: // no relevant operator is longer, but the last byte may open a comment
		l.text += string(c)
	default:
		l.text = l.text[:7] + string(c)
	}
	return true
}

// beginComment begins a comment whose first byte was read as the end of an operator.
func (l *lexer) beginComment(m mode) {
	from := l.here()
	from.from = max(0, from.from-1)
	if l.text = l.text[:len(l.text)-1]; l.text != "" {
		l.endOperator()
	}
	l.mode, l.text, l.from, l.depth = m, "", from, 1
}

func (l *lexer) commentByte(c byte) bool {
	switch l.mode {
	case inLine:
		if c == '\n' || c == '\r' && l.dialect == PostgreSQL {
			l.endComment()
		}
	case blockOpen:
		if c == 'M' && l.text == "" {
			l.text = "M"
			return true
		}
		l.mode, l.text = inBlock, ""
		if c != '!' {
			return false
		}
		at := l.here()
		if l.from.text == at.text {
			at.from = l.from.from
		}
		l.errorAt(at, "Executable comment",
			"The server executes the text inside /*! ... */. Write the text without the comment.")
	case inBlock:
		if c == '*' {
			l.mode = blockStar
		} else if c == '/' && l.dialect == PostgreSQL {
			l.mode = blockSlash
		}
	case blockStar:
		switch {
		case c == '/':
			if l.depth--; l.depth == 0 {
				l.endComment()
			} else {
				l.mode = inBlock
			}
		case c != '*':
			l.mode = inBlock
		}
	case blockSlash:
		switch {
		case c == '*':
			l.mode = inBlock
			l.depth++
		case c != '/':
			l.mode = inBlock
			return false
		}
	}
	return true
}

func (l *lexer) endComment() { l.mode, l.depth, l.text, l.from = plain, 0, "", span{} }

func (l *lexer) openQuote(c byte, slash bool) {
	if c == '\'' && l.prev == escaped {
		l.errorAt(l.here(), "Two strings in a row",
			"A string that follows an E'...' string continues it, and its backslashes are escapes too. Join "+
				"them with ||.")
	}
	if c == '\'' && slash && l.dialect == PostgreSQL {
		l.text = "E"
	}
	l.mode, l.quote, l.backslash = inQuote, c, slash
}

func (l *lexer) quoteByte(c byte) bool {
	switch {
	case l.mode == inEscape:
		l.mode = inQuote
	case l.mode == quoteEnd:
		if c == l.quote && c != ']' {
			l.mode = inQuote
			return true
		}
		l.endQuote()
		return false
	case c == l.quote:
		l.mode = quoteEnd
	case c == '\\' && l.backslash:
		l.mode = inEscape
	}
	return true
}

func (l *lexer) endQuote() {
	k := name
	switch {
	case l.text == "E":
		k = escaped
	case l.quote == '\'' || l.quote == '"' && l.dialect == MySQL:
		k = literal
	}
	l.quote, l.backslash = 0, false
	l.token(k, "")
}

func (l *lexer) dollarByte(c byte) bool {
	if l.mode == inDollar {
		switch {
		case c == l.text[l.depth]:
			if l.depth++; l.depth == len(l.text) {
				l.depth = 0
				l.token(literal, "")
			}
		case c == '$':
			l.depth = 1
		default:
			l.depth = 0
		}
		return true
	}
	digit := c >= '0' && c <= '9'
	switch {
	case c == '$':
		l.mode, l.text, l.depth = inDollar, l.text+"$", 0
	case digit && l.text == "$":
		l.rejectPlaceholder()
	case isName(c):
		l.text += string([]byte{c}) // a tag can hold bytes of any letter
	default:
		l.token(operator, "$")
		return false
	}
	return true
}

func (l *lexer) colonByte(c byte) bool {
	switch {
	case c == ':' && l.dialect == PostgreSQL:
		l.token(cast, "")
	case c == '=':
		l.token(operator, ":=")
	case isName(c) && l.frame() != index:
		l.rejectPlaceholder()
		return false
	default:
		l.token(colon, "")
		return false
	}
	return true
}

// rejectPlaceholder reports a hand-written placeholder at the current byte, and reads it as a
// value.
func (l *lexer) rejectPlaceholder() {
	text, end := l.node.text.Value, l.at+1
	for end < len(text) && isName(text[end]) {
		end++
	}
	from := l.at
	if l.from.text == l.node.text {
		from = min(from, l.from.from)
	}
	l.errorAt(span{l.node.text, from, end}, "Hand-written placeholder",
		"%s would be a parameter without a value. Write the value itself, as in ${input.x}: it is bound as "+
			"a parameter.", text[from:end])
	l.mode = inNumber
}

// joinsValue reports whether a byte directly after a bound value would change how the value's
// placeholder is read.
func (l *lexer) joinsValue(c byte) bool {
	switch c {
	case '.':
		return l.prev == interpolation
	case '\'', '"', '`', '$':
		return true
	case '@', '#', '[', '?':
		return l.dialect != PostgreSQL
	}
	return isName(c)
}

func (l *lexer) here() span { return span{l.node.text, l.at, l.at + 1} }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

func upper(c byte) string {
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	return string([]byte{c})
}
