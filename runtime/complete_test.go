package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// complete returns the values that complete an argument, or the error.
func complete(t testing.TB, h *Host, req *mcp.CompleteRequest) string {
	t.Helper()
	if req.Caller == nil {
		req.Caller = &mcp.Caller{}
	}
	c, err := h.Complete(t.Context(), req)
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.Join(c.Values, " ")
}

const completing = `
tool "t" {
  description = "A tool."
  input "colour" {
    type     = optional(string, "")
    complete = ["Red", "rose", "blue"]
  }
  input "city" {
    type = optional(string, "")
    complete {
      fake { do = "cities" }
    }
  }
  input "lines" {
    type = optional(string, "")
    complete {
      fake { do = "rows" }
      result = "output.value | map(.n)"
    }
  }
  input "broken" {
    type = optional(string, "")
    complete {
      fake { do = "broken" }
    }
  }
  input "plain" { type = optional(string, "") }
  text = "${input.colour}${input.city}${input.lines}${input.broken}${input.plain}"
}
prompt "p" {
  description = "A prompt."
  argument "size" { type = enum("small", "Smaller", "large") }
  argument "sure" { type = bool }
  message "user" { text = "${input.size}${input.sure}" }
}
resource "r" {
  uri_template = "doc://{kind}/{id}"
  input "kind" {
    type     = string
    complete = ["note", "news"]
  }
  text = "${input.kind}${input.id}"
}
`

func TestValuesAreCompleted(t *testing.T) {
	w := newFakeBackend()
	w.do["cities"] = func(_ context.Context, call *adapters.Call) (any, error) {
		in := call.Frame.Input
		if in["city"] == "rows" {
			return document(`[{"z":"Rome","a":1},{"z":null,"a":2},{"z":"Rome","a":3},{"z":5,"a":4}]`), nil
		}
		return []any{fmt.Sprintf("%v", in["city"]), fmt.Sprintf("%v", in["colour"]), fmt.Sprintf("%v", in["plain"])}, nil
	}
	w.do["rows"] = func(context.Context, *adapters.Call) (any, error) {
		return []any{map[string]any{"n": "x"}, map[string]any{"n": "y"}}, nil
	}
	h := newHost(t, completing, w.use)
	for _, c := range []struct {
		claim string
		req   mcp.CompleteRequest
		want  string
	}{
		{"known values are those that begin with what was typed, in whatever case", mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: "colour", Value: "R"}, "Red rose"},
		{"an enumeration completes by itself", mcp.CompleteRequest{Kind: "prompt", Name: "p", Argument: "size", Value: "sma"}, "small Smaller"},
		{"a bool completes by itself", mcp.CompleteRequest{Kind: "prompt", Name: "p", Argument: "sure"}, "true false"},
		{"a variable is completed by the template", mcp.CompleteRequest{Kind: "resource", Name: "doc://{kind}/{id}", Argument: "kind", Value: "no"}, "note"},
		{"a variable is completed by a URI of the family", mcp.CompleteRequest{Kind: "resource", Name: "doc://x/1", Argument: "kind", Value: "ne"}, "news"},
		{"a backend has what was typed and what is filled in already, and nothing else", mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: "city", Value: "Ro", Context: []byte(`{"colour":"red","unknown":"x"}`)}, "Ro red <nil>"},
		{"of rows it is the first column, each value once, without nulls", mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: "city", Value: "rows"}, "Rome 5"},
		{"the author says which texts", mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: "lines"}, "x y"},
		{"an input of which nothing is said has no values", mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: "plain", Value: "x"}, ""},
		{"a backend that fails is an error that says nothing of its cause", mcp.CompleteRequest{Kind: "tool", Name: "t", Argument: "broken"}, "error: the completion failed because of a problem on the server, not because of its arguments; the server's log has the reason (-32603)"},
		{"an argument that there is not", mcp.CompleteRequest{Kind: "prompt", Name: "p", Argument: "x"}, "error: There is no such argument to complete. The arguments are: size, sure (-32602)"},
		{"a prompt that there is not", mcp.CompleteRequest{Kind: "prompt", Name: "x"}, "error: Unknown prompt: x (-32602)"},
		{"a tool that there is not", mcp.CompleteRequest{Kind: "tool", Name: "x"}, "error: Unknown tool: x (-32602)"},
		{"a resource that there is not", mcp.CompleteRequest{Kind: "resource", Name: "x://"}, "error: Resource not found: x:// (-32602)"},
	} {
		if got := complete(t, h, &c.req); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.claim, got, c.want)
		}
	}
}

const shops = `
tool "invoice_read" {
  description = "Read."
  input "x" {
    type     = optional(string, "")
    complete = ["a"]
  }
  text = "${input.x}"
}
tool "invoice_write" {
  description = "Write."
  text        = "w"
}
tool "order_read" {
  description = "Read."
  input "x" {
    type     = optional(string, "")
    complete = ["a"]
  }
  text = "${input.x}"
}
prompt "invoice" {
  description = "A prompt."
  message "user" { text = "i" }
}
prompt "order" {
  description = "A prompt."
  message "user" { text = "o" }
}
resource "invoice" {
  uri  = "doc://invoice"
  text = "i"
}
resource "order" {
  uri_template = "doc://{x}"
  text         = "${input.x}"
}
server {
  name         = "shop"
  title        = "Shop"
  instructions = "All."
}
toolset "billing" {
  title        = "Billing"
  instructions = "Invoices only."
  tools        = ["invoice_*"]
  prompts      = ["invoice"]
  resources    = ["invoice"]
}
`

func listNames(t testing.TB, h *Host, toolset string, of mcp.Listing) (found []string) {
	t.Helper()
	list := string(h.List(t.Context(), &mcp.Caller{Toolset: toolset}, of).AppendResult(nil, mcp.Revision20251125))
	for _, part := range strings.Split(list, `{"name":"`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		found = append(found, name)
	}
	return found
}

func TestAToolsetShowsWhatItNamesAndNothingElse(t *testing.T) {
	h := newHost(t, shops)
	for of, want := range map[mcp.Listing][]string{
		mcp.Tools: {"invoice_read", "invoice_write"}, mcp.Prompts: {"invoice"}, mcp.Resources: {"invoice"}, mcp.Templates: nil,
	} {
		if found := listNames(t, h, "billing", of); !slices.Equal(found, want) {
			t.Errorf("list %d has %q", of, found)
		}
		if found := listNames(t, h, "gone", of); found != nil {
			t.Errorf("list %d of a toolset that there is not has %q", of, found)
		}
	}
	in := func(toolset string) *mcp.Caller { return &mcp.Caller{Toolset: toolset} }
	for _, toolset := range []string{"billing", "gone"} {
		if _, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "order_read", Arguments: []byte("{}"), Caller: in(toolset)}); err == nil || !strings.Contains(err.Error(), "Unknown tool") {
			t.Errorf("%s: calling got %v", toolset, err)
		}
		for got, want := range map[string]string{
			getPrompt(t, h, toolset, "order", "{}"):    "error: Unknown prompt: order (-32602)",
			readResource(t, h, toolset, "doc://order"): `error: Resource not found: doc://order (-32602) {"uri":"doc://order"}`,
			complete(t, h, &mcp.CompleteRequest{Kind: "tool", Name: "order_read", Argument: "x", Caller: in(toolset)}):    "error: Unknown tool: order_read (-32602)",
			complete(t, h, &mcp.CompleteRequest{Kind: "resource", Name: "doc://{x}", Argument: "x", Caller: in(toolset)}): "error: Resource not found: doc://{x} (-32602)",
		} {
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", toolset, got, want)
			}
		}
		if err := h.SubscribeResource(t.Context(), in(toolset), "doc://order"); err == nil || !strings.Contains(err.Error(), "Resource not found") {
			t.Errorf("%s: following got %v", toolset, err)
		}
	}
	if _, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: "invoice_write", Arguments: []byte("{}"), Caller: in("billing")}); err != nil {
		t.Error(err)
	}
	for got, want := range map[string]string{
		getPrompt(t, h, "billing", "invoice", "{}"):                                                                    `{"description":"A prompt.","messages":[{"role":"user","content":{"type":"text","text":"i"}}]}`,
		readResource(t, h, "billing", "doc://invoice"):                                                                 `{"contents":[{"uri":"doc://invoice","mimeType":"text/plain","text":"i"}]}`,
		complete(t, h, &mcp.CompleteRequest{Kind: "tool", Name: "invoice_read", Argument: "x", Caller: in("billing")}): "a",
	} {
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if h.Info("gone") != nil {
		t.Error("a toolset that there is not introduces itself")
	}
	if h.Info("") == nil || h.Info("billing") == nil {
		t.Fatal("there is no introduction")
	}
}
