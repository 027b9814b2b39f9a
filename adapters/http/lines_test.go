package http_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

func TestLinesOfJSONAreAList(t *testing.T) {
	for _, x := range []struct {
		body, block string
		want        any
		truncated   bool
	}{
		{"{\"a\": 1}\n{\"a\": 2}\n", "", []any{map[string]any{"a": 1}, map[string]any{"a": 2}}, false},
		{"1\r\n\r\n \"x\" \r\nnull", "", []any{1, "x", nil}, false},
		{"\ufeff1\n2", "", []any{1, 2}, false},
		{"\x1e{}\n\x1e[]\n", "", []any{map[string]any{}, []any{}}, false},
		{"\"a\u2028b\"\n", "", []any{"a\u2028b"}, false},
		{"\"\\ud83d\"\n\"\\ude00\"\n", "", []any{"\uFFFD", "\uFFFD"}, false},
		{"", "", []any{}, false},
		{"\n\n", "", []any{}, false},
		{"1\n2\n3\n", "    max_rows = 3", []any{1, 2, 3}, false},
		{"1\n2\n3\n4\n", "    max_rows = 3", []any{1, 2, 3}, true},
		{"1\n2\n3\n4\n", "    max_rows = 3\n    truncate = true", []any{1, 2, 3}, true},
		{"{\"id\": 7.0}\n", "    response = object({ id = integer })", []any{map[string]any{"id": 7}}, false},
	} {
		s := serve(t, respondWith(200, "application/x-ndjson", x.body))
		b := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n    as = \"jsonl\"\n"+x.block))
		call, err := b.Call(t.Context(), `{}`)
		if err != nil {
			t.Fatal(err)
		}
		call.Whole = nil
		out, err := b.Action.Do(t.Context(), call)
		if err != nil {
			t.Errorf("%q: %v", x.body, err)
			continue
		}
		o := out.(map[string]any)
		if got := resolved(t, o["body"]); !reflect.DeepEqual(got, x.want) || o["truncated"] != x.truncated || (call.Cut != nil) != x.truncated {
			t.Errorf("%q: %#v, truncated %v, %v", x.body, got, o["truncated"], call.Cut)
		}
		if accept := s.last().Header.Get("Accept"); !strings.HasPrefix(accept, "application/x-ndjson,") {
			t.Errorf("Accept: %s", accept)
		}
	}
}

func TestALineThatIsNotJSONIsNamed(t *testing.T) {
	for _, x := range []struct{ block, body, want string }{
		{"", "{}\n\n{\"a\": }\n", "line 3 of the service's response is not JSON: {\"a\":}"},
		{"", "{} {}\n", "line 1 of the service's response is not JSON: {}{}"},
		{"", "1\n{\"a\": 1, \"a\": 2}\n", `line 2 of the service's response has more than one meaning: the key "a" appears twice`},
		{"    response = object({ id = integer })", "{\"id\": 1}\n{\"id\": \"x\"}\n", "the service's response does not have the expected type: [1].id"},
	} {
		s := serve(t, respondWith(200, "application/x-ndjson", x.body))
		_, err := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n    as = \"jsonl\"\n"+x.block)).Do(t.Context(), `{}`)
		f := wantFault(t, err)
		wantPart(t, f.Message, x.want)
		if f.Change != adapters.ChangeDone {
			t.Errorf("%+v", f)
		}
	}
}

func TestMoreLinesThanTheCallMayReadFailIfAllAreNeeded(t *testing.T) {
	s := serve(t, respondWith(200, "application/x-ndjson", strings.Repeat("1\n", 5)))
	b := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n    as = \"jsonl\"\n    max_rows = 4"))
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	call.Whole = []string{"body"}
	_, err = b.Action.Do(t.Context(), call)
	wantPart(t, wantFault(t, err).Message, "stopped at its limit, max_rows = 4, and there are more lines")
}

func TestArgumentsOfLinesAreOnlyForLines(t *testing.T) {
	for block, want := range map[string]string{
		`max_rows = 5`:                       `This argument requires as = "jsonl"`,
		`truncate = true`:                    `This argument requires as = "jsonl"`,
		"as = \"bytes\"\n encoding = \"l1\"": "encoding is that of text",
		`encoding = "latin-one"`:             `There is no encoding "latin-one".`,
	} {
		src := source("https://shop.example", "", "", fmt.Sprintf("    get = \"/\"\n    %s", block))
		wantPart(t, adaptertest.MustReject(t, src), want)
	}
}
