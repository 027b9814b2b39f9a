package dbschema

import (
	"strings"

	"hatchel/internal/lazyregexp"
)

// checkToken matches one token of a condition: a quoted text, a quoted name, a word, a cast, or a character.
var checkToken = lazyregexp.New("'(?:[^'\\\\]|''|\\\\.)*'|" +
	"\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[A-Za-z_][^\\]]*\\]|" +
	"[\\pL_][\\pL\\pN_$]*|-?[0-9]+|::|--[^\n]*|/\\*(?s:.*?)\\*/|\\S")

// addChecks reads conditions of the form x IN ('a', 'b'), and x = ANY (ARRAY['a', 'b']) as PostgreSQL prints it, from
// the text of a condition or of a whole CREATE TABLE. Everything else is ignored. The condition of a domain calls its
// column VALUE.
func (t *table) addChecks(clause string, domain *column) {
	if len(clause) > maxClause {
		return
	}
	tokens := tokenize(clause)
	for i, word := range tokens {
		if strings.EqualFold(word, "CHECK") && i+1 < len(tokens) && tokens[i+1] == "(" {
			t.addCheck(balanced(tokens[i+1:]), domain)
		}
	}
	if len(tokens) > 0 && !strings.EqualFold(tokens[0], "CHECK") && !strings.EqualFold(tokens[0], "CREATE") {
		t.addCheck(tokens, domain)
	}
}

// tokenize returns the tokens without comments, casts and introducers of character sets.
func tokenize(clause string) (tokens []string) {
	found := checkToken.FindAllString(clause, -1)
	for i := 0; i < len(found); i++ {
		word := found[i]
		switch {
		case strings.HasPrefix(word, "--"), strings.HasPrefix(word, "/*"):
		case word == "::":
			for i+1 < len(found) && isTypeWord(found[i+1]) {
				i++
			}
		case strings.HasPrefix(word, "_utf8"), strings.HasPrefix(word, "_latin"), word == "_binary":
		default:
			tokens = append(tokens, word)
		}
	}
	return tokens
}

// isTypeWord reports whether a token after :: belongs to the type: character varying, text[], "schema".name.
func isTypeWord(word string) bool {
	switch strings.ToUpper(word) {
	case "AND", "OR", "IN", "NOT", "IS":
		return false
	}
	return word == "." || word == "[" || word == "]" || word[0] == '"' || word[0] == '_' ||
		word[0] >= 'a' && word[0] <= 'z' || word[0] >= 'A' && word[0] <= 'Z'
}

// balanced returns the tokens up to the parenthesis that closes the first one.
func balanced(tokens []string) []string {
	depth := 0
	for i, word := range tokens {
		switch word {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return tokens[:i+1]
			}
		}
	}
	return nil
}

// addCheck sets the values of a column if the condition lists them.
func (t *table) addCheck(tokens []string, domain *column) {
	var rest []string
	for _, word := range tokens {
		if word != "(" && word != ")" {
			rest = append(rest, word)
		}
	}
	for i, word := range rest[:max(len(rest)-1, 0)] {
		if c := t.columnOf(rest[i+1]); strings.EqualFold(word, "json_valid") && c != nil {
			c.notation = "a JSON text"
		}
	}
	if len(rest) < 3 {
		return
	}
	c := t.columnOf(rest[0])
	if domain != nil && rest[0] == "VALUE" {
		c = domain
	}
	switch {
	case c == nil || len(c.values) > 0:
		return
	case strings.EqualFold(rest[1], "IN"):
		rest = rest[2:]
	case rest[1] == "=" && len(rest) > 5 && strings.EqualFold(rest[2], "ANY") && strings.EqualFold(rest[3], "ARRAY"):
		if rest = rest[5:]; rest[len(rest)-1] == "]" {
			rest = rest[:len(rest)-1]
		}
	default:
		return
	}
	var values []string
	for i, word := range rest {
		if i%2 == 1 {
			if word != "," {
				return
			}
			continue
		}
		switch {
		case c.kind == text && word[0] == '\'':
			values = append(values, unquote(word))
		case c.kind == integer && strings.Trim(word, "-0123456789") == "":
			values = append(values, word)
		default:
			return
		}
	}
	if len(rest)%2 == 1 && c.dimensions == 0 {
		c.setValues(values)
	}
}

// columnOf returns the column that a token names. Names may differ in case alone.
func (t *table) columnOf(word string) *column {
	switch word[0] {
	case '"':
		word = strings.ReplaceAll(strings.Trim(word, `"`), `""`, `"`)
	case '`':
		word = strings.ReplaceAll(strings.Trim(word, "`"), "``", "`")
	case '[':
		word = strings.Trim(word, "[]")
	}
	if c := t.column(word); c != nil {
		return c
	}
	for _, c := range t.columns {
		if strings.EqualFold(c.name, word) {
			return c
		}
	}
	return nil
}

// unquote returns the value of a quoted text.
func unquote(word string) string {
	word = strings.ReplaceAll(word[1:len(word)-1], "''", "'")
	return word
}

// maxClause is the maximum size of a text of conditions that is read.
const maxClause = 1 << 20
