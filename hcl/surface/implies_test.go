package surface

import (
	"strings"
	"testing"

	"hatchel/hcl/eval"
)

// formula reads a condition for tests: atoms that "and" joins, of which "or" joins more; "not " negates an atom.
func formula(text string) *eval.Formula {
	if text == "" {
		return nil
	}
	var parts []*eval.Formula
	for _, op := range []string{" or ", " and "} {
		if list := strings.Split(text, op); len(list) > 1 {
			for _, part := range list {
				parts = append(parts, formula(part))
			}
			return eval.Join(strings.TrimSpace(op), parts...)
		}
	}
	if atom, ok := strings.CutPrefix(text, "not "); ok {
		return eval.Negate(formula(atom))
	}
	return &eval.Formula{Text: text}
}

func TestAConditionImpliesWhatItLeavesNoDoubtOf(t *testing.T) {
	for _, test := range []struct {
		a, b   string
		ab, ba bool
	}{
		{"a", "a", true, true},
		{"a", "", true, false},
		{"a and b", "a", true, false},
		{"a", "a or b", true, false},
		{"a and b", "b and a", true, true},
		{"a and b or a and c", "a", true, false},
		{"not a and not b", "not a", true, false},
		{"a or true", "", true, true},
		{"a and false", "b", true, false},
		{"a or b", "b or c", false, false},
		{"input.n < 5", "input.n < 10", true, false},
		{"input.n <= 5", "input.n < 5", false, true},
		{"input.n == 5", "input.n < 10", true, false},
		{"input.n > 5", "input.n < 10", false, false},
		{"input.n > 5", "input.n != 5", true, false},
		{"input.n < 5", "input.m < 10", false, false},
		{"not input.n > 5", "not input.n > 10", true, false},
		{"caller.subject in ['ann']", `caller.subject in ["ann", "bob"]`, true, false},
		{"caller.subject == 'ann'", `caller.subject in ["ann", "bob"]`, true, false},
		{"caller.subject == 'ann' and input.x != 'z'", "caller.subject == 'ann'", true, false},
		{"input.x == 'a'", "not input.x == 'b'", true, false},
		{"input.x != 'a'", "not input.x == 'a'", true, true},
		{"input.x == 'main account'", "input.x == 'main  account'", false, false},
		{"input.n < 5 and input.n > 7", "b", true, false},
		{"'a' in caller.groups", "'b' in caller.groups", false, false},
		{"len(input.x) < 5", "len(input.x) < 6", true, false},
		{"input.x in local.y", "input.x in local.z", false, false},
	} {
		a, b := formula(test.a), formula(test.b)
		if got := implies(a, b); got != test.ab {
			t.Errorf("%q implies %q: %t", test.a, test.b, got)
		}
		if got := implies(b, a); got != test.ba {
			t.Errorf("%q implies %q: %t", test.b, test.a, got)
		}
	}
}
