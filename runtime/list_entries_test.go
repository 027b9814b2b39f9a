package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hatchel/runtime/edge/mcp"
)

func TestToolsAreListedWithAllThatIsSaidOfThem(t *testing.T) {
	needsOwnNames(t, "executors call no tool with inputs that are repeated in headers")
	h := newHost(t, `
server { page_size = 10 }
tool "plain" {
  title       = "Plain"
  description = "A tool."
  icons       = [{ src = "https://x.example/i.png", mime_type = "image/png", sizes = ["48x48"] }]
  read_only   = true
  input "region" {
    type   = string("Where")
    header = "Region"
  }
  result  = "[input.region]"
  returns = list(string)
}
tool "hidden" {
  description = "For others."
  listed      = false
  text        = "x"
}
`)
	head := `{"name":"plain","title":"Plain","description":"A tool.","icons":[{"src":"https://x.example/i.png","mimeType":"image/png","sizes":["48x48"]}],` +
		`"inputSchema":{"type":"object","properties":{"region":{"type":"string","description":"Where","x-mcp-header":"Region"}},"required":["region"],"additionalProperties":false},"outputSchema":`
	tail := `,"annotations":{"title":"Plain","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`
	output := `{"type":"array","items":{"type":"string"}}`
	legacy := `{"tools":[` + head + `{"type":"object","properties":{"result":` + output + `,"truncated":{"type":"string","description":"Present if a limit has cut the result."}},"required":["result"],"additionalProperties":false}` + tail + `]}`
	modern := `{"resultType":"complete","tools":[` + head + output + tail + `],`
	if got := string(h.Current().List(mcp.Tools).AppendResult(nil, mcp.Revision20251125)); got != legacy {
		t.Errorf("legacy\n got %s\nwant %s", got, legacy)
	}
	if got := listedTools(h); !strings.HasPrefix(got, modern) {
		t.Errorf("modern\n got %s\nwant %s", got, modern)
	}
	if !json.Valid([]byte(listedTools(h))) {
		t.Error("the list is not JSON")
	}
	req := &mcp.CallRequest{Name: "plain", Arguments: []byte(`{"region":"eu"}`), Caller: &mcp.Caller{Revision: mcp.Revision20260728, Header: http.Header{"Mcp-Param-Region": {"us"}}}}
	if _, err := requestTool(t.Context(), h, req); err == nil || !strings.Contains(err.Error(), "Mcp-Param-Region") {
		t.Errorf("a header that says something else got %v", err)
	}
	req.Caller.Header.Set("Mcp-Param-Region", "eu")
	if out, err := requestTool(t.Context(), h, req); err != nil || out.IsError {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestLogHasTheCauseAndNoSecret(t *testing.T) {
	w := newFakeBackend()
	var log bytes.Buffer
	h := newHost(t, neighbours+tool("fault", `fake { do = "fault" }`)+tool("tells", `fake { do = "tells" }`)+tool("broken", `fake { do = "broken" }`), w.use, logTo(&log, slog.LevelInfo))
	out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "fault", Arguments: []byte("{}"), Caller: &mcp.Caller{}})
	if err != nil || out.Meta == nil {
		t.Fatalf("got %v, %v", out, err)
	}
	var meta struct{ CorrelationID string }
	if err := json.Unmarshal(out.Meta.AppendJSON(nil), &meta); err != nil {
		t.Fatal(err)
	}
	line := log.String()
	if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "cause=cause") || !strings.Contains(line, "correlation_id="+meta.CorrelationID) {
		t.Errorf("log %s", line)
	}
	log.Reset()
	callTool(t, h, "broken", "{}")
	if line := log.String(); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, `cause="a host and a query"`) {
		t.Errorf("log %s", line)
	}
}

// TestATypeThatContainsItselfIsCheckedInBothEras reads a list of trees, which revisions up to 2025-11-25 wrap in an
// object: the references of its schema lead to definitions, and the content that is sent satisfies it.
func TestATypeThatContainsItselfIsCheckedInBothEras(t *testing.T) {
	h := newHost(t, `
type "node" {
  is = object({ name = string("Name"), children = optional(list(type.node)) })
}
tool "tree" {
  description = "Read the trees of a forest."
  input "t" { type = type.node }
  returns = list(type.node)
  result  = "[input.t]"
}`)
	entry, _ := h.Current().ToolEntry("tree")
	wrong := []any{map[string]any{"name": "a", "children": []any{map[string]any{"name": 1}}}}
	for _, era := range []struct {
		revision mcp.Revision
		entry    []byte
		wrong    any
	}{{mcp.Revision20251125, entry.Legacy, map[string]any{"result": wrong}}, {mcp.Revision20260728, entry.Modern, wrong}} {
		var listed struct{ OutputSchema any }
		var sent struct{ StructuredContent any }
		answer := callToolAt(t, h, era.revision, "tree", `{"t":{"name":"a","children":[{"name":"b"}]}}`)
		if err := errors.Join(json.Unmarshal(era.entry, &listed), json.Unmarshal([]byte(answer), &sent)); err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("urn:output", listed.OutputSchema); err != nil {
			t.Fatal(err)
		}
		schema, err := c.Compile("urn:output")
		if err != nil {
			t.Fatalf("%s: %v: %s", era.revision, err, era.entry)
		}
		if err := schema.Validate(sent.StructuredContent); err != nil {
			t.Errorf("%s: %s: %v", era.revision, answer, err)
		}
		if schema.Validate(era.wrong) == nil {
			t.Errorf("%s: the schema does not look into trees", era.revision)
		}
	}
}
