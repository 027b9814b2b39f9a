package hcl_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters/all"
	. "hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// around is a tool whose one value is computed for the call.
const around = `
variable "v" { default = { a = 1, "b c" = [1, 2, { d = null }] } }
locals {
  known = [for x in [3, 1, 2] : x * 2 if x > 1]
  text  = "%{for i, x in ["a", "b"]}${i}${x} %{endfor}%{if true}yes%{else}no%{endif}"
  big   = 123456789012345678901234567890
}
tool "t" {
  description = "Computes."
  input "s" { type = string }
  input "n" { type = integer }
  input "f" { type = number }
  input "ok" { type = bool }
  input "none" { type = optional(string) }
  input "nothing" { type = optional(object({ x = optional(string) })) }
  input "list" { type = list(any) }
  input "rows" { type = list(object({ id = integer, name = optional(string), tags = optional(list(string)) })) }
  input "map" { type = map(any) }
  input "any" { type = any }
  locals {
    twice  = "${input.s}${input.s}"
    letter = [for x in ["a", "b"] : "${x}${input.n}"]
  }
  value {
    json = EXPRESSION
  }
  text = "x"
}
`

func arguments() map[string]any {
	return map[string]any{
		"s": "e\u0301 \U0001F600", "n": 7, "f": 2.5, "ok": true, "none": nil, "nothing": nil,
		"list": []any{1, "two", nil, 4.5, []any{5}},
		"rows": []any{map[string]any{"id": 1, "name": "a", "tags": []any{"x", "y"}}, map[string]any{"id": 2}},
		"map":  map[string]any{"b": 2, "a": 1, "e\u0301": "kept"},
		"any":  map[string]any{"deep": map[string]any{"list": []any{map[string]any{"id": json.Number("12345678901234567890")}}}},
	}
}

func compileValue(t testing.TB, expression string) (*hclexpr.Expr, diag.Diagnostics) {
	fsys := fstest.MapFS{"a.hcl": {Data: []byte(strings.Replace(around, "EXPRESSION", expression, 1))}}
	config, diags := Load(fsys, valueKinds(), Options{})
	var errs diag.Diagnostics
	for _, d := range diags {
		if d.Severity == diag.Error {
			errs = append(errs, d)
		}
	}
	if len(config.Tools) != 1 || len(config.Tools[0].Steps) != 1 {
		return nil, errs
	}
	block, ok := config.Tools[0].Steps[0].Backend.Config.(*valueBlock)
	if !ok {
		return nil, errs
	}
	return block.JSON, errs
}

func callFrame(ctx context.Context) *eval.Frame {
	f := eval.NewFrame(ctx, "/srv", func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) })
	f.Input, f.Caller = arguments(), eval.CallerMembers{"subject": "ann", "groups": []any{"ops"}, "claims": map[string]any{}, "client": map[string]any{}}
	return f
}

// frameOf is the frame of a call with these inputs.
func frameOf(t testing.TB, input map[string]any) *eval.Frame {
	f := callFrame(t.Context())
	f.Input = input
	return f
}

func TestExpressionsComputeNativeValues(t *testing.T) {
	for expression, want := range map[string]any{
		`1`:                              1,
		`1.0`:                            1,
		`1.5`:                            1.5,
		`9007199254740993`:               9007199254740993,
		`123456789012345678901234567890`: json.Number("123456789012345678901234567890"),
		`0.1234567890123456789`:          json.Number("0.1234567890123456789"),
		`local.big + 1`:                  json.Number("123456789012345678901234567891"),
		`9223372036854775807 + 1`:        json.Number("9223372036854775808"),
		`input.any.deep.list[0].id`:      json.Number("12345678901234567890"),
		`input.any.deep.list[*].id`:      []any{json.Number("12345678901234567890")},
		`0.5 + 0.25`:                     0.75,
		`7 / 2`:                          3.5,
		`6 / 2`:                          3,
		`7 % 3`:                          1,
		`-input.n`:                       -7,
		`input.n * input.f`:              17.5,
		`"x"`:                            "x",
		`"$${x} %%{y} \u00e9 \n"`:        "${x} %{y} é \n",
		`"${input.n}"`:                   7,
		`"${input.n} "`:                  "7 ",
		`"a${input.f}b${input.ok}"`:      "a2.5btrue",
		`"<${input.s}>"`:                 "<e\u0301 \U0001F600>",
		`input.s`:                        "e\u0301 \U0001F600",
		`local.twice`:                    "e\u0301 \U0001F600e\u0301 \U0001F600",
		// a local with a loop, computed inside a loop, does not change the variable of the outer loop
		`[for y in ["c"] : "${local.letter[0]}${y}"]`: []any{"a7c"},

		`{ (input.s) = 1 }`:                   map[string]any{"e\u0301 \U0001F600": 1},
		`null`:                                nil,
		`input.none`:                          nil,
		`{ a = input.none }`:                  map[string]any{"a": nil},
		`[input.none, 1]`:                     []any{nil, 1},
		`compact({ a = { b = input.none } })`: map[string]any{},
		`input.none == null`:                  true,
		`input.n == 7.0`:                      true,
		`input.n == 8`:                        false,
		`input.any == { deep = 1 }`:           false,
		`[1, "1"] == ["1", 1]`:                false,
		`input.n > 3 && input.f < 3`:          true,
		`!input.ok || input.n >= 7`:           true,
		`input.ok ? "yes" : "no"`:             "yes",
		`input.ok ? { n = 5, s = "a" } : {}`:  map[string]any{"n": 5, "s": "a"},
		`input.ok ? [1, "a", true] : []`:      []any{1, "a", true},
		`!input.ok ? 1 : "one"`:               "one",
		`merge(input.ok ? { n = 5, s = "a" } : {}, { z = 1 })`:         map[string]any{"n": 5, "s": "a", "z": 1},
		`concat(input.ok ? [1] : ["a"], [true])`:                       []any{1, true},
		`jsonencode(input.ok ? { n = 5, s = "a" } : {})`:               `{"n":5,"s":"a"}`,
		`coalesce(input.none, input.ok ? 5 : "a")`:                     5,
		`try(input.ok ? { n = 5, s = "a" } : {}, null)`:                map[string]any{"n": 5, "s": "a"},
		`pick(input.ok ? { n = 5, s = "a" } : {}, "n")`:                map[string]any{"n": 5},
		`[for x in [1, 2] : x == 1 ? { n = 5, s = "a" } : {}]`:         []any{map[string]any{"n": 5, "s": "a"}, map[string]any{}},
		`(input.ok ? { n = 5, s = "a" } : {}).n`:                       5,
		`local.known`:                                                  []any{6, 4},
		`local.text`:                                                   "0a 1b yes",
		`var.v["b c"][2].d`:                                            nil,
		`var.v.a`:                                                      1,
		`[for r in input.rows : r.id]`:                                 []any{1, 2},
		`[for i, r in input.rows : i * 10]`:                            []any{0, 10},
		`[for k, v in input.map : k]`:                                  []any{"a", "b", "e\u0301"},
		`{ for r in input.rows : "k${r.id}" => r.id }`:                 map[string]any{"k1": 1, "k2": 2},
		`{ for x in [1, 2, 3] : "${x % 2}" => x... }`:                  map[string]any{"1": []any{1, 3}, "0": []any{2}},
		`[for r in input.rows : r.name if r.name != null]`:             []any{"a"},
		`[for r in input.rows : r.name != null ? upper(r.name) : "-"]`: []any{"A", "-"},
		`[for a in [1, 2] : [for b in [10, 20] : a * b]]`:              []any{[]any{10, 20}, []any{20, 40}},
		`[for x in input.list : x if x != null]`:                       []any{1, "two", 4.5, []any{5}},
		`input.rows[*].id`:                                             []any{1, 2},
		`input.rows.*.id`:                                              []any{1, 2},
		`input.nothing[*]`:                                             []any{},
		`input.s[*]`:                                                   []any{"e\u0301 \U0001F600"},
		`input.rows[1].id`:                                             2,
		`input.list[input.n - 6]`:                                      "two",
		`input.map["b"]`:                                               2,
		`(input.map).b`:                                                2,
		`try(input.any.deep.nope, "else")`:                             "else",
		`try(input.any.nope.nope, input.none, "third")`:                "third",
		`can(input.any.deep.list)`:                                     true,
		`can(input.any.nope.nope)`:                                     false,
		`try(input.nothing.x, "none")`:                                 "none",
		`coalesce(input.none, "x")`:                                    "x",
		`coalesce(caller.claims.tenant, "public")`:                     "public",
		`coalesce(caller.claims["a.b"].c, input.any.nope, "x")`:        "x",
		`coalesce(caller.subject, "x")`:                                "ann",
		`upper("a${lower("B")}")`:                                      "AB",
		`join(",", ["a", "b"])`:                                        "a,b",
		`max([1, 5, 3]...)`:                                            5,
		`timestamp()`:                                                  "2026-03-01T12:00:00Z",
		`timeadd(timestamp(), "-24h")`:                                 "2026-02-28T12:00:00Z",
		`"%{for x in ["a", "b"]}${x}%{endfor}"`:                        "ab",
		`"%{if input.ok}yes %{~ else ~} no%{endif}."`:                  "yes.",
		`"%{for k, v in input.map}${k}=%{if v == 1}one%{else}?%{endif};%{endfor}"`: "a=one;b=?;e\u0301=?;",
		`pick({ a = 1, b = 2 }, "a")`:                    map[string]any{"a": 1},
		`omit({ a = 1, b = 2 }, "a")`:                    map[string]any{"b": 2},
		`caller.subject`:                                 "ann",
		`"${input.list[0]}${"b"}"`:                       "1b",
		"<<-X\n      a\n        b ${input.n}\n      X\n": "a\n  b 7\n",
	} {
		e, diags := compileValue(t, expression)
		if len(diags) > 0 {
			t.Errorf("%s: %s: %s", expression, diags[0].Summary, diags[0].Detail)
			continue
		}
		got, err := e.Eval(callFrame(t.Context()))
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got, err = value.ResolveAll(got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %#v, want %#v (%v)", expression, got, want, err)
		}
	}
}

// The types of branches and elements are a union of what they may be. They never change a value into another, wherever the conditional stands and whether its condition is known
// when the file is loaded, so nothing has to be refused.
func TestNoConditionalConvertsAValue(t *testing.T) {
	for _, values := range [][2]string{
		{`5`, `"a"`}, {`{ n = 5 }`, `{ n = "5" }`}, {`[1]`, `["1", true]`}, {`true`, `"true"`}, {`{}`, `{ n = 5, s = "a" }`}, {`[{ a = 1 }]`, `[{ a = "1", b = 2 }]`},
		{`{ deep = { n = 5, ok = true, list = [1] } }`, `{ deep = { n = "a" } }`}, {`12345678901234567890`, `"a"`}, {`1.50`, `[1.5]`}, {`null`, `{ n = 5, s = "a" }`},
	} {
		for i, condition := range []string{"input.ok", "!input.ok", "1 == 1", "1 == 2"} {
			i %= 2
			want, _ := compileValue(t, values[i])
			got, diags := compileValue(t, condition+" ? "+values[0]+" : "+values[1])
			if len(diags) > 0 {
				t.Fatalf("%v: %s", values, diags[0].Detail)
			}
			f := callFrame(t.Context())
			w, _ := want.Eval(f)
			if g, err := got.Eval(f); err != nil || !reflect.DeepEqual(g, w) {
				t.Errorf("%s ? %s : %s = %#v, want %#v (%v)", condition, values[0], values[1], g, w, err)
			}
		}
	}
}

func TestFailuresAtCallAreSentences(t *testing.T) {
	for expression, want := range map[string]string{
		`input.any.nope`:                     `input.any has no member "nope"`,
		`coalesce("${input.any.nope}!", "")`: `input.any has no member "nope"`,
		`input.any.deep.list[9]`:             `input.any.deep.list has 1 elements, and there is none at index 9`,
		`input.any.nope.more`:                `input.any has no member "nope"`,
		`input.list[0] + input.list[1]`:      `+ takes numbers, got string`,
		`"${input.list[2]} x"`:               `input.list[2] is null, but a text cannot contain null`,
		`input.list[1] ? 1 : 2`:              `true or false is expected, got string`,
		`[for x in input.list[0] : x]`:       `a loop needs a list or a map, but input.list[0] is number`,
		`{ for x in [1, 1] : "k" => x }`:     ``,
		`{ for x in input.list : "k" => x }`: `two elements have the key "k"; write ` + "`...`" + ` after the value to group them`,
		`input.n / (input.n - 7)`:            `division by zero`,
		`jsondecode(input.s)`:                `jsondecode: invalid JSON at byte 0: a value is expected`,
		`input.list["x"]`:                    ``,
		`input.list[input.s]`:                `an index into input.list must be a whole number, got string`,
	} {
		e, diags := compileValue(t, expression)
		if want == "" {
			if len(diags) == 0 {
				t.Errorf("%s is accepted at load", expression)
			}
			continue
		}
		if len(diags) > 0 {
			t.Errorf("%s: %s: %s", expression, diags[0].Summary, diags[0].Detail)
			continue
		}
		v, err := e.Eval(callFrame(t.Context()))
		if err == nil || err.Error() != want {
			t.Errorf("%s = %#v, %v; want the error %q", expression, v, err, want)
		}
	}
}

// valueBlock is a backend block with one argument of any type. Its output has no default form.
type valueBlock struct{ JSON *hclexpr.Expr }

func (b *valueBlock) Describe(*Connection) (Effects, error) {
	output := schema.ObjectOf(&schema.Member{Name: "body", Type: &schema.Type{Kind: schema.Any}})
	return Effects{Output: output, ReadOnly: true, Idempotent: true}, nil
}

func valueKinds() Kinds {
	kinds := all.Set().Kinds()
	kinds.Backends = append(kinds.Backends, BackendKind{Name: "value", New: func() (Describer, decode.Spec) {
		b := new(valueBlock)
		return b, decode.Spec{decode.Attr(&b.JSON, "json", "A value.").AllowSecret()}
	}})
	return kinds
}
