package runtime

import (
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
)

// callWithMeta returns the result of a call with its metadata.
func callWithMeta(t testing.TB, h *Host, tool, arguments string) string {
	t.Helper()
	out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: tool, Arguments: []byte(arguments),
		Caller: &mcp.Caller{Revision: mcp.Revision20251125}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.AppendResult(nil, mcp.Revision20251125))
}

func TestTheMetadataOfAResultIsSentBesideIt(t *testing.T) {
	const asked = `"example.com/asked" = input.n, "example.com/value" = output.value`
	for _, c := range []struct{ claim, tool, arguments, want string }{
		{"without secrets", `fake { do = "leaks" }
			input "n" { type = integer }
			text = "done"
			result_meta = { ` + asked + ` }`, `{"n": 3}`,
			`"_meta":{"example.com/asked":3,"example.com/value":{"key (secret)":1,"list":["x(secret)y",12]}}}`},
		{"from steps", `step "a" {
			  fake { value = 1 }
			}
			text = "done"
			result_meta = { "example.com/a" = step.a.value }`, `{}`, `"_meta":{"example.com/a":1}}`},
		{"not with a failure", `fake { do = "tells" }
			result_meta = { "example.com/value" = 1 }`, `{}`, `"isError":true}`},
		{"not when it is too large", `input "n" { type = string }
			text = "done"
			result_meta = { "example.com/n" = [input.n, input.n] }`, `{"n": "` + strings.Repeat("x", 4100) + `"}`,
			`"text":"the metadata of the result takes 8225 bytes; result_meta of this tool may have 8 KiB"}],"isError":true}`},
	} {
		h := newHost(t, neighbours+tool("t", c.tool))
		if got := callWithMeta(t, h, "t", c.arguments); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.claim, got, c.want)
		}
	}
}

func TestTheMetadataOfAResultIsRepeatedWithIt(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", caching+`
		fake { do = "count" }
		text        = "x"
		result_meta = { "example.com/n" = output.value }
	`), w.use)
	first := callWithMeta(t, h, "t", `{}`)
	again := callWithMeta(t, h, "t", `{}`)
	if n := count(); n != 1 || again != first || !strings.HasSuffix(first, `"_meta":{"example.com/n":1}}`) {
		t.Errorf("%d calls, first %s, then %s", n, first, again)
	}
}

func TestMetadataIsListed(t *testing.T) {
	h := newHost(t, `tool "t" {
  description = "A tool."
  meta        = { "example.com/team" = "desk", "anthropic/searchHint" = "x" }
  text        = "x"
}
prompt "p" {
  description = "A prompt."
  meta        = { "example.com/team" = "desk" }
  message "user" { text = "x" }
}
resource "r" {
  uri  = "desk://r"
  meta = { "example.com/team" = "desk" }
  text = "x"
}
resource "f" {
  uri_template = "desk://f/{id}"
  meta         = { "example.com/team" = "desk" }
  text         = "${input.id}"
}`)
	config := h.Current().Config
	entry, _ := h.Current().ToolEntry("t")
	const ending = `,"_meta":{"anthropic/searchHint":"x","example.com/team":"desk"}}`
	if !strings.HasSuffix(string(entry.Modern), ending) || !strings.HasSuffix(string(entry.Legacy), ending) {
		t.Errorf("tool %s", entry.Modern)
	}
	entries := [][]byte{served.PromptEntry(config.Prompts[0])}
	for _, r := range config.Resources {
		entries = append(entries, served.ResourceEntry(r))
	}
	for _, e := range entries {
		if !strings.HasSuffix(string(e), `,"_meta":{"example.com/team":"desk"}}`) {
			t.Errorf("entry %s", e)
		}
	}
}
