package surface_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"hatchel/adapters"
	"hatchel/adapters/toytest"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

const toyBase = `
server { version = "1.0.0" }
tool "t" {
  description = "Do something."
  input "name" { type = string }
  step "first" {
    when = "input.name != 'x'"
    toy { read = "SELECT a FROM b WHERE c = 1" }
  }
  step "second" {
    toy {
      read = "b"
    }
  }
  text = step.second.stored
}
`

// TestABackendSaysWhatAComparisonKnowsOfIt compares tools with a backend that the program does not have. The classes
// follow from what it declares, for a configuration and for its lock.
func TestABackendSaysWhatAComparisonKnowsOfIt(t *testing.T) {
	for claim, test := range map[string]struct {
		traits hcl.Traits
		edits  []string
		want   surface.Class
	}{
		"a step that reads runs in other calls": {hcl.Traits{}, []string{`'x'`, `'y'`}, surface.Behaviour},
		"a program runs in other calls": {
			hcl.Traits{Program: true}, []string{`'x'`, `'y'`}, surface.Widening,
		},
		"a text is shorter":      {hcl.Traits{}, []string{" WHERE c = 1", ""}, surface.Behaviour},
		"a statement reads more": {hcl.Traits{Statements: []string{"read"}}, []string{" WHERE c = 1", ""}, surface.Widening},
		"a new input is sent": {
			hcl.Traits{}, []string{`read = "b"`, "read = \"b\"\ntext = input.note", "input \"name\"",
				"input \"note\" { type = optional(string, \"\") }\ninput \"name\""}, surface.Behaviour,
		},
		"a new input is a part of a request": {
			hcl.Traits{Request: true}, []string{`read = "b"`, "read = \"b\"\ntext = input.note", "input \"name\"",
				"input \"note\" { type = optional(string, \"\") }\ninput \"name\""}, surface.Compatible,
		},
	} {
		toy := toytest.Adapter(new(sync.Map))
		toy.Kind.Traits = test.traits
		kinds := adapters.Set{Adapters: []adapters.Adapter{toy}}.Kinds()
		before := surfaceWith(t, kinds, toyBase)
		after := surfaceWith(t, kinds, strings.NewReplacer(test.edits...).Replace(toyBase))
		for _, from := range []*surface.Surface{before, relock(t, before, kinds)} {
			var classes []surface.Class
			for _, c := range surface.Compare(from, after).Changes {
				classes = append(classes, c.Class)
			}
			if len(classes) == 0 || slices.Max(classes) != test.want {
				t.Errorf("%s: got %v, want %v", claim, classes, test.want)
			}
		}
	}
}

func surfaceWith(t *testing.T, kinds hcl.Kinds, src string) *surface.Surface {
	t.Helper()
	files := fstest.MapFS{"a.hcl": {Data: []byte(src)}}
	config, diags := hcl.Load(files, kinds, hcl.Options{Dir: "/srv/tools"}.ForCheck())
	if diags.HasErrors() {
		t.Fatal(diags[0].Summary, diags[0].Detail)
	}
	return surface.Of(config, nil)
}

// relock returns the surface that the lock of another one holds.
func relock(t *testing.T, s *surface.Surface, kinds hcl.Kinds) *surface.Surface {
	t.Helper()
	locked := *s
	locked.Access = map[string]map[string]string{"t": {"*": "yes"}}
	read, err := surface.ReadLock(locked.Lock(), kinds)
	if err != nil {
		t.Fatal(err)
	}
	return read
}
