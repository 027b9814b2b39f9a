package hclexpr_test

import (
	"strings"
	"testing"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
)

// compile compiles an expression that may read x.v.
func compile(t *testing.T, src string, v eval.TypedExpr) eval.TypedExpr {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(src), "a.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	value := func(*eval.Frame) (any, error) { return nil, nil }
	scope := (&eval.Scope{}).With("x", &eval.Root{Noun: "member", Type: eval.AnyType, Members: map[string]*eval.Member{
		"v": {Type: v.Type, Facts: v.Facts, Eval: value}, "free": {Type: eval.AnyType, Eval: value},
	}})
	c := hclexpr.NewCompiler(&hclexpr.CompileEnv{}, []byte(src), scope, nil)
	n := c.Compile(e, hclexpr.LexicalEnv{})
	if c.Diags.HasErrors() {
		t.Fatalf("%s: %s", src, c.Diags[0].Detail)
	}
	return n
}

func TestSharedPartsAndLongChainsCompileInBoundedTime(t *testing.T) {
	cut := &eval.Cut{Member: "rows"}
	v := eval.TypedExpr{Type: eval.AnyType, Facts: eval.Facts{Cuts: []*eval.Cut{cut}}}
	began := time.Now()
	for range 40 {
		v = compile(t, `{ a = x.v, b = x.v }`, v)
	}
	if held := v.HeldCuts(); len(held) != 1 || held[0] != cut {
		t.Errorf("the object holds the cuts %v", held)
	}
	v = compile(t, strings.Repeat(`x.free ? "-a" : `, 400)+`"b"`, v)
	if all := v.AllChoices(); len(all) != 401 || !v.MayBeginWithDash() {
		t.Errorf("%d choices, a dash: %v", len(all), v.MayBeginWithDash())
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestFactsOfMembersAreApart(t *testing.T) {
	cut := &eval.Cut{Member: "rows"}
	v := eval.TypedExpr{Type: eval.AnyType, Facts: eval.Facts{Cuts: []*eval.Cut{cut}}}
	for src, held := range map[string]int{
		`{ a = x.v, b = 1 }.a`: 1, `{ a = x.v, b = 1 }.b`: 0, `{ a = x.v, b = 1 }["a"]`: 1,
		`(x.free ? { a = x.v, b = 1 } : { c = 2 }).a`: 1, `(x.free ? { a = x.v, b = 1 } : { c = 2 }).c`: 0,
		`[x.v, 1][1]`: 1, `{ for k in ["a"] : k => x.v }.a`: 1, `[for y in [x.v] : { a = y, b = 1 }][0].a`: 1, `[for y in [x.v] : { a = y, b = 1 }][0].b`: 0,
	} {
		if got := len(compile(t, src, v).HeldCuts()); got != held {
			t.Errorf("%s holds %d cuts, want %d", src, got, held)
		}
	}
}
