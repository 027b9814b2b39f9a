package schema

import (
	"fmt"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// named returns the type x, which its source declares.
func named(t *testing.T, source string) *Type {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(source), "t.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	env := environment(source)
	nameTypes(&env, map[string]hclv2.Expression{"x": expr})
	typ := env.Type("x", expr.Range())
	if env.Diags.HasErrors() {
		t.Fatal((*env.Diags)[0].Detail)
	}
	return typ
}

func TestEveryLevelOfAValueIsChecked(t *testing.T) {
	v := named(t, "object({ n = integer, x = optional(type.x) })").Compile()
	const levels = 400
	for leaf, want := range map[string]string{`1`: "", `"a"`: strings.Repeat("x.", levels) + "n: must be an integer, got the string \"a\""} {
		raw := strings.Repeat(`{"n":1,"x":`, levels) + `{"n":` + leaf + strings.Repeat("}", levels+1)
		_, violations, _ := v.Arguments([]byte(raw), Unlimited)
		if got := fmt.Sprint(violations); got != "["+want+"]" {
			t.Errorf("with %s: %.100s … %s", leaf, got, got[max(0, len(got)-60):])
		}
	}
}

// Both objects fit at every level but the last: trying each at every level would take 2^200 steps.
func TestAlternativesOfALevelAreTriedOnce(t *testing.T) {
	v := named(t, "one_of(integer, object({ x = type.x }), object({ x = type.x, y = optional(bool) }))").Compile()
	raw := strings.Repeat(`{"x":`, 200) + `"a"` + strings.Repeat("}", 200)
	if _, violations, _ := v.Check(decoded(t, []byte(raw)), Unlimited); len(violations) == 0 {
		t.Error("a text is accepted where an integer is needed")
	}
}

func TestResponsesMayGainMembersAtEveryDepth(t *testing.T) {
	v := named(t, "object({ n = integer, x = optional(type.x) })").Opened().Compile()
	if _, violations, _ := v.Check(decoded(t, []byte(`{"n":1,"x":{"n":1,"new":2,"x":{"n":1,"new":2}}}`)), Unlimited); len(violations) > 0 {
		t.Error(violations)
	}
	if _, violations, _ := v.Check(decoded(t, []byte(`{"n":1,"x":{"n":1,"x":{"n":"a"}}}`)), Unlimited); fmt.Sprint(violations) != `[x.x.n: must be an integer, got the string "a"]` {
		t.Error(violations)
	}
}

func TestAnOpenAndAClosedDefinitionHaveTwoNames(t *testing.T) {
	typ := named(t, "object({ x = optional(type.x) })")
	both := ObjectOf(&Member{Name: "a", Type: typ}, &Member{Name: "b", Type: typ.Opened()})
	got := string(both.AppendSchema(nil))
	for _, part := range []string{`"a":{"$ref":"#/$defs/x"}`, `"b":{"$ref":"#/$defs/x_2"}`,
		`"x":{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"additionalProperties":false}`,
		`"x_2":{"type":"object","properties":{"x":{"$ref":"#/$defs/x_2"}}}`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}
	oracle(t, both)
}

func BenchmarkRecursive(b *testing.B) {
	b.ReportAllocs()
	file, _ := hclsyntax.ParseExpression([]byte(`one_of(string, list(type.x), object({ all = list(type.x) }))`), "t.hcl", hclv2.InitialPos)
	env := environment("")
	nameTypes(&env, map[string]hclv2.Expression{"x": file})
	v := ObjectOf(&Member{Name: "x", Type: env.Type("x", file.Range())}).Compile()
	raw := []byte(`{"x":{"all":["a",["b",["c",{"all":[["d"]]}]],"e"]}}`)
	for b.Loop() {
		if _, violations, _ := v.Arguments(raw, Unlimited); violations != nil {
			b.Fatal(violations)
		}
	}
}
