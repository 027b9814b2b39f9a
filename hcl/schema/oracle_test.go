package schema

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What the compiled checks accept is what the advertised schema accepts, as an independent implementation of JSON Schema reads it; and what
// comes out of a check passes it again unchanged.
func FuzzChecksAgreeWithTheAdvertisedSchema(f *testing.F) {
	for seed := range int64(400) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		r := random{rand.New(rand.NewSource(seed))}
		declared := map[string]hclv2.Expression{}
		for _, name := range []string{"x", "y"} {
			expr, diags := hclsyntax.ParseExpression([]byte(r.typ(2)), "t.hcl", hclv2.InitialPos)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			declared[name] = expr
		}
		source := "object({ a = " + r.typ(3) + ", b = optional(" + r.typ(2) + ") })"
		expr, diags := hclsyntax.ParseExpression([]byte(source), "t.hcl", hclv2.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", source, diags)
		}
		env := environment(source)
		nameTypes(&env, declared)
		typ := ParseType(expr, env)
		if env.Diags.HasErrors() {
			return // bounds that contradict each other
		}
		library := oracle(t, typ)
		check := typ.Compile()
		read, err := FromJSONSchema(decoded(t, typ.AppendSchema(nil)))
		if err != nil {
			t.Fatalf("%s: its own schema cannot be read back: %v", source, err)
		}
		again, together := read.Compile(), withoutAlternatives(typ).Compile()
		for range 20 {
			v := r.value(typ, 0)
			out, violations, _ := check.Check(v, Unlimited)
			err := library.Validate(withoutNulls(typ, v, &checkTime{limit: Unlimited}))
			if (err == nil) != (len(violations) == 0) {
				t.Fatalf("%s\n%s\nvalue %s\nours:    %v\nlibrary: %v", source, typ.AppendSchema(nil), showJSON(v), violations, err)
			}
			if _, back, _ := again.Check(v, Unlimited); (len(back) == 0) != (err == nil) {
				t.Fatalf("%s, read back (exact: %v)\nvalue %s\nours:    %v\nlibrary: %v", typ.AppendSchema(nil), read.library == nil, showJSON(v), back, err)
			}
			if err != nil {
				continue
			}
			if _, violations, _ := together.Check(out, Unlimited); len(violations) > 0 {
				t.Fatalf("%s\n%s became %s, which is not what expressions expect: %v", source, showJSON(v), showJSON(out), violations)
			}
			if twice, violations, _ := check.Check(out, Unlimited); len(violations) > 0 || !value.Equal(twice, out) {
				t.Fatalf("%s\n%s became %s and then %s %v", source, showJSON(v), showJSON(out), showJSON(twice), violations)
			}
		}
	})
}

// withoutAlternatives returns the type as expressions see it.
func withoutAlternatives(t *Type) *Type {
	c := *t
	if c.OneOf != nil {
		c = *bareType(t)
		c.Nullable = c.Nullable || c.Kind == Any
	}
	c.OneOf = nil
	if c.Elem != nil {
		c.Elem = withoutAlternatives(c.Elem)
	}
	c.Members = nil
	for _, m := range t.Members {
		o := *m
		o.Type = withoutAlternatives(m.Type)
		c.Members = append(c.Members, &o)
	}
	return &c
}

func decoded(t *testing.T, schema []byte) any {
	v, err := value.Decode(schema)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return v
}

// oracle compiles a type's schema with the library's own formats.
func oracle(t *testing.T, typ *Type) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("t.json", decoded(t, typ.AppendSchema(nil))); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("t.json")
	if err != nil {
		t.Fatalf("%s: %v", typ.AppendSchema(nil), err)
	}
	return s
}

func TestNullOfAnOptionalMemberIsAcceptedAgainstTheSchemaAndCountsAsAbsent(t *testing.T) {
	typ := typeOf(t, "object({ a = optional(string), b = optional(nullable(string)) })")
	sent := decoded(t, []byte(`{"a": null, "b": null}`))
	if err := oracle(t, typ).Validate(sent); err == nil {
		t.Error("the schema allows the null of a, so it is no exception")
	}
	got, violations, _ := typ.Compile().Check(sent, Unlimited)
	if want := map[string]any{"b": nil}; len(violations) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, violations, want)
	}
}

type random struct{ *rand.Rand }

func (r random) pick(of ...string) string { return of[r.Intn(len(of))] }

func (r random) typ(depth int) string {
	if depth == 0 {
		return r.scalar()
	}
	switch r.Intn(11) {
	case 0:
		return "list(" + r.typ(depth-1) + r.tail("min_items", "max_items") + ")"
	case 1:
		return "set(" + r.typ(depth-1) + r.tail("min_items", "max_items") + ")"
	case 2:
		return "map(" + r.typ(depth-1) + r.tail("min_items", "max_items") + ")"
	case 3, 4:
		return "object({ a = " + r.member(depth-1) + ", b = " + r.member(depth-1) + " })"
	case 5:
		return "nullable(" + r.pick(r.scalar(), "list("+r.typ(depth-1)+")") + ")"
	case 6:
		return "one_of(" + r.typ(depth-1) + ", " + r.typ(depth-1) + ")"
	case 7:
		return `one_of(object({ kind = enum("a"), a = ` + r.member(depth-1) + ` }), object({ kind = enum("bb", "1"), b = ` + r.member(depth-1) + " }), " + r.scalar() + ")"
	}
	return r.scalar()
}

func (r random) member(depth int) string {
	switch r.Intn(5) {
	case 0:
		return "optional(" + r.typ(depth) + ")"
	case 1:
		return r.pick("optional(integer, 3)", `optional(string, "x")`, "optional(list(number), [1, 2.5])", "optional(nullable(bool), null)", `optional(object({ a = optional(integer, 1) }), {})`)
	}
	return r.typ(depth)
}

// tail writes some of the keywords with small numbers.
func (r random) tail(keywords ...string) string {
	var b strings.Builder
	for _, k := range keywords {
		if r.Intn(3) == 0 {
			fmt.Fprintf(&b, "%s = %d, ", k, r.Intn(5))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return `, "", { ` + strings.TrimSuffix(b.String(), ", ") + " }"
}

func (r random) scalar() string {
	if r.Intn(6) == 0 {
		return r.pick("type.x", "type.y")
	}
	switch r.Intn(10) {
	case 0:
		return "any"
	case 1:
		return "bool"
	case 2:
		return r.pick(`enum("a", "bb", "1")`, `enum({ a = "First", bb = "Second" })`, "enum(1, 2.5, 3)", "enum(1, 2)")
	case 3, 4:
		tail := r.tail("min", "max", "above", "below")
		if r.Intn(3) == 0 {
			tail = `, "", { multiple_of = ` + r.pick("2", "0.5", "0.1", "3e-2", "1e20") + " }"
		}
		return withTail(r.pick("number", "integer"), tail)
	case 5:
		return `string("", { format = "` + r.pick("date", "time", "date-time", "duration", "email", "uri", "uuid", "ipv4", "ipv6", "hostname", "json-pointer", "regex") + `" })`
	case 6:
		return `string("", { pattern = "` + r.pick("^[a-z]+$", "b", `^\\d{1,3}$`, `\\s`, "^(a|bb)?$") + `" })`
	}
	tail := r.tail("min_length", "max_length")
	return withTail("string", tail)
}

// withTail writes a scalar with the tail that others have after their first argument.
func withTail(name, tail string) string {
	if tail == "" {
		return name
	}
	return name + "(" + strings.TrimPrefix(tail, ", ") + ")"
}

var interesting = []string{`null`, `true`, `false`, `0`, `1`, `2`, `3`, `-1`, `2.5`, `1.0`, `0.1`, `0.3`, `1e20`, `1e400`, `9007199254740993`, `18446744073709551616`, `3.0000000000000000000001`, `-0.0`,
	`""`, `"a"`, `"bb"`, `"1"`, `"é"`, `"x y"`, `"abcdef"`, `"2026-01-31"`, `"2026-02-29"`, `"2024-02-29"`, `"1900-02-29"`, `"12:00:00Z"`, `"23:59:60Z"`, `"12:00:60Z"`, `"22:59:60-01:00"`, `"12:00:00.5+01:00"`, `"2026-01-31T12:00:00Z"`, `"2026-01-31 12:00:00Z"`, `"P1D"`, `"PT"`,
	`"a@example.com"`, `"a@"`, `"https://example.com/a"`, `"/a"`, `"123e4567-e89b-12d3-a456-426614174000"`, `"10.0.0.1"`, `"10.0.0.01"`, `"::1"`, `"fe80::1%eth0"`, `"example.com"`, `"-a"`, `"[a"`, `"^a$"`,
	`[]`, `[1]`, `[1,1.0]`, `["a","a"]`, `[1,2,3,4,5]`, `{}`, `{"a":1}`, `{"a":null,"b":null}`, `{"c":1}`, `[null]`, `[[1],[1]]`, `[1,2,3,4,5,6,7,8,9,10,1]`}

// value makes a value that fits the type more often than not.
func (r random) value(t *Type, depth int) any {
	t = t.Unfolded()
	if r.Intn(5) == 0 || depth > 5 {
		v, err := value.Decode([]byte(r.pick(interesting...)))
		if err != nil {
			panic(err)
		}
		return v
	}
	if t.OneOf != nil {
		return r.value(t.OneOf[r.Intn(len(t.OneOf))], depth)
	}
	switch t.Kind {
	case List, Set:
		out := make([]any, r.Intn(5))
		for i := range out {
			out[i] = r.value(t.Elem, depth+1)
		}
		return out
	case Map:
		out := map[string]any{}
		for i := range r.Intn(5) {
			out[fmt.Sprint("k", i)] = r.value(t.Elem, depth+1)
		}
		return out
	case Object:
		out := map[string]any{}
		for _, m := range t.Members {
			if r.Intn(8) > 0 {
				out[m.Name] = r.value(m.Type, depth+1)
			}
		}
		return out
	case Bool:
		return r.Intn(2) == 0
	case Number, Integer:
		if len(t.Enum) == 0 {
			return r.Intn(6)
		}
		return t.Enum[r.Intn(len(t.Enum))].Value
	}
	for range 20 {
		if v, _ := value.Decode([]byte(r.pick(interesting...))); len(mustCheck(t, v)) == 0 {
			return v
		}
	}
	return "a"
}

func mustCheck(t *Type, v any) []Violation {
	_, violations, _ := t.Compile().Check(v, Unlimited)
	return violations
}
