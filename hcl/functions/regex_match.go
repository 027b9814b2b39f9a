package functions

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// Pattern is a compiled regular expression.
type Pattern struct {
	*regexp.Regexp
	size int // instructions of its program: a character of a text may take as many steps
}

const maxPatternSize = 10_000 // instructions

// patternSize returns about how many instructions the program of a pattern has.
func patternSize(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return value.PatternSize(parsed), nil
}

// Matches reports whether the pattern matches a part of s, within the budget of time.
func (p *Pattern) Matches(c *Context, s string) (bool, error) {
	return value.MatchSteps(p.Regexp, p.size, s, c.Step)
}

func (p *Pattern) isQuick(s string) bool { return len(s) <= value.MaxQuickMatch/p.size }

// eachMatch calls do for the matches of the pattern in s, of which it finds at most n unless n is negative, like
// FindAllStringSubmatchIndex. A long text is read a character at a time, which takes longer and can be interrupted.
func (p *Pattern) eachMatch(c *Context, s string, n int, do func(m []int) error) error {
	pos, end := 0, -1 // where the search goes on, and the end of the last match
	if p.isQuick(s) {
		matches := p.FindAllStringSubmatchIndex(s, checkEvery)
		for i, m := range matches {
			if err := c.Step(1); err != nil {
				return err
			}
			if err := do(m); err != nil || i+1 == n {
				return err
			}
			pos, end = m[1], m[1]
			if m[0] == m[1] {
				_, width := utf8.DecodeRuneInString(s[pos:])
				pos += max(width, 1)
			}
		}
		if len(matches) < checkEvery {
			return nil
		}
		n -= checkEvery
	}
	// what follows a match is read from the character before, so that \b and ^ see it
	after, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + p.String() + `)`)
	if err != nil {
		return err
	}
	for pos <= len(s) && n != 0 {
		re, from := p.Regexp, 0
		if pos > 0 {
			_, width := utf8.DecodeLastRuneInString(s[:pos])
			re, from = after, pos-width
		}
		r := value.RuneReader{Text: s[from:], Weight: value.PatternWeight(p.size), Step: c.Step}
		m := re.FindReaderSubmatchIndex(&r)
		if r.Err != nil || m == nil {
			return r.Err
		}
		if pos > 0 {
			m = m[2:]
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += from
			}
		}
		again := m[1] == pos && m[0] == end // an empty match at the end of the last one does not count
		if m[1] > pos {
			pos = m[1]
		} else {
			_, width := utf8.DecodeRuneInString(s[pos:])
			pos += max(width, 1)
		}
		end = m[1]
		if again {
			continue
		}
		if err := do(m); err != nil {
			return err
		}
		n--
	}
	return nil
}
