package surface

import (
	"slices"
	"testing"

	"hatchel/hcl"
)

func TestADiffSaysWhoGainsOrLosesWhichTool(t *testing.T) {
	type tools = map[string]map[string]string
	for _, test := range []struct {
		claim    string
		old, new tools
		want     []string
	}{
		{"nobody gains without a difference", tools{"a": {"*": "yes"}}, tools{"a": {"*": "yes"}}, nil},
		{"everyone stands for all callers", tools{"a": {"*": "no", "group x": "no"}}, tools{"a": {"*": "yes"}},
			[]string{"widening everyone gains a"}},
		{"who gains is named", tools{"a": {"*": "no"}, "b": {"*": "no"}},
			tools{"a": {"*": "no", "group x": "yes"}, "b": {"*": "no", "group x": "yes"}},
			[]string{"widening group x gains a, b"}},
		{"who loses is restricted", tools{"a": {"*": "no", "group x": "yes"}}, tools{"a": {"*": "no"}},
			[]string{"breaking group x loses a restriction"}},
		{"an approval restricts", tools{"a": {"*": "yes"}}, tools{"a": {"*": "approval"}},
			[]string{"breaking everyone a: yes → approval restriction"}},
		{"what is gained under a condition says so", tools{"a": {"*": "no"}, "b": {"*": "no"}},
			tools{"a": {"*": "depends"}, "b": {"*": "approval"}},
			[]string{"widening everyone gains a, depending on the input", "widening everyone gains b, with approval"}},
		{"a tool that is removed is reported as such", tools{"a": {"*": "yes"}}, tools{}, nil},
		{"a new tool is gained", tools{}, tools{"a": {"*": "no", "group x": "yes"}}, []string{"widening group x gains a"}},
		{"several groups that were not known gain nothing", tools{"a": {"*": "no"}},
			tools{"a": {"*": "no", "groups x+y": "yes"}}, nil},
		{"a lock without callers is compared without them", nil, tools{"a": {"*": "yes"}}, nil},
	} {
		c := &comparison{old: &Surface{Access: test.old}, new: &Surface{Access: test.new}}
		c.access(nil)
		sortChanges(c.changes)
		var got []string
		for _, change := range c.changes {
			line := change.Class.String() + " " + change.Place + " " + change.Text
			if change.Restriction {
				line += " restriction"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", test.claim, got)
		}
	}
}

func TestARenamedToolKeepsItsCallers(t *testing.T) {
	c := &comparison{
		old: &Surface{Access: map[string]map[string]string{"a": {"*": "yes"}}},
		new: &Surface{Access: map[string]map[string]string{"b": {"*": "yes"}}},
	}
	if c.access(map[string]string{"a": "b"}); c.changes != nil {
		t.Errorf("%+v", c.changes)
	}
}

func TestALockWithAnUnknownAnswerIsRefused(t *testing.T) {
	text := `{"version": 2, "server": {}, "tools": {}, "access": {"a": {"*": "maybe"}}}`
	if _, err := ReadLock([]byte(text), hcl.Kinds{}); err == nil {
		t.Error("the lock was read")
	}
}
