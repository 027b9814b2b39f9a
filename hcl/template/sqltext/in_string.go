package sqltext

import (
	"fmt"
	"strings"

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
	first := l.index
	for ; first >= 0; first-- {
		if l.siblings[first] == template.Node(l.from.text) {
			break
		}
		if !isStringPart(l.siblings[first]) {
			return rule + l.joinHint(h)
		}
	}
	if first < 0 {
		return rule + l.joinHint(h)
	}
	parts, ok := l.splitString(first)
	if !ok {
		return rule + l.joinHint(h)
	}
	if len(parts) == 1 {
		return rule + "Write it without quotes: " + parts[0] + "."
	}
	return rule + "Write " + l.concatenation(parts...) + "."
}

func (l *lexer) joinHint(h *template.Interpolation) string {
	return "Close the quotes before it and join the parts: " + l.concatenation("'a'", "${"+h.Source+"}") + "."
}

func isStringPart(n template.Node) bool {
	if h, ok := n.(*template.Interpolation); ok {
		return h.Func == ""
	}
	_, ok := n.(*template.Text)
	return ok
}

// splitString splits the string that begins in siblings[first] into quoted texts and
// interpolations.
func (l *lexer) splitString(first int) ([]string, bool) {
	open := l.siblings[first].(*template.Text).Value
	begin := l.from.from
	quote := string(l.quote)
	prefix := ""
	if l.text == "E" {
		prefix = "E"
	}
	var parts []string
	text, rest := open[begin+1:], l.siblings[first+1:]
	for {
		end := closingQuote(text, l.quote, l.backslash)
		piece := text
		if end >= 0 {
			piece = text[:end]
		}
		if piece != "" {
			parts = append(parts, prefix+quote+piece+quote)
		}
		if end >= 0 {
			return parts, true
		}
		text = ""
		if len(rest) == 0 {
			return nil, false
		}
		switch n := rest[0].(type) {
		case *template.Interpolation:
			if n.Func != "" {
				return nil, false
			}
			parts = append(parts, "${"+n.Source+"}")
		case *template.Text:
			text = n.Value
		default:
			return nil, false
		}
		rest = rest[1:]
	}
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

// quotedList lists quoted strings for a sentence.
func quotedList(list []string) string {
	const most = 8
	if len(list) > most {
		return `"` + strings.Join(list[:most], `", "`) + `" and more`
	}
	return `"` + strings.Join(list, `", "`) + `"`
}
