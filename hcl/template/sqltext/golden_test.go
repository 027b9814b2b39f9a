package sqltext

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted sections of testdata")

var dialects = map[string]Dialect{"sqlite": SQLite, "postgres": PostgreSQL, "mysql": MySQL}

// A golden archive has the sections types, template, and values (one JSON object a line, each a call), and for each dialect it is about "want <dialect>".
func TestTemplatesCompileAsTheGoldensSay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, f := range a.Files {
		sections[f.Name] = string(f.Data)
	}
	for i, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, "want ")
		if !ok {
			continue
		}
		got := rendered(t, sections, dialects[name])
		if *update {
			a.Files[i].Data = []byte(got)
		} else if got != string(f.Data) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, f.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func rendered(t *testing.T, sections map[string]string, d Dialect) string {
	source := strings.ReplaceAll(strings.TrimSuffix(sections["template"], "\n"), `\0`, "\x00")
	tree := parse(t, source, parseTypes(t, sections["types"]))
	p, diags := Compile(tree, d)
	var out strings.Builder
	for _, diag := range diags {
		severity := "error"
		if diag.Severity == hclv2.DiagWarning {
			severity = "warning"
		}
		s := diag.Subject
		fmt.Fprintf(&out, "%d:%d-%d: %s: %s\n\t%s\n", s.Start.Line, s.Start.Column, s.End.Column, severity, diag.Summary, diag.Detail)
	}
	if (p == nil) != diags.HasErrors() {
		t.Errorf("program %v with diagnostics %v", p, diags)
	}
	if p == nil {
		return out.String()
	}
	for line := range strings.Lines(sections["values"]) {
		values, _ := decode(t, line).(map[string]any)
		text, args, err := p.Bind(scope(values), nil)
		if err != nil {
			fmt.Fprintf(&out, "fault: %v\n", err)
			continue
		}
		fmt.Fprintln(&out, text)
		for _, arg := range args {
			fmt.Fprintf(&out, "\t%s\n", show(arg))
		}
	}
	if _, ok := sections["samples"]; ok {
		for _, s := range p.Samples() {
			fmt.Fprintf(&out, "sample %d: %s [%s]\n", s.Params, s.Text, s.Label)
		}
	}
	return out.String()
}
