package schema

import (
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/template"
)

func typeOf(t *testing.T, source string) *Type {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(source), "t.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	env := environment(source)
	typ := ParseType(expr, env)
	if env.Diags.HasErrors() {
		t.Fatal((*env.Diags)[0].Detail)
	}
	return typ
}

func TestMismatchFindsWhatIsKnownToBeWrong(t *testing.T) {
	for _, c := range []struct{ from, to, why string }{
		{"string", "string", ""},
		{"any", "integer", ""},
		{"integer", "number", ""},
		{"number", "integer", ""},
		{"string", `enum("a", "b")`, ""},
		{"set(string)", "list(string)", ""},
		{"string", "integer", "it is string, and integer is needed"},
		{"nullable(string)", "string", "it may be null, and string is needed"},
		{`enum("a", "c")`, `enum("a", "b")`, `it may be "c", which is not one of "a", "b"`},
		{"list(string)", "list(bool)", "of its elements: it is string, and bool is needed"},
		{"object({ a = string })", "object({ a = string, b = optional(bool) })", ""},
		{"object({ a = string })", "object({ a = string, b = bool })", `it has no member "b"`},
		{"object({ a = optional(string) })", "object({ a = string })", `its member "a" may be absent, and it is required`},
		{`object({ a = optional(string, "x") })`, "object({ a = string })", ""},
		{"object({ a = nullable(string) })", "object({ a = optional(string) })", ""},
		{"object({ a = string, bc = string })", "object({ a = string, bd = optional(string) })", `it has a member "bc" that is not accepted; did you mean "bd"?`},
		{"object({ a = string })", "map(string)", ""},
		{"object({ a = string })", "map(number)", `of its member "a": it is string, and number is needed`},
	} {
		if why := Mismatch(typeOf(t, c.from), typeOf(t, c.to)); why != c.why {
			t.Errorf("%s to %s: got %q, want %q", c.from, c.to, why, c.why)
		}
	}
}

func TestUnifyHoldsTheValuesOfBoth(t *testing.T) {
	for types, want := range map[[2]string]string{
		{"string", "string"}:             "string",
		{"string", "integer"}:            "any",
		{"integer", "number"}:            "number",
		{"nullable(integer)", "integer"}: "nullable(integer)",
		{`enum("a")`, `enum("a", "b")`}:  `enum("a", "b")`,
		{`enum("a")`, "string"}:          "string",
		{"list(integer)", "set(number)"}: "list(number)",
		{"object({ a = integer })", "object({ a = optional(string) })"}: "object({ a = optional(any) })",
		{"object({ a = integer })", "object({ b = string })"}:           "map(any)",
		{"any", "string"}: "any",
	} {
		if got := Unify(typeOf(t, types[0]), typeOf(t, types[1])).String(); got != want {
			t.Errorf("%s and %s: got %s, want %s", types[0], types[1], got, want)
		}
	}
	if got := Unify(&Type{Kind: Null}, typeOf(t, "string")).String(); got != "nullable(string)" {
		t.Errorf("null and string: got %s", got)
	}
}

func TestContextsSeeWhatATypeIs(t *testing.T) {
	got := typeOf(t, `nullable(enum("a", "b"))`).TemplateType()
	if got.Kind != template.Enum || !got.Nullable || len(got.Values) != 2 {
		t.Errorf("got %+v", got)
	}
	if got := typeOf(t, "set(integer)").TemplateType(); got.Kind != template.List || got.Elem.Kind != template.Integer {
		t.Errorf("got %+v", got)
	}
}

func TestATypeMayBeANameOfAFile(t *testing.T) {
	for typ, want := range map[string]bool{
		`string({ pattern = "^[a-z0-9-]+$" })`:          true,
		`string({ pattern = "^(?:[a-z][a-z.]*|x)?$" })`: true,
		`string({ pattern = "^a$|^(b{2,3})$" })`:        true,
		`string({ pattern = "^[^/.]*$" })`:              true,
		`string({ format = "uuid" })`:                   true,
		`string({ pattern = "[a-z]+" })`:                false,
		`string({ pattern = "^[a-z]+" })`:               false,
		`string({ pattern = "^[a-z.]+$" })`:             false,
		`string({ pattern = "^a*\\.x$" })`:              false,
		`string({ pattern = "^[^.]+$" })`:               false,
		`string({ pattern = "^x.$" })`:                  false,
		`string({ pattern = "^a$|b" })`:                 false,
		`string({ format = "email" })`:                  false,
		`string`:                                        false,
	} {
		if got := typeOf(t, typ).TemplateType().FileName; got != want {
			t.Errorf("%s: %t", typ, got)
		}
	}
}
