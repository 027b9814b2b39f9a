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
// and compares the output with the *.want file of the same name.
func Goldens(t *testing.T, pattern string, run func(t *testing.T, types map[string]template.Type, in string) string) {
	t.Helper()
	Archives(t, pattern, func(t *testing.T, sections map[string]string, name string) (string, bool) {
		name, isWant := strings.CutSuffix(name, ".want")
		if !isWant {
			return "", false
		}
		return run(t, Types(t, sections["types"]), strings.TrimSuffix(sections[name+".in"], "\n")), true
	})
}

// Archives compares the sections of every matching archive in testdata with what got returns for
// them. The flag -update rewrites them. For a section that is no output, got returns false.
func Archives(t *testing.T, pattern string,
	got func(t *testing.T, sections map[string]string, name string) (output string, isOutput bool)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives match %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]string{}
			for _, f := range archive.Files {
				sections[f.Name] = string(f.Data)
			}
			for i, f := range archive.Files {
				output, isOutput := got(t, sections, f.Name)
				if isOutput && output != string(f.Data) {
					archive.Files[i].Data = []byte(output)
					if !*update {
						t.Errorf("%s:\n%s\nwant:\n%s", f.Name, output, f.Data)
					}
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

var severities = map[hclv2.DiagnosticSeverity]string{hclv2.DiagError: "error", hclv2.DiagWarning: "warning"}

// Render writes diagnostics as the goldens have them: place, severity, summary, detail.
func Render(diags hclv2.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		at := hclv2.Range{}
		if d.Subject != nil {
			at = *d.Subject
		}
		fmt.Fprintf(&b, "%d:%d-%d:%d %s: %s\n  %s\n", at.Start.Line, at.Start.Column, at.End.Line, at.End.Column,
			severities[d.Severity], d.Summary, d.Detail)
	}
	return b.String()
}
