package editor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/diag"
)

var language = NewLanguage(all.Set().Kinds())

// exampleDirs returns the directories of the examples.
func exampleDirs(t testing.TB) []string {
	dirs, err := filepath.Glob("../../../examples/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(err)
	}
	var own []string
	for _, dir := range dirs {
		if found, _ := filepath.Glob(filepath.Join(dir, "*.hcl")); len(found) > 0 {
			own = append(own, dir)
		}
	}
	return own
}

func loadDir(fsys fs.FS, dir string) *Project {
	return language.Load(fsys, hcl.Options{Dir: dir, Vars: map[string]string{}}, func(string) bool { return true })
}

// oneIn is how many declarations there are for each that the test changes: each change loads the example three times.
const oneIn = 5

// Declarations of every example can be given another name, after which the configuration loads as before and offers
// the same, but for the name.
func TestARenameChangesNothingButTheName(t *testing.T) {
	renamed := 0
	for _, dir := range exampleDirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			fsys := os.DirFS(dir)
			p := loadDir(fsys, dir)
			before := offered(p)
			for _, name := range diag.SortedNames(p.Config.Sources) {
				f := Parse(name, p.Config.Sources[name])
				for _, d := range Declarations(f) {
					if renamed++; renamed%oneIn != 0 {
						continue
					}
					to := "x" + d.Name
					edits, err := p.Rename(f, d.At.Start.Byte, to)
					if err != nil {
						// A test may take its arguments from each.value, and a form its values from a result.
						if !strings.Contains(err.Error(), ".test.hcl:") && !strings.Contains(err.Error(), "has no such input") {
							t.Errorf("%s: %v: %v", name, d.Symbol, err)
						}
						continue
					}
					files := map[string][]byte{}
					for file, list := range edits {
						files[file] = Apply(p.Config.Sources[file], list)
					}
					after := loadDir(overlay{fsys, files}, dir)
					if got, want := fmt.Sprint(len(after.Diags)), fmt.Sprint(len(p.Diags)); got != want {
						t.Errorf("%s: %v: %s diagnostics, want %s: %v", name, d.Symbol, got, want, after.Diags[0])
					}
					if got := strings.ReplaceAll(offered(after), to, d.Name); sortLines(got) != sortLines(strings.ReplaceAll(before, to, d.Name)) {
						t.Errorf("%s: %v: got\n%s\nwant\n%s", name, d.Symbol, got, before)
					}
				}
			}
		})
	}
}

func sortLines(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// offered is what clients can list, one line each.
func offered(p *Project) string {
	var out strings.Builder
	for _, t := range p.Config.Tools {
		fmt.Fprintf(&out, "tool %s %s %s %s", t.Name, t.Title, t.Description, t.Input.AppendSchema(nil))
		if t.Returns != nil {
			out.Write(t.Returns.AppendSchema(nil))
		}
		out.WriteString("\n")
	}
	for _, t := range p.Config.Prompts {
		fmt.Fprintf(&out, "prompt %s %s %s\n", t.Name, t.Description, t.Input.AppendSchema(nil))
	}
	for _, r := range p.Config.Resources {
		fmt.Fprintf(&out, "resource %s %s %s\n", r.Name, r.Description, r.Input.AppendSchema(nil))
	}
	for _, s := range p.Config.Toolsets {
		var names []string
		for _, t := range p.Config.Tools {
			if s.HasTool(t.Name) {
				names = append(names, t.Name)
			}
		}
		for _, name := range names {
			fmt.Fprintf(&out, "toolset %s %s\n", s.Name, name)
		}
	}
	return out.String()
}
