package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata")

// An archive holds a tool's inputs in types.hcl; want.json is the schema they advertise, want the diagnostics. With calls, each line
// is the arguments of a call and want.calls what becomes of them.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			given := map[string]string{}
			for _, f := range archive.Files {
				given[f.Name] = string(f.Data)
			}
			typ, diags := inputs(t, given["types.hcl"])
			got := map[string]string{"want": rendered(diags)}
			if !diags.HasErrors() {
				got["want.json"] = indented(t, typ.AppendSchema(nil))
			}
			if calls, ok := given["calls"]; ok {
				got["want.calls"] = called(typ, calls)
			}
			if *update {
				rewrite(t, name, archive, got)
				return
			}
			for _, f := range []string{"want", "want.json", "want.calls"} {
				if got[f] != given[f] {
					t.Errorf("%s differs.\ngot:\n%s\nwant:\n%s", f, got[f], given[f])
				}
			}
		})
	}
}

func rewrite(t *testing.T, name string, archive *txtar.Archive, got map[string]string) {
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want") })
	for _, f := range []string{"want", "want.json", "want.calls"} {
		if got[f] != "" {
			archive.Files = append(archive.Files, txtar.File{Name: f, Data: []byte(got[f])})
		}
	}
	if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inputs reads type and input blocks as a tool has them.
func inputs(t *testing.T, source string) (*Type, hclv2.Diagnostics) {
	file, diags := hclsyntax.ParseConfig([]byte(source), "types.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	named := map[string]*Type{}
	env := environment(source)
	env.Type = func(name string, at hclv2.Range) (*Type, hclv2.Diagnostics) {
		if named[name] == nil {
			return nil, hclv2.Diagnostics{{Severity: hclv2.DiagError, Summary: "Unknown type", Detail: "There is no type." + name + ".", Subject: &at}}
		}
		return named[name], nil
	}
	var members []*Member
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		attributes := block.Body.Attributes
		if block.Type == "type" {
			typ, more := ParseType(attributes["is"].Expr, env)
			named[block.Labels[0]], diags = typ, append(diags, more...)
			continue
		}
		typ, option, more := Parse(attributes["type"].Expr, env)
		diags = append(diags, more...)
		for _, name := range Keywords() {
			if a, ok := attributes[name]; ok {
				typ, more = typ.With(a.AsHCLAttribute(), env)
				diags = append(diags, more...)
			}
		}
		m := &Member{Name: block.Labels[0], Type: typ, Optional: option.Optional, HasDefault: option.HasDefault, Default: option.Default}
		if a, ok := attributes["default"]; ok {
			m.Default, m.HasDefault, more = typ.Default(a.Expr, env)
			m.Optional, diags = true, append(diags, more...)
		}
		members = append(members, m)
	}
	return ObjectOf(members...), diags
}

// environment evaluates constants as the HCL library does.
func environment(source string) Env {
	return Env{Source: []byte(source), Eval: func(e hclv2.Expression) (any, bool) {
		v, diags := e.Value(nil)
		if diags.HasErrors() {
			return nil, false
		}
		text, err := ctyjson.SimpleJSONValue{Value: v}.MarshalJSON()
		if err != nil {
			return nil, false
		}
		out, err := value.Decode(text)
		return out, err == nil
	}}
}

func rendered(diags hclv2.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		severity := "error"
		if d.Severity == hclv2.DiagWarning {
			severity = "warning"
		}
		fmt.Fprintf(&b, "%d:%d-%d: %s: %s\n    %s\n", d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Column, severity, d.Summary, d.Detail)
	}
	return b.String()
}

func indented(t *testing.T, schema []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, schema, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	return b.String() + "\n"
}

func called(typ *Type, calls string) string {
	validator := typ.Compile()
	var b strings.Builder
	for line := range strings.Lines(calls) {
		out, violations := validator.Arguments([]byte(strings.TrimSpace(line)))
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(line))
		for _, v := range violations {
			fmt.Fprintf(&b, "    ! %s\n", v)
		}
		if violations == nil {
			text, err := value.AppendJSON(nil, out)
			fmt.Fprintf(&b, "    = %s", text)
			if err != nil {
				fmt.Fprintf(&b, " (%v)", err)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
