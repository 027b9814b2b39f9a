package hcl_test

import (
	"reflect"
	"testing"
	"testing/fstest"

	. "hatchel/hcl"
)

func TestAResourceHoldsWhatItsBackendGives(t *testing.T) {
	config := offered(t, `connection "sqlite" "db" { file = "a.db" }
resource "a_rows" {
  uri = "r://rows"
  sql "db" { query = "SELECT 1" }
}
resource "b_file" {
  uri_template = "r://{+name}"
  file {
    directory = "."
    read = input.name
  }
}
resource "c_text" {
  uri  = "r://text"
  text = "x"
}`)
	f := callFrame(t.Context())
	for i, c := range []struct {
		output any
		uri    string
		want   any
		media  string
	}{
		{map[string]any{"rows": []any{1}}, "r://rows", []any{1}, "application/json"},
		{map[string]any{"content": "# x"}, "r://a.md", "# x", "text/markdown"},
		{map[string]any{"content": "# x"}, "r://a", "# x", "text/plain"},
	} {
		r := config.Resources[min(i, 1)]
		f.Output = c.output
		got, err := r.Body.Eval(f)
		if err != nil || !reflect.DeepEqual(got, c.want) || r.MediaType(c.uri, got) != c.media {
			t.Errorf("%s: got %v as %s, %v", c.uri, got, r.MediaType(c.uri, got), err)
		}
	}
	if config.Resources[2].Body != nil {
		t.Error("a resource with a text has a body")
	}
}

func TestABackendWithoutADefaultFormNeedsTextOrData(t *testing.T) {
	src := "resource \"r\" {\n  uri = \"r://x\"\n  value { json = 1 }\n}\n"
	_, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, valueKinds(), Options{})
	if len(diags) != 1 || diags[0].Summary != "No result" {
		t.Errorf("got %v", diags)
	}
}
