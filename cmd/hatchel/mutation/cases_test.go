package mutation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hatchel/hcl/surface"
)

var update = flag.Bool("update", false, "rewrite the expected changes")

// TestACaseHasItsClass compares the directories old and new of each archive. The first line ends with what is
// expected at least, as in "widening steps", or with "no widening"; want has all changes.
func TestACaseHasItsClass(t *testing.T) {
	names, err := filepath.Glob(root + "/hcl/surface/testdata/cases/*.txtar")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d cases: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sides := map[string]*fixture{"old": {files: map[string]string{}}, "new": {files: map[string]string{}}}
			want := -1
			for i, f := range a.Files {
				if dir, file, ok := strings.Cut(f.Name, "/"); ok {
					sides[dir].files[file] = string(f.Data)
				} else {
					want = i
				}
			}
			before, after := newSide(sides["old"]), newSide(sides["new"])
			for dir, s := range map[string]*side{"old": before, "new": after} {
				if s == nil {
					_, diags := sides[dir].load()
					t.Fatalf("%s: %v: %s: %s", dir, diags[0].Subject, diags[0].Summary, diags[0].Detail)
				}
			}
			changes := after.differences(before)
			checkExpected(t, string(a.Comment), changes)
			var got strings.Builder
			for _, c := range changes {
				fmt.Fprintf(&got, "%v | %s | %s | %s\n", c.Class, c.Kind, c.Place, c.Text)
			}
			switch {
			case *update:
				a.Files[want].Data = []byte(got.String())
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			case got.String() != string(a.Files[want].Data):
				t.Errorf("got\n%swant\n%s", got.String(), a.Files[want].Data)
			}
		})
	}
}

// checkExpected checks the class and the kind that the first line of a case names.
func checkExpected(t *testing.T, comment string, changes []surface.Change) {
	t.Helper()
	_, expected, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(comment), "."), ": ")
	has := func(class surface.Class, kind string) bool {
		return slices.ContainsFunc(changes, func(c surface.Change) bool { return c.Class == class && (kind == "" || c.Kind == kind) })
	}
	switch class, kind, _ := strings.Cut(expected, " "); class {
	case "no":
		if has(surface.Widening, "") {
			t.Errorf("a change is widening: %v", changes)
		}
	case "compatible":
		if len(changes) != 1 || !has(surface.Compatible, kind) {
			t.Errorf("it is more than compatible: %v", changes)
		}
	default:
		if !has(surface.Widening, kind) {
			t.Errorf("no change is %s: %v", expected, changes)
		}
	}
}
