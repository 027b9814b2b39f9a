package value

import (
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// PatternSize is an upper bound of the number of instructions of a pattern, without compiling them. A character of a
// text may take as many steps.
func PatternSize(re *syntax.Regexp) int {
	size := 1
	for _, sub := range re.Sub {
		size += 1 + PatternSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		size += len(re.Rune)
	case syntax.OpRepeat:
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, 1<<24)
}

// MaxQuickMatch is how many instructions times bytes are matched without a look at the Step.
const MaxQuickMatch = 1 << 21

// PatternWeight is how many elements a character counts for that is matched with a pattern of a size.
func PatternWeight(size int) int { return 1 + size/64 }

// MatchSteps reports whether a part of s matches a pattern of a size, within a budget.
func MatchSteps(re *regexp.Regexp, size int, s string, step Step) (bool, error) {
	if len(s) <= MaxQuickMatch/size {
		if err := step.Take(1 + len(s)*size/64); err != nil {
			return false, err
		}
		return re.MatchString(s), nil
	}
	r := RuneReader{Text: s, Weight: PatternWeight(size), Step: step}
	found := re.MatchReader(&r)
	return found, r.Err
}

// RuneReader reads a text within a budget of time. It ends with the text, or with an Err.
type RuneReader struct {
	Text   string
	Weight int // how many elements a character counts for
	Step   Step
	Err    error
}

// ReadRune implements io.RuneReader.
func (r *RuneReader) ReadRune() (rune, int, error) {
	if r.Err = r.Step.Take(r.Weight); r.Err != nil || r.Text == "" {
		return 0, 0, io.EOF
	}
	c, width := utf8.DecodeRuneInString(r.Text)
	r.Text = r.Text[width:]
	return c, width, nil
}
