package surface_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/all"
	"hatchel/hcl/surface"
)

// TestALockOfVersion1IsComparedAsFarAsItGoes compares a lock that the last program with version 1 has written.
func TestALockOfVersion1IsComparedAsFarAsItGoes(t *testing.T) {
	text := read(t, "testdata/version1.json")
	lock, err := surface.ReadLock([]byte(text), all.Set().Kinds())
	if err != nil {
		t.Fatal(err)
	}
	const cannot = "breaking lock the lock has version 1, in which rules, "
	base := read(t, baseFile)
	for _, test := range []struct {
		claim, old, new string
		want            []string
	}{
		{"the same configuration", "", "", []string{cannot}},
		{"a description", "Read one order", "Take one order", []string{cannot, "behaviour text "}},
		{"a bound", "max = 1000000", "max = 10", []string{cannot, "breaking input-bound "}},
		{"a scope", `["orders:read"]`, `[]`, []string{cannot, "widening scope "}},
		{"what version 1 has in another form", "SET paid", "SET owed", []string{cannot}},
	} {
		after := surfaceOfText(t, strings.Replace(base, test.old, test.new, 1))
		var got []string
		for i, c := range surface.Compare(lock, after).Changes {
			line := fmt.Sprint(c.Class, " ", c.Kind, " ", c.Text)
			if i < len(test.want) && strings.HasPrefix(line, test.want[i]) {
				line = test.want[i]
			}
			got = append(got, line)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", test.claim, got)
		}
	}
	less, err := surface.ReadLock([]byte(strings.Replace(text, `"*": "depends"`, `"*": "no"`, 1)), all.Set().Kinds())
	if err != nil {
		t.Fatal(err)
	}
	if changes := surface.Compare(less, surfaceOfText(t, base)).Changes; len(changes) != 1 || changes[0].Kind != "lock" {
		t.Errorf("an answer of the access matrix that version 1 has computed in another way: %+v", changes)
	}
	if _, err := surface.ReadLock([]byte(strings.Replace(text, "Read one order", "Take one order", 1)), all.Set().Kinds()); err == nil ||
		!strings.Contains(err.Error(), "the tool order does not match its digest") {
		t.Errorf("an edited lock of version 1: %v", err)
	}
}
