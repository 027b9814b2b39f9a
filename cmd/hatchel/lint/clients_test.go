package lint

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of the documentation")

// limitsOf returns the limits that one tool exceeds which has this inputSchema.
func limitsOf(t *testing.T, input, output string) (all []*ClientLimit) {
	t.Helper()
	const src = "tool \"t\" {\n  description = \"Do something for a person.\"\n  text = \"x\"\n}"
	entry := `{"name":"t","inputSchema":` + input
	if output != "" {
		entry += `,"outputSchema":` + output
	}
	r := Check(loaded(t, src), Options{Tools: map[string]Entry{"t": json.RawMessage(entry + "}")}, MaxTokens: 10_000_000})
	for _, f := range r.Findings {
		if f.Rule == "client" {
			i := slices.IndexFunc(ClientLimits, func(l *ClientLimit) bool {
				return strings.HasPrefix(f.Detail, "It has "+strings.ReplaceAll(l.What, "`", ""))
			})
			if i < 0 {
				t.Fatalf("a finding without a limit: %s", f.Detail)
			}
			all = append(all, ClientLimits[i])
		}
	}
	return all
}

// property returns an inputSchema with one input.
func property(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }

func TestWhatClientsRefuseIsReported(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 10) + `{"type":"string"}` + strings.Repeat("}", 10)
	values := func(n, size int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%0*d", size, i)
		}
		text, _ := json.Marshal(list)
		return `{"type":"string","enum":` + string(text) + `}`
	}
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"m%d":{"type":"string"}`, i)
		}
		return `{"type":"object","properties":{` + b.String()[1:] + `}}`
	}
	for _, c := range []struct {
		input string
		want  []*ClientLimit
	}{
		{property(`{"type":"string"}`), nil},
		{property(`{"type":"array","items":{}}`), nil},
		{property(`{"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}],"default":null}`), nil},
		{property(`{"type":"object","properties":{"x_1.a-b":{"type":"integer","minimum":-9007199254740992}},"additionalProperties":false}`), nil},
		{property(`{"type":"object","additionalProperties":{"type":"string"}}`), nil},
		{property(deep[len(`{"type":"array","items":`) : len(deep)-1]), nil},
		{property(values(1000, 4)), nil},
		{property(values(250, 100)), nil},

		{property(`{"type":"array"}`), []*ClientLimit{limitItems}},
		{property(`{"type":"array","items":[{"type":"string"}]}`), []*ClientLimit{limitItems}},
		{property(`{"type":"array","items":{"type":"array"}}`), []*ClientLimit{limitItems}},
		{property(`{"type":["string","null"]}`), []*ClientLimit{limitTypes}},
		{property(`{"oneOf":[{"type":"string"},{"type":"number"}]}`), []*ClientLimit{limitComposition}},
		{property(`{"type":"object","patternProperties":{"^x":{"type":"string"}}}`), []*ClientLimit{limitComposition}},
		{`{"type":"object","properties":{},"anyOf":[{"required":["a"]}]}`, []*ClientLimit{limitTop}},
		{`{"type":"object","properties":{},"allOf":[{"required":["a"]}]}`, []*ClientLimit{limitTop, limitComposition}},
		{property(`{"type":"string","const":"x"}`), []*ClientLimit{limitConst}},
		{property(`{"type":"integer","enum":[1,2]}`), []*ClientLimit{limitEnumType}},
		{property(`{"type":"string","enum":["a",null]}`), []*ClientLimit{limitEnumType}},
		{property(`true`), []*ClientLimit{limitBoolean}},
		{property(`{"type":"array","items":true}`), []*ClientLimit{limitItems, limitBoolean}},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, []*ClientLimit{limitRef}},
		{property(`{"description":"anything"}`), []*ClientLimit{limitAny}},
		{property(`{"type":"string","pattern":"^(?!x).*$"}`), []*ClientLimit{limitPattern}},
		{property(`{"type":"string","pattern":"(?<=x)y"}`), []*ClientLimit{limitPattern}},
		{property(`{"type":"string","pattern":"^(?:x|y)(?i)$"}`), nil},
		{`{"type":"object","properties":{"filter[id]":{"type":"string"}}}`, []*ClientLimit{limitKey}},
		{`{"type":"object","properties":{"` + strings.Repeat("x", 65) + `":{"type":"string"}}}`, []*ClientLimit{limitKey}},
		{property(`{"type":"integer","maximum":9007199254740993}`), []*ClientLimit{limitNumber}},
		{property(`{"type":"integer","default":-9223372036854775808}`), []*ClientLimit{limitNumber}},
		{property(deep), []*ClientLimit{limitDepth}},
		{property(values(1001, 4)), []*ClientLimit{limitValues}},
		{property(values(251, 100)), []*ClientLimit{limitEnumSize}},
		{members(5001), []*ClientLimit{limitProperties}},
		{property(values(239, 500)), nil},
		{property(values(250, 500)), []*ClientLimit{limitStrings}},
	} {
		if got := limitsOf(t, c.input, ""); !slices.Equal(got, c.want) {
			t.Errorf("%.200s: got %v, want %v", c.input, names(got), names(c.want))
		}
	}
	if got := limitsOf(t, property(`{"type":"string"}`), `{"anyOf":[{"type":"array"},{"type":"null"}]}`); !slices.Equal(got, []*ClientLimit{limitItems}) {
		t.Errorf("an outputSchema: got %v", names(got))
	}
}

func names(limits []*ClientLimit) (all []string) {
	for _, l := range limits {
		all = append(all, l.What)
	}
	return all
}

func TestTextsAndNamesThatClientsCutOrRefuseAreReported(t *testing.T) {
	long := strings.Repeat("Word. ", 400)
	for name, c := range map[string]struct{ src, want string }{
		"instructions":           {`server { instructions = "` + long + `" }`, "client 1 \"server\"\n"},
		"instructions of a part": {`toolset "all" {` + "\n  instructions = \"" + long + "\"\n  tools = [\"*\"]\n}\ntool \"t\" {\n  description = \"Do something.\"\n  text = \"x\"\n}", "client 1 \"toolset \\\"all\\\"\"\n"},
		"short instructions":     {`server { instructions = "` + long[:2048] + `" }`, ""},
		"a description":          {"tool \"t\" {\n  description = \"" + long[:1026] + "\"\n  text = \"x\"\n}", "client 1 \"tool \\\"t\\\"\"\n"},
		"a short description":    {"tool \"t\" {\n  description = \"" + long[:1024] + "\"\n  text = \"x\"\n}", ""},
		"a long name":            {"tool \"" + strings.Repeat("x", 51) + "\" {\n  description = \"Do something.\"\n  text = \"x\"\n}", "client 1 \"tool \\\"" + strings.Repeat("x", 51) + "\\\"\"\n"},
	} {
		if got := findings(t, c.src); got != c.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if r := checked(t, manyTools(129), 1_000_000); !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == "client" && strings.Contains(f.Detail, limitTools.Source) }) {
		t.Errorf("129 tools: %v", r.Findings)
	}
	if r := checked(t, manyTools(128), 1_000_000); slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == "client" }) {
		t.Errorf("128 tools: %v", r.Findings)
	}
}

// What the program writes for a type is accepted by all clients, except for what the author has chosen: any, types that
// contain themselves, and enumerations of numbers.
func TestClientsLoadEveryTypeOfTheLanguage(t *testing.T) {
	scalars := []string{`string`, `string("S", { pattern = "^[a-z]+$", format = "uri" })`, `integer({ above = 0 })`, `number`, `bool`, `bytes`,
		`enum("a", "b")`, `enum({ a = "Text of a", b = "" })`, `string("D", { format = "date" })`}
	types := slices.Clone(scalars)
	for _, s := range scalars {
		if s != "bytes" {
			types = append(types, "nullable("+s+")", "list("+s+")", "nullable(list(nullable("+s+")))", "map(nullable("+s+"))", "one_of("+s+", object({ x = integer }))")
		}
	}
	types = append(types, `list(any)`, `set(any)`, `object({ rows = list(any) })`, `list(list(any))`, `nullable(set(string))`, `map(any)`,
		`nullable(object({ a = optional(nullable(list(any)), null) }))`, `nullable(one_of(list(any), string))`, `list(object({ a = map(list(any)) }))`,
		`nullable(map(list(any)))`)
	for _, typ := range types {
		for _, form := range []string{typ, "optional(" + typ + ")"} {
			if strings.Contains(typ, "bytes") {
				continue
			}
			src := "tool \"t\" {\n  description = \"Do something.\"\n  input \"a\" {\n    type = " + form + "\n  }\n  result = \"[input.a]\"\n}"
			for _, f := range checked(t, src, 0).Findings {
				if f.Rule == "client" {
					t.Errorf("%s: %s", form, f.Detail)
				}
			}
		}
	}
}

// The table of the documentation is that of the rule.
func TestTheDocumentationHasTheLimitsOfClients(t *testing.T) {
	const file, begin, end = "../../../docs/clients.md", "| limit | clients |", "\n\nThe rule"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| limit | clients | what they do | what to do | source |\n|---|---|---|---|---|\n")
	for _, l := range ClientLimits {
		fmt.Fprintf(&table, "| %s | %s | %s | %s | [%s](%s) |\n", l.What, l.Clients, l.Does, l.Fix, l.Date, l.Source)
	}
	want := strings.TrimSuffix(table.String(), "\n")
	from := strings.Index(string(text), begin)
	to := from + strings.Index(string(text[max(from, 0):]), end)
	if from < 0 || to < from {
		t.Fatal("the table has no place")
	}
	if got := string(text[from:to]); got != want {
		if *update {
			err := os.WriteFile(file, []byte(string(text[:from])+want+string(text[to:])), 0o644)
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("docs/clients.md differs; run the test with -update. Want:\n%s", want)
	}
}
