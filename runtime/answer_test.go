package runtime

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

// answers are tools with arguments of a call, and what is answered to a client of 2025-11-25.
var answers = []struct{ name, body, arguments, want string }{
	{"csv has no structured content",
		`format = "csv"
		 result = "[{a: 1, b: 'x, y'}]"`, `{}`,
		`{"content":[{"type":"text","text":"a,b\n1,\"x, y\"\n"}]}`},
	{"a caller chooses the format, and JSON has no structured content either",
		`format = ["csv", "json"]
		 result = "[{a: 1}]"`, `{"format":"json"}`,
		`{"content":[{"type":"text","text":"[{\"a\":1}]"}]}`},
	{"structured content beside a table",
		`format     = "markdown"
		 structured = true
		 result     = "[{a: 1}]"`, `{}`,
		`{"content":[{"type":"text","text":"| a |\n| --- |\n| 1 |\n"}],"structuredContent":{"result":[{"a":1}]}}`},
	{"a failure is as without a format",
		`format = "csv"
		 input "n" { type = integer }
		 check "too small" { that = "input.n > 5" }
		 result = "[{a: input.n}]"`, `{"n":1}`,
		`{"content":[{"type":"text","text":"too small"}],"isError":true}`},
	{"members of a choice, in its order",
		`projection {
		   offer   = ["a", "b", "c"]
		   default = ["a"]
		 }
		 result = "[{a: 1, b: 2, c: 3, d: 4}]"`, `{"fields":["c","a","c"]}`,
		`{"content":[{"type":"text","text":"[{\"c\":3,\"a\":1}]"}],"structuredContent":{"result":[{"c":3,"a":1}]}}`},
	{"members that are not offered are refused",
		`projection { offer = ["a"] }
		 result = "[{a: 1, d: 4}]"`, `{"fields":["d"]}`, `"isError":true`},
	{"a list that is cut says so where a client gives its model the structured content alone",
		`max_tokens = 200
		 result     = "1..1000"`, `{}`,
		`],"truncated":"There is more: max_tokens = 200 was reached. This tool has no arguments that would return less."},"_meta":{"truncated":"max_tokens = 200"}}`},
	{"a table is cut after a row, and says so in its last line",
		`format     = "csv"
		 max_tokens = 200
		 result     = "1..1000 | map({{n: #}})"`, `{}`,
		`\n99\n[There is more: max_tokens = 200 was reached. This tool has no arguments that would return less.]\n"}],"_meta":{"truncated":"max_tokens = 200"}}`},
	{"a table keeps to max_text",
		`format   = "csv"
		 max_text = "1KiB"
		 result   = "1..1000 | map({{n: #}})"`, `{}`, `\n[There is more: max_text = 1 KiB was reached.`},
	{"a first row that does not fit is truncated",
		`format     = "csv"
		 max_tokens = 200
		 result     = "[{a: repeat('word ', 1000)}, {a: 'x'}]"`, `{}`, `[Truncated: `},
	{"an object is truncated as text, and whole as structured content",
		`max_tokens = 200
		 result     = "{a: repeat('word ', 600)}"`, `{}`, `[Truncated: `},
	{"an object above four times the maximum fails the call",
		`max_tokens = 200
		 read_only  = true
		 result     = "{a: repeat('word ', 1000)}"`, `{}`,
		`tokens is too large to send: at most 800, four times max_tokens of the tool.`},
	{"a text is truncated",
		`max_tokens = 200
		 text       = "${jsonencode(range(1000))}"`, `{}`, `[Truncated: `},
	{"what another tool returns has the members of the call",
		`step "one" {
		   tool "inner" { fields = ["b"] }
		 }
		 result = "step.one.result"`, `{}`,
		`{"content":[{"type":"text","text":"[{\"b\":2}]"}],"structuredContent":{"result":[{"b":2}]}}`},
}

func TestAnswersHaveTheFormOfTheirTool(t *testing.T) {
	src := tool("inner", `projection { offer = ["a", "b"] }
		result = "[{a: 1, b: 2}]"`)
	for i, c := range answers {
		src += tool(fmt.Sprint("tool", i), c.body)
	}
	h := newHost(t, src)
	for i, c := range answers {
		req := &mcp.CallRequest{
			Name: fmt.Sprint("tool", i), Arguments: []byte(c.arguments),
			Caller: &mcp.Caller{Revision: mcp.Revision20251125},
		}
		out, err := requestTool(t.Context(), h, req)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := string(out.AppendResult(nil, mcp.Revision20251125))
		if got != c.want && (c.want[0] == '{' && strings.HasPrefix(c.want, `{"content"`) || !strings.Contains(got, c.want)) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestAToolAdvertisesTheAnswerThatItGives(t *testing.T) {
	const returns = `
		result  = "[{a: 1, b: 'x'}]"
		returns = list(object({ a = integer, b = string }))`
	h := newHost(t, tool("csv", `format = "csv"`+returns)+
		tool("both", "format = \"csv\"\nstructured = true"+returns)+
		tool("some", `projection { offer = ["b", "a"] }`+returns)+
		tool("large", `max_text = "1MiB"`+returns)+tool("default", "text = \"x\""))
	legacy := string(h.Current().List(mcp.Tools).AppendResult(nil, mcp.Revision20251125))
	rows := `{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":false}}`
	wrapped := func(rows string) string {
		return `"outputSchema":{"type":"object","properties":{"result":` + rows +
			`,"truncated":{"type":"string","description":"Present if a limit has cut the result."}},"required":["result"],"additionalProperties":false}`
	}
	chosen := `{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"additionalProperties":false}}`
	for name, want := range map[string][]string{
		"csv":     {},
		"both":    {wrapped(rows)},
		"some":    {wrapped(chosen), `"fields":{"type":"array"`, `"default":["b","a"]`, `"enum":["b","a"]`},
		"large":   {wrapped(rows), `"_meta":{"anthropic/maxResultSizeChars":500000}`},
		"default": {},
	} {
		_, entry, _ := strings.Cut(legacy, `{"name":"`+name+`"`)
		entry, _, _ = strings.Cut(entry, `{"name":"`)
		for _, part := range want {
			if !strings.Contains(entry, part) {
				t.Errorf("%s: %s has no %s", name, entry, part)
			}
		}
		if len(want) == 0 && (strings.Contains(entry, "outputSchema") || strings.Contains(entry, "_meta")) {
			t.Errorf("%s: %s", name, entry)
		}
	}
}

// A call that answers with a list as JSON allocates as often as it did before there were formats, pages and detectors.
func TestAnAnswerWithoutAFormatAllocatesNothingForIt(t *testing.T) {
	needsOwnNames(t, "the test allocates for the request of an executor")
	h := newHost(t, tool("list", `result = "[{a: 1, b: 'x'}, {a: 2, b: 'y'}]"`))
	const most = 10
	if n := leastAllocs(newRepeatedCall(t, h, &mcp.CallRequest{Name: "list", Caller: ada})); n > most+raceAllocations {
		t.Errorf("a call allocates %v times, want at most %d", n, most)
	}
}
