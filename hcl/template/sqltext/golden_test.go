package sqltext

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/hcl/template/templatetest"
)

var dialects = map[string]Dialect{"sqlite": SQLite, "postgres": PostgreSQL, "mysql": MySQL}

// A golden archive has the sections types, template, and values (one JSON object a line, each a call), and for each dialect it is about "want <dialect>".
func TestTemplatesCompileAsTheGoldensSay(t *testing.T) {
	templatetest.Archives(t, "*.txtar", func(t *testing.T, sections map[string]string, name string) (string, bool) {
		dialect, ok := strings.CutPrefix(name, "want ")
		if !ok {
			return "", false
		}
		return rendered(t, sections, dialects[dialect]), true
	})
}

func rendered(t *testing.T, sections map[string]string, d Dialect) string {
	source := strings.ReplaceAll(strings.TrimSuffix(sections["template"], "\n"), `\0`, "\x00")
	tree := parse(t, source, parseTypes(t, sections["types"]))
	p, diags := Compile(tree, d)
	var out strings.Builder
	out.WriteString(templatetest.Render(diags))
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
