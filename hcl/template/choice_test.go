package template

import (
	"slices"
	"testing"
)

// conditions returns an %{if} whose condition counts its evaluations.
func conditions(key string, depth int, negated bool, evaluated *int, value bool) *If {
	cond := func(Frame) (any, error) { *evaluated++; return value, nil }
	return &If{Condition: Condition{Cond: cond, Key: key, Depth: depth, Negated: negated}, Then: []Node{&Text{Value: "then"}}}
}

func TestOneChoiceIsMadeOnce(t *testing.T) {
	n := 0
	first, again := conditions("a", 0, false, &n, true), conditions("a", 0, true, &n, false)
	FindChoices([]Node{first, again})
	var d Decisions
	for _, c := range []*If{first, again, first} {
		if branch, err := d.Branch(c, nil); err != nil || (branch != nil) == c.Negated {
			t.Errorf("negated is %t, the branch is %v, %v", c.Negated, branch, err)
		}
	}
	if n != 1 {
		t.Errorf("evaluated %d times", n)
	}
	d.Forget([]string{"a"})
	if d.Holds(&first.Condition, nil); n != 2 {
		t.Errorf("evaluated %d times after a new round began", n)
	}
}

func TestChoicesBelongToTheLoopThatMakesThem(t *testing.T) {
	n := 0
	ofRound, ofTemplate, single := conditions("r", 1, false, &n, true), conditions("a", 0, false, &n, true), conditions("b", 1, false, &n, true)
	loop := &For{Body: []Node{ofRound, ofTemplate, single, conditions("r", 1, true, &n, false)}}
	if got := FindChoices([]Node{loop}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the template makes %q", got)
	}
	if !slices.Equal(loop.Choices, []string{"r"}) || single.Key != "" {
		t.Errorf("a round makes %q, and %q decides one branch", loop.Choices, single.Key)
	}
}

func TestChoicesAreCheckedInAllCombinations(t *testing.T) {
	c, seen := Choices{}, map[[2]bool]bool{}
	c.Each([]string{"a", "b"}, func() { seen[[2]bool{c["a"], c["b"]}] = true })
	if len(seen) != 4 || len(c) != 0 {
		t.Errorf("%v, left is %v", seen, c)
	}
}
