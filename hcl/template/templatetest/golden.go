// Package templatetest parses template trees for the tests of the contextual compilers, which do
// not depend on a parser. [Goldens] is its entry point: it runs a compiler on the archives of its
// testdata and compares the output with the expected output there.
package templatetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"golang.org/x/tools/txtar"

	"hatchel/hcl/template"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// Goldens runs every *.in file of the matching archives in testdata with the types of the archive,
// and compares the output with the *.want file that follows. The flag -update rewrites these files.
func Goldens(t *testing.T, pattern string, run func(t *testing.T, types map[string]template.Type, in string) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Goldens match %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := txtar.Archive{Comment: archive.Comment}
			types := map[string]template.Type{}
			want := map[string]string{}
			for _, f := range archive.Files {
				want[f.Name] = string(f.Data)
			}
			for _, f := range archive.Files {
				name, isCase := strings.CutSuffix(f.Name, ".in")
				switch {
				case f.Name == "types":
					types = Types(t, string(f.Data))
					out.Files = append(out.Files, f)
				case isCase:
					got := run(t, types, strings.TrimSuffix(string(f.Data), "\n"))
					if got != want[name+".want"] && !*update {
						t.Errorf("%s:\n%s\ngot:\n%s\nwant:\n%s", name, f.Data, got, want[name+".want"])
					}
					out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(&out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Render writes diagnostics as the goldens have them: place, severity, summary, detail.
func Render(diags hclv2.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		severity := "error"
		if d.Severity == hclv2.DiagWarning {
			severity = "warning"
		}
		if d.Subject == nil {
			d.Subject = &hclv2.Range{}
		}
		fmt.Fprintf(&b, "%d:%d-%d:%d %s: %s\n  %s\n", d.Subject.Start.Line, d.Subject.Start.Column,
			d.Subject.End.Line, d.Subject.End.Column, severity, d.Summary, d.Detail)
	}
	return b.String()
}
