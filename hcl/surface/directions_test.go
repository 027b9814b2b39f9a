package surface_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hatchel/hcl/surface"
)

// TestANarrowerConfigurationIsNotWidening compares the two configurations of each pair of testdata/directions: that
// the second one is served instead of the first one is not widening, and the other way round it is. In those of
// testdata/harmless neither is, and in those of testdata/unknown both are.
func TestANarrowerConfigurationIsNotWidening(t *testing.T) {
	for dir, widens := range map[string][2]bool{"directions": {false, true}, "harmless": {}, "unknown": {true, true}} {
		a := txtar.Parse([]byte(read(t, "testdata/"+dir+".txtar")))
		base := string(a.Comment)
		if len(a.Files)%2 != 0 {
			t.Fatalf("%s: a file has no pair", dir)
		}
		for i := 0; i < len(a.Files); i += 2 {
			t.Run(dir+"/"+strings.ReplaceAll(a.Files[i].Name, " ", "_"), func(t *testing.T) {
				of := func(f txtar.File) *surface.Surface {
					text := string(f.Data)
					for _, block := range strings.SplitAfter(base, "\n}\n") { // without those that it has itself
						first, _, _ := strings.Cut(strings.TrimSpace(block), " {")
						if !strings.Contains(text, first+" {") {
							text += block
						}
					}
					return surfaceOfText(t, text)
				}
				wide, narrow := of(a.Files[i]), of(a.Files[i+1])
				if found := widening(wide, narrow); (len(found) > 0) != widens[0] {
					t.Errorf("the second one is widening: %t: %v", !widens[0], found)
				}
				if found := widening(narrow, wide); (len(found) > 0) != widens[1] {
					t.Errorf("the first one is widening: %t: %v", !widens[1], found)
				}
			})
		}
	}
}

func widening(old, new *surface.Surface) []surface.Change {
	return slices.DeleteFunc(surface.Compare(old, new).Changes, func(c surface.Change) bool {
		return c.Class != surface.Widening
	})
}
