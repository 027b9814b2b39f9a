package lint

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/hcl"
)

func TestWhatNobodyHasDecidedAboutAServerIsReported(t *testing.T) {
	src := `connection "mcp" "notes" {
  url         = "http://notes.example/mcp"
  definitions = "notes.tools.json"
  auth { bearer = "token" }
}
tool "read_note" {
  description = "Read one whole note by its number."
  input "id" { type = integer("Number of the note") }
  mcp "notes" { call = "read_note" }
}
tool "first_line" {
  description = "The first line of a note, for a list."
  read_only   = true
  input "id" { type = integer("Number of the note") }
  mcp "notes" { call = "read_note" }
}
`
	const schema = `"inputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`
	fsys := fstest.MapFS{"a.hcl": {Data: []byte(src)}, "notes.tools.json": {Data: []byte(definitiontest.Text(t,
		`{"name":"read_note","description":"Read one whole note by its number.",`+schema+
			`,"annotations":{"readOnlyHint":true}}`,
		`{"name":"drop_note","description":"Drop a note.",`+schema+`}`))}}
	config, diags := hcl.Load(fsys, all.Set().Kinds(), hcl.Options{})
	if diags.HasErrors() {
		var out strings.Builder
		diags.Print(&out, config.Sources)
		t.Fatal(out.String())
	}
	var got strings.Builder
	for _, f := range Check(config, Options{Tools: entriesOf(config)}).Findings {
		fmt.Fprintf(&got, "%s %d %s: %s\n", f.Rule, f.Subject.Start.Line, f.Summary, f.Detail)
	}
	const want = `upstream 1 Unused pin: The file of definitions has tools that no block calls: drop_note. Import them, or ` +
		`remove them with hatchel import mcp notes --update.
upstream 1 Readable credentials: The credentials of each call are sent to notes.example over http, which does ` +
		`not encrypt them. Use https.
upstream 6 Description of the server: The description is that of read_note at notes. Say in your words what the tool ` +
		`does here, and when to use it.
upstream 6 Unconfirmed hint: notes says that read_note changes nothing, and the tool does not. If that is true, write ` +
		`read_only = true, so that clients and policies know it.
`
	if got.String() != want {
		t.Errorf("found\n%s\nnot\n%s", &got, want)
	}
}
