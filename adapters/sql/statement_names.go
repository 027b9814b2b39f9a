package sql

import (
	"strings"

	"hatchel/hcl/template/sqltext"
	"hatchel/internal/lazyregexp"
)

const namePart = "\\pN*[\\pL_][\\pL\\pM\\pN_$]*|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[^\\]]*\\]"

var (
	// sqlToken matches a word with its qualifiers, a quoted name with its qualifiers, or one other character.
	sqlToken  = lazyregexp.New("(?:" + namePart + ")(?:\\s*\\.\\s*(?:" + namePart + "|\\*))*|[^\\s]")
	nameParts = lazyregexp.New(namePart + "|\\*")
	plainName = lazyregexp.New(`^\pN*[\pL_][\pL\pM\pN_$]*$`)
	dollarTag = lazyregexp.New(`^\$(?:[\pL_][\pL\pN_]*)?\$`)
)

// tableName returns a name without white space and needless quotes, in lower case unless it is quoted.
func tableName(token string) string {
	var parts []string
	for _, part := range nameParts.FindAllString(token, -1) {
		quote := strings.IndexByte("\"`[", part[0])
		if quote < 0 {
			parts = append(parts, strings.ToLower(part))
			continue
		}
		bare := part[1 : len(part)-1]
		if quote < 2 {
			bare = strings.ReplaceAll(bare, part[:1]+part[:1], part[:1])
		}
		if !plainName.MatchString(bare) {
			bare = `"` + strings.ReplaceAll(bare, `"`, `""`) + `"`
		}
		parts = append(parts, bare)
	}
	return strings.Join(parts, ".")
}

// withoutText returns a statement without its string literals and comments, which hold no names. The text between
// dollar signs of PostgreSQL may be code, and stays. Literal returns what stands in place of a literal; nil for ”.
func withoutText(text string, dialect sqltext.Dialect, literal func(content string) string) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		rest, c := text[at:], text[at]
		size := 1
		switch {
		case c == '\'':
			escapes := dialect == sqltext.MySQL || dialect == sqltext.PostgreSQL && at > 0 && text[at-1]|0x20 == 'e' &&
				(at == 1 || !isNameByte(text[at-2]))
			var content string
			if content, size = readQuoted(rest, escapes); literal == nil {
				out.WriteString(" ''")
			} else {
				out.WriteString(literal(strings.Trim(content, "'")))
			}
		case c == '"' || c == '`' && dialect != sqltext.PostgreSQL || c == '[' && dialect == sqltext.SQLite:
			var name string
			name, size = readQuoted(rest, c == '"' && dialect == sqltext.MySQL)
			out.WriteString(name)
		case strings.HasPrefix(rest, "/*"):
			size = blockComment(rest, dialect == sqltext.PostgreSQL)
			out.WriteByte(' ')
		case c == '#' && dialect == sqltext.MySQL, strings.HasPrefix(rest, "--") &&
			(dialect != sqltext.MySQL || len(rest) == 2 || rest[2] <= ' '):
			if size = strings.IndexByte(rest, '\n'); size < 0 {
				size = len(rest)
			}
		case c == '$' && dialect == sqltext.PostgreSQL && (at == 0 || !isNameByte(text[at-1])):
			tag := dollarTag.FindString(rest)
			if end := strings.Index(rest[len(tag):], tag); tag != "" && end >= 0 {
				out.WriteString(" " + withoutText(rest[len(tag):][:end], dialect, literal) + " ")
				size = end + 2*len(tag)
				break
			}
			out.WriteByte(c)
		default:
			out.WriteByte(c)
		}
		at += size
	}
	return out.String()
}

// splitStatements returns the statements of a text without their comments. The statements of a trigger are among them.
func splitStatements(text string, dialect sqltext.Dialect) []string {
	const mark = "\x00"
	plain := withoutText(text, dialect, func(content string) string {
		return " '" + strings.ReplaceAll(content, ";", mark) + "'"
	})
	statements := strings.Split(plain, ";")
	for i, statement := range statements {
		statements[i] = strings.TrimSpace(strings.ReplaceAll(statement, mark, ";"))
	}
	return statements
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// readQuoted reads a literal or a name in quotes, in which a quote is doubled or, with escapes, follows a backslash. It
// returns it with doubled quotes only, and its size.
func readQuoted(text string, escapes bool) (name string, size int) {
	quote := text[0]
	if quote == '[' {
		quote = ']'
	}
	out := []byte{text[0]}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && escapes && i+1 < len(text):
			i++
			if text[i] == quote {
				out = append(out, quote)
			}
			out = append(out, text[i])
		case c == quote && i+1 < len(text) && text[i+1] == quote && quote != ']':
			i++
			out = append(out, quote, quote)
		case c == quote:
			return string(append(out, quote)), i + 1
		default:
			out = append(out, c)
		}
	}
	return string(append(out, quote)), len(text)
}

// blockComment returns the size of a comment, in which others may be nested.
func blockComment(text string, nests bool) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			if nests || depth == 0 {
				depth++
				i++
			}
		case "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		}
	}
	return len(text)
}
