package surface

import (
	"slices"
	"testing"
)

// TestNamesThatDifferHaveLinesThatDiffer joins all lists of up to three of some names and takes them apart again.
func TestNamesThatDifferHaveLinesThatDiffer(t *testing.T) {
	names := []string{"", "a", "b", "a,b", "a, b", "a b", `"a"`, `a","b`, `a\`, "a\nb", "a\u00a0b", "scopes", "a+b", "é"}
	lists := [][]string{}
	for _, x := range names {
		lists = append(lists, []string{x})
		for _, y := range names {
			lists = append(lists, []string{x, y})
			for _, z := range names {
				lists = append(lists, []string{x, y, z})
			}
		}
	}
	for _, separator := range []string{",", ", ", "+"} {
		from := map[string][]string{}
		for _, list := range lists {
			slices.Sort(list)
			line := JoinNames(list, separator)
			if other, known := from[line]; known && !slices.Equal(other, list) {
				t.Fatalf("%q and %q are both %s", other, list, line)
			}
			from[line] = list
			if separator == "+" {
				continue
			}
			got, rest, ok := cutNames(line + " when x")
			if !ok || rest != " when x" || !slices.Equal(got, list) {
				t.Fatalf("%s is read as %q, %q, %v", line, got, rest, ok)
			}
		}
	}
}
