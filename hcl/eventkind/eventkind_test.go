package eventkind_test

import (
	"testing"

	"hatchel/hcl/eventkind"
)

func TestEveryKindIsDeclaredAndFoundByItsName(t *testing.T) {
	names := map[string]bool{}
	for _, k := range eventkind.Kinds() {
		d := k.Declare()
		if d.Name == "" || d.Doc == "" || names[d.Name] || eventkind.Parse(d.Name) != k || !eventkind.All.Has(k) {
			t.Errorf("%d: %+v", k, d)
		}
		names[d.Name] = true
		fields := map[string]bool{}
		for _, f := range append(eventkind.Common[:len(eventkind.Common):len(eventkind.Common)], d.Fields...) {
			if f.Name == "" || f.Doc == "" || fields[f.Name] {
				t.Errorf("%s: %+v", d.Name, f)
			}
			fields[f.Name] = true
		}
	}
	if eventkind.Parse("") != eventkind.None || eventkind.Parse("shout") != eventkind.None || eventkind.All.Has(0) {
		t.Error("an unknown name has a kind")
	}
}
