package schema

import "regexp/syntax"

// isFileName reports whether no match of an anchored expression holds a slash or begins with a dot.
func isFileName(re *syntax.Regexp) bool {
	dot, _ := canBegin(re, '.')
	return !dot && !canHold(re, '/')
}

// canHold reports whether a match can contain a character.
func canHold(re *syntax.Regexp, r rune) bool {
	if matchesOne(re, r) {
		return true
	}
	for _, sub := range re.Sub {
		if canHold(sub, r) {
			return true
		}
	}
	return false
}

// canBegin reports whether a match can begin with a character, and whether it can be empty.
func canBegin(re *syntax.Regexp, r rune) (begins, empty bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return re.Rune[0] == r, false
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return matchesOne(re, r), false
	case syntax.OpConcat:
		empty = true
		for _, sub := range re.Sub {
			if !empty {
				break
			}
			var first bool
			first, empty = canBegin(sub, r)
			begins = begins || first
		}
		return begins, empty
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			first, none := canBegin(sub, r)
			begins, empty = begins || first, empty || none
		}
		return begins, empty
	case syntax.OpCapture, syntax.OpPlus, syntax.OpStar, syntax.OpQuest, syntax.OpRepeat:
		begins, empty = canBegin(re.Sub[0], r)
		none := re.Op == syntax.OpStar || re.Op == syntax.OpQuest || re.Op == syntax.OpRepeat && re.Min == 0
		return begins, empty || none
	}
	return false, true
}

// matchesOne reports whether an expression without parts matches a character.
func matchesOne(re *syntax.Regexp, r rune) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			if c == r {
				return true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= r && r <= re.Rune[i+1] {
				return true
			}
		}
	}
	return false
}
