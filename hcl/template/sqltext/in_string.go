package sqltext

import (
	"fmt"

	"hatchel/hcl/template"
)

// quotedValueHint returns the fix for an interpolation inside quotes. If the string consists of
// text and interpolations alone, the hint rewrites all of it.
func (l *lexer) quotedValueHint(h *template.Interpolation) string {
	if h.Func == "ident" {
		return "ident() gives a name with its own quotes. Write it without quotes around it."
	}
	rule := fmt.Sprintf("${%s} is one complete value and cannot be a part of other text. ", h.Source)
	if l.quote != '\'' && !(l.quote == '"' && l.dialect == MySQL) {
		return rule + "A name that depends on a value is ${ident(...)} of an enum that lists the whole names."
	}
	parts := l.splitString()
	switch len(parts) {
	case 0:
		return rule + "Close the quotes before it and join the parts: " + l.concatenation("'a'", "${"+h.Source+"}") + "."
	case 1:
		return rule + "Write it without quotes: " + parts[0] + "."
	}
	return rule + "Write " + l.concatenation(parts...) + "."
}

// splitString splits the string that the lexer is in into quoted texts and interpolations. It
// returns nothing for a string with other parts.
func (l *lexer) splitString() (parts []string) {
	rest := l.siblings
	for len(rest) > 0 && rest[0] != template.Node(l.from.text) {
		rest = rest[1:]
	}
	prefix, from := "", l.from.from+1
	if l.text == "E" {
		prefix = "E"
	}
	quote := string(l.quote)
	for _, n := range rest {
		switch n := n.(type) {
		case *template.Interpolation:
			if n.Func != "" {
				return nil
			}
			parts = append(parts, "${"+n.Source+"}")
		case *template.Text:
			piece := n.Value[from:]
			from = 0
			end := closingQuote(piece, l.quote, l.backslash)
			if end >= 0 {
				piece = piece[:end]
			}
			if piece != "" {
				parts = append(parts, prefix+quote+piece+quote)
			}
			if end >= 0 {
				return parts
			}
		default:
			return nil
		}
	}
	return nil
}

// closingQuote returns the index of the closing quote in s, or -1.
func closingQuote(s string, quote byte, slash bool) int {
	for i := 0; i < len(s); i++ {
		switch {
		case slash && s[i] == '\\':
			i++
		case s[i] == quote:
			if i+1 < len(s) && s[i+1] == quote {
				i++
				continue
			}
			return i
		}
	}
	return -1
}
