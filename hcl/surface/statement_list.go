package surface

import (
	"slices"
	"strings"
)

// statement compares statements of SQL.
func (s *stepsComparison) statement(b *Step, path, old, new string, shown bool) {
	c := compareStatementLists(formsOf(old), formsOf(new))
	switch {
	case shown && slices.Equal(c.wider, []string{otherStatement}): // it is reported with the effects
	case s.decides(b) && !b.acts() && c.filters: // fewer rows may be what lets a later step run
		s.report(Widening, b, "%s %s", path, wordDiff(old, new))
	case len(c.wider) > 0:
		s.report(Widening, b, "%s %s: %s", path, strings.Join(c.wider, ", "), wordDiff(old, new))
	default:
		s.report(Behaviour, b, "%s %s", path, wordDiff(old, new))
	}
}

// compareStatementLists compares the statements of one argument. Each of them is compared with the one at its place.
func compareStatementLists(old, new []string) (all statementChange) {
	if len(old) != len(new) {
		return statementChange{wider: []string{otherStatement}}
	}
	for i := range old {
		c := compareStatements(unquoteForm(old[i]), unquoteForm(new[i]))
		all.wider, all.filters = append(all.wider, c.wider...), all.filters || c.filters
	}
	return all
}

// formsOf returns the normal forms of the elements of a list; the form itself if it is none.
func formsOf(form string) (elements []string) {
	inner, isList := strings.CutPrefix(form, "[")
	inner, ends := strings.CutSuffix(inner, "]")
	if !isList || !ends {
		return []string{form}
	}
	depth, quoted, start := 0, false, 0
	for i := 0; i < len(inner); i++ {
		switch ch := inner[i]; {
		case ch == '\\':
			i++
		case ch == '"' && depth == 0:
			quoted = !quoted
		case strings.HasPrefix(inner[i:], "${"):
			if end := endOfValue(inner, i); end > 0 {
				i = end - 1
			}
		case quoted:
		case strings.IndexByte("([{", ch) >= 0:
			depth++
		case strings.IndexByte(")]}", ch) >= 0:
			depth--
		case ch == ',' && depth == 0:
			elements, start = append(elements, strings.TrimSpace(inner[start:i])), i+1
		}
	}
	return append(elements, strings.TrimSpace(inner[start:]))
}

// unquoteForm returns the text of a normal form in quotes, with ${…} as it is.
func unquoteForm(form string) string {
	inner, ok := strings.CutPrefix(form, `"`)
	if !ok {
		return form
	}
	inner = strings.TrimSuffix(inner, `"`)
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch {
		case strings.HasPrefix(inner[i:], "${"):
			end := endOfValue(inner, i)
			if end < 0 {
				return form
			}
			b.WriteString(inner[i:end])
			i = end - 1
		case inner[i] == '\\' && i+1 < len(inner):
			i++
			switch inner[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '/':
				b.WriteByte(inner[i])
			default:
				return form // another character, which has no place between the words
			}
		default:
			b.WriteByte(inner[i])
		}
	}
	return b.String()
}
