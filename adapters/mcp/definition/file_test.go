package definition

import (
	"strings"
	"testing"
)

func parse(t testing.TB, text string) Definition {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const createIssue = `{"name": "create_issue", "title": "Create", "description": "Opens an issue.\nIn a \"repo\" — 🎉",
	"inputSchema": {"type": "object", "required": ["title"], "properties": {"title": {"type": "string", "maxLength": 1E2}}},
	"outputSchema": {"type": "object", "properties": {"number": {"type": "integer", "minimum": 9007199254740993}}},
	"annotations": {"destructiveHint": false, "readOnlyHint": null, "title": "Create"}, "icons": [], "_meta": {"a": 1},
	"execution": {"taskSupport": "optional"}}`

func sample(t testing.TB) File {
	t.Helper()
	f, err := New([]Definition{
		parse(t, createIssue),
		parse(t, `{"name": "add", "title": "", "outputSchema": null, "annotations": {}, "inputSchema": {"type": "object"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFileIsReadAsWritten(t *testing.T) {
	f := sample(t)
	text := f.Append(nil)
	again, err := Read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := again.Append(nil); string(got) != string(text) {
		t.Errorf("written again:\n%s\nnot\n%s", got, text)
	}
	for _, d := range f.Tools() {
		if o, ok := again.Lookup(d.Name); !ok || !o.Equal(d) {
			t.Errorf("%s is read as %+v, not %+v", d.Name, o, d)
		}
	}
	want := `{
  "form": 1,
  "tools": [
    {
      "name": "add",
      "inputSchema": {"type":"object"},
      "digest": "`
	if !strings.HasPrefix(string(text), want) {
		t.Errorf("the text is\n%s", text)
	}
}
