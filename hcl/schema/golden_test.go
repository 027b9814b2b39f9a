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

	"hatchel/hcl/diag"
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
			typ, diags := inputs(t, section(archive, "types.hcl"))
			got := map[string]string{"want": rendered(diags)}
			if !diags.HasErrors() {
				got["want.json"] = indented(t, typ.AppendSchema(nil))
			}
			if calls := section(archive, "calls"); calls != "" {
				got["want.calls"] = called(typ, calls)
			}
			if *update {
				rewrite(t, name, archive, got)
				return
			}
			for _, f := range wanted {
				if want := section(archive, f); got[f] != want {
					t.Errorf("%s differs.\ngot:\n%s\nwant:\n%s", f, got[f], want)
				}
			}
		})
	}
}

var wanted = []string{"want", "want.json", "want.calls"}

func section(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func rewrite(t *testing.T, name string, archive *txtar.Archive, got map[string]string) {
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return slices.Contains(wanted, f.Name) })
	for _, f := range wanted {
		if got[f] != "" {
			archive.Files = append(archive.Files, txtar.File{Name: f, Data: []byte(got[f])})
		}
	}
	if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inputs reads type and input blocks as a tool has them.
func inputs(t *testing.T, source string) (*Type, diag.Diagnostics) {
	file, diags := hclsyntax.ParseConfig([]byte(source), "types.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	env := environment(source)
	var members []*Member
	declared := map[string]hclv2.Expression{}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if block.Type == "type" {
			declared[block.Labels[0]] = block.Body.Attributes["is"].Expr
		}
	}
	nameTypes(&env, declared)
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		attributes := block.Body.Attributes
		if block.Type == "type" {
			env.Type(block.Labels[0], attributes["is"].Expr.Range())
			continue
		}
		m := &Member{Name: block.Labels[0]}
		ParseMember(m, attributes["type"].Expr, env)
		for _, name := range Keywords() {
			if a, ok := attributes[name]; ok {
				m.Type = m.Type.With(a.AsHCLAttribute(), env)
			}
		}
		if a, ok := attributes["default"]; ok {
			m.Default, m.HasDefault = m.Type.Default(a.Expr, env)
			m.Optional = true
		}
		members = append(members, m)
	}
	return ObjectOf(members...), *env.Diags
}

// nameTypes lets the types of an environment refer to these by their names, as a configuration does.
func nameTypes(env *Env, declared map[string]hclv2.Expression) {
	done, open := map[string]*Type{}, map[string]*Definition{}
	env.Type = func(name string, at hclv2.Range) *Type {
		switch {
		case declared[name] == nil:
			env.Diags.Errorf(diag.RangeOf(at), "Unknown type", "There is no type.%s.", name)
			return nil
		case done[name] != nil:
			return done[name]
		case open[name] != nil:
			return open[name].Recursion(at)
		}
		open[name] = &Definition{Name: name}
		t, problem := open[name].Complete(ParseType(declared[name], *env))
		if problem != "" {
			at, _ = open[name].RecursionRange()
			env.Diags.Errorf(diag.RangeOf(at), "Type refers to itself", "%s", problem)
		}
		done[name] = t
		return t
	}
}

// environment evaluates constants as the HCL library does.
func environment(source string) Env {
	return Env{Diags: &diag.Diagnostics{}, Source: []byte(source), Eval: func(e hclv2.Expression) (any, bool) {
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

func rendered(diags diag.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&b, "%d:%d-%d: %s: %s\n    %s\n", d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Column, d.Severity, d.Summary, d.Detail)
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
		out, violations, _ := validator.Arguments([]byte(strings.TrimSpace(line)), Unlimited)
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
