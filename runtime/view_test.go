package runtime

import (
	"encoding/json"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

const viewed = `server { name = "desk tools" }
tool "rows" {
  description = "Rows."
  allow       = "'desk' in caller.groups"
  meta        = { "example.com/team" = "desk" }
  result      = "[{id: 1}]"
  returns     = list(object({ id = integer }))
  view "table" {}
}
tool "other" {
  description = "Without a view."
  text        = "x"
}
toolset "others" { tools = ["other"] }
`

// appURI returns what the entry of a tool says of its app.
func appURI(t testing.TB, h *Host, tool string) string {
	t.Helper()
	var entry struct {
		Meta struct{ UI struct{ ResourceURI string } } `json:"_meta"`
	}
	e, _ := h.Current().ToolEntry(tool)
	if err := json.Unmarshal(e.Modern, &entry); err != nil {
		t.Fatal(err)
	}
	if string(e.Legacy) == "" || strings.Count(string(e.Legacy), entry.Meta.UI.ResourceURI) == 0 {
		t.Errorf("entry of earlier revisions %s", e.Legacy)
	}
	return entry.Meta.UI.ResourceURI
}

func TestTheAppOfAToolIsReadByThoseWhoSeeTheTool(t *testing.T) {
	h := newHost(t, viewed)
	uri := appURI(t, h, "rows")
	if !strings.HasPrefix(uri, "ui://desk%20tools/rows/") || len(uri) != len("ui://desk%20tools/rows/")+8 {
		t.Errorf("the URI is %s", uri)
	}
	read := func(uri, toolset string, groups ...string) (string, error) {
		c := &mcp.Caller{Revision: mcp.Revision20260728, Toolset: toolset}
		c.SetIdentity(&mcp.Identity{Subject: "ann", Groups: groups})
		d, err := h.ReadResource(t.Context(), &mcp.CallRequest{Name: uri, Caller: c})
		if err != nil {
			return "", err
		}
		return "{" + string(d.Members.AppendJSON(nil)) + "}", nil
	}
	text, err := read(uri, "", "desk")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Contents []struct {
			URI, MimeType, Text string
			Meta                struct {
				UI struct {
					CSP           map[string]any
					PrefersBorder bool
				}
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	app := answer.Contents[0]
	if app.URI != uri || app.MimeType != "text/html;profile=mcp-app" || !strings.HasPrefix(app.Text, "<!doctype html>") || app.Meta.UI.CSP == nil ||
		len(app.Meta.UI.CSP) > 0 || !app.Meta.UI.PrefersBorder {
		t.Errorf("contents %.300s", text)
	}
	for _, c := range []struct {
		uri, toolset string
		groups       []string
	}{
		{uri, "", nil}, {uri, "", []string{"shop"}}, {uri, "others", []string{"desk"}}, {uri, "none", []string{"desk"}},
		{uri[:len(uri)-1] + "x", "", []string{"desk"}}, {"ui://desk%20tools/other/00000000", "", []string{"desk"}}, {"ui://x", "", []string{"desk"}},
		{strings.Replace(uri, "desk%20tools", "desk tools", 1), "", []string{"desk"}},
	} {
		if text, err := read(c.uri, c.toolset, c.groups...); err == nil {
			t.Errorf("%s, %s, %q: %.100s", c.uri, c.toolset, c.groups, text)
		}
	}
	if n := h.Current().Count("", mcp.Resources) + h.Current().Count("", mcp.Templates); n != 0 {
		t.Errorf("%d resources are listed", n)
	}
}

func TestTheURIOfAnAppChangesWithTheView(t *testing.T) {
	h := newHost(t, viewed)
	first := appURI(t, h, "rows")
	load(t, h, viewed+"\n# a comment\n")
	if again := appURI(t, h, "rows"); again != first {
		t.Errorf("%s became %s", first, again)
	}
	load(t, h, strings.Replace(viewed, `view "table" {}`, `view "table" { title = "All rows" }`, 1))
	if again := appURI(t, h, "rows"); again == first {
		t.Error("another view has the same URI")
	}
}

// TestAToolWithAViewAnswersAsBefore compares what clients get of a tool with and without its view.
func TestAToolWithAViewAnswersAsBefore(t *testing.T) {
	plain := strings.NewReplacer(`view "table" {}`, "", "allow       = \"'desk' in caller.groups\"", "").Replace(viewed)
	with := strings.Replace(viewed, "allow       = \"'desk' in caller.groups\"", "", 1)
	for _, r := range []mcp.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		if got, want := callToolAt(t, newHost(t, with), r, "rows", `{}`), callToolAt(t, newHost(t, plain), r, "rows", `{}`); got != want {
			t.Errorf("%s: %s, without the view %s", r, got, want)
		}
	}
}

// TestAHostThatShowsAppsGetsTheRowsOfATable calls a tool whose text is CSV, with and without the extension.
func TestAHostThatShowsAppsGetsTheRowsOfATable(t *testing.T) {
	h := newHost(t, strings.NewReplacer("allow       = \"'desk' in caller.groups\"", `format = "csv"`).Replace(viewed))
	call := func(capabilities string) string {
		out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "rows", Arguments: []byte(`{}`),
			Caller: &mcp.Caller{Revision: mcp.Revision20251125, Capabilities: []byte(capabilities)}})
		if err != nil {
			t.Fatal(err)
		}
		return string(out.AppendResult(nil, mcp.Revision20251125))
	}
	const text = `{"content":[{"type":"text","text":"id\n1\n"}]`
	if got := call(`{}`); got != text+"}" {
		t.Errorf("without the extension: %s", got)
	}
	with := call(`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`)
	if with != text+`,"structuredContent":{"result":[{"id":1}]}}` {
		t.Errorf("with it: %s", with)
	}
}
