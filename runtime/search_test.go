package runtime

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hatchel/internal/tokens"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/trace/tracetest"
)

const searched = `
tool "get_order" {
  description = "Get an order by its number."
  meta        = { "anthropic/searchHint" = "parcel", "example.com/team" = "shipping" }
  input "id" { type = integer }
  text = "order ${input.id}"
}
tool "close_ticket" {
  description = "Close a ticket."
  allow       = "'guest' not in caller.groups"
  destructive = true
  input "id" { type = integer }
  fake { value = "closed" }
}
tool "secret_order" {
  description = "Get a secret order."
  allow       = "'ops' in caller.groups"
  text        = "secret"
}
tool "secret_close" {
  description = "Close a secret order."
  allow       = "'ops' in caller.groups"
  fake { value = "closed" }
}
tool "by_region" {
  description = "Orders of a region."
  input "region" {
    type   = string
    header = "Region"
  }
  text = "orders of ${input.region}"
}
tool "nested" {
  description = "Called by steps."
  listed      = false
  text        = "nested"
}
tool "elsewhere" {
  description = "An order of another toolset."
  text        = "elsewhere"
}
toolset "all" {
  tools = ["get_order", "close_ticket", "secret_order", "secret_close", "by_region", "nested"]
  search {
    areas  = "Orders and tickets"
    pinned = ["by_region"]
  }
}
`

// inAll returns a caller of the toolset with the search block.
func inAll(groups ...string) *mcp.Caller {
	c := callerOf("ada", groups...)
	c.Toolset = "all"
	return c
}

// callIn calls a tool as a caller and returns the result as a client reads it.
func callIn(t testing.TB, h *Host, c *mcp.Caller, tool, arguments string) string {
	t.Helper()
	return callWithin(t.Context(), h, &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: c})
}

// searchText returns the text of a result that a client reads, and whether it is an error.
func searchText(t testing.TB, result string) (text string, isError bool) {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal([]byte(result), &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("%v: %s", err, result)
	}
	return r.Content[0].Text, r.IsError
}

func TestASearchedToolsetListsPinnedToolsAndThree(t *testing.T) {
	h := newHost(t, searched)
	for _, c := range []struct {
		groups []string
		want   string
	}{
		{nil, "by_region call_tool find_tools read_tool"},
		{[]string{"guest"}, "by_region find_tools read_tool"}, // who sees no tool that changes something
	} {
		list := h.List(t.Context(), inAll(c.groups...), mcp.Tools)
		if got := strings.Join(list.Names(), " "); got != c.want {
			t.Errorf("%v: got %s", c.groups, got)
		}
		for _, r := range []mcp.Revision{mcp.Revision20250326, mcp.Revision20260728} {
			text := string(list.AppendResult(nil, r))
			if n := strings.Count(text, `"_meta":{"anthropic/alwaysLoad":true}`); n != len(list.Names()) {
				t.Errorf("%d of %d entries are always loaded: %s", n, len(list.Names()), text)
			}
			if strings.Contains(text, "get_order") || !strings.Contains(text, "Areas: Orders and tickets.") {
				t.Errorf("list %s", text)
			}
		}
	}
	want := map[string]string{
		"find_tools": `"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`,
		"read_tool":  `"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false`,
		"call_tool":  `"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false`,
	}
	for _, entry := range strings.Split(string(h.List(t.Context(), inAll(), mcp.Tools).AppendResult(nil, mcp.Revision20260728)), `{"name":"`) {
		name, _, _ := strings.Cut(entry, `"`)
		if !strings.Contains(entry, want[name]) {
			t.Errorf("%s has other annotations: %s", name, entry)
		}
	}
	if n := h.Current().Count("all", mcp.Tools); n != 4 {
		t.Errorf("the toolset counts %d tools", n)
	}
	if names := strings.Join(h.List(t.Context(), callerOf("ada"), mcp.Tools).Names(), " "); strings.Contains(names, "find_tools") {
		t.Errorf("the server has the tools of a search: %s", names)
	}
	readOnly := newHost(t, strings.NewReplacer(`"close_ticket", `, "", `"secret_close", `, "").Replace(searched))
	if names := strings.Join(readOnly.List(t.Context(), inAll(), mcp.Tools).Names(), " "); names != "by_region find_tools read_tool" {
		t.Errorf("a toolset of tools that only read lists %s", names)
	}
	if got := callIn(t, readOnly, inAll(), "call_tool", `{"name":"get_order"}`); got != "error: Unknown tool: call_tool (-32602)" {
		t.Errorf("call_tool where nothing is changed: %s", got)
	}
}

func TestAnExecutorMakesTheCallOfATool(t *testing.T) {
	h := newHost(t, searched)
	const notThere = `There is no tool %q. Call find_tools first.`
	for _, c := range []struct{ tool, arguments, want string }{
		{"read_tool", `{"name":"get_order","arguments":{"id":7}}`, "order 7"},
		{"read_tool", `{"arguments":{"id":7},"name":"get_order"}`, "order 7"},
		{"call_tool", `{"name":"get_order","arguments":{"id":7}}`, "order 7"},
		{"call_tool", `{"name":"close_ticket","arguments":{"id":7}}`, "closed"},
		{"get_order", `{"id":7}`, "order 7"}, // by its own name, though it is not listed
		{"read_tool", `{"name":"get_order"}`, "The arguments are not valid, and nothing was done:\n- id: is required"},
		{"read_tool", `{"name":"get_order","arguments":null}`, "The arguments are not valid, and nothing was done:\n- id: is required"},
		{"read_tool", `{"name":"get_order","arguments":{"id":7,"name":"x"}}`, "The arguments are not valid, and nothing was done:\n- unknown argument \"name\"; leave it out."},
		// Effects.
		{"read_tool", `{"name":"close_ticket","arguments":{"id":7}}`, "read_tool calls tools that only read; close_ticket changes something. Use call_tool."},
		// What does not exist, or not for the caller.
		{"read_tool", `{"name":"secret_order"}`, fmt.Sprintf(notThere, "secret_order")},
		{"read_tool", `{"name":"secret_close"}`, fmt.Sprintf(notThere, "secret_close")},
		{"call_tool", `{"name":"secret_close"}`, fmt.Sprintf(notThere, "secret_close")},
		{"read_tool", `{"name":"no_order"}`, fmt.Sprintf(notThere, "no_order")},
		{"read_tool", `{"name":"elsewhere"}`, fmt.Sprintf(notThere, "elsewhere")},
		{"read_tool", `{"name":"nested"}`, fmt.Sprintf(notThere, "nested")},
		{"read_tool", `{"name":""}`, fmt.Sprintf(notThere, "")},
		{"read_tool", `{"name":"GET_ORDER"}`, fmt.Sprintf(notThere, "GET_ORDER")},
		// Headers.
		{"read_tool", `{"name":"by_region","arguments":{"region":"x"}}`, "by_region has arguments that are repeated in headers, so it must be called by its own name."},
		// Nested wrapping.
		{"read_tool", `{"name":"read_tool","arguments":{"name":"get_order","arguments":{"id":7}}}`, fmt.Sprintf(notThere, "read_tool")},
		{"call_tool", `{"name":"call_tool","arguments":{"name":"get_order","arguments":{"id":7}}}`, fmt.Sprintf(notThere, "call_tool")},
		{"read_tool", `{"name":"find_tools","arguments":{"query":"x"}}`, fmt.Sprintf(notThere, "find_tools")},
		// Smuggling.
		{"read_tool", `{"name":"get_order","arguments":"{\"id\":7}"}`, "The arguments are not valid, and nothing was done:\n- arguments: must be an object"},
		{"read_tool", `{"name":"get_order","arguments":[{"id":7}]}`, "The arguments are not valid, and nothing was done:\n- arguments: must be an object"},
		{"read_tool", `{"name":"get_order","arguments":{"id":7},"_meta":{}}`, "The arguments are not valid, and nothing was done:\n- unknown argument \"_meta\""},
		{"read_tool", `{"name":["get_order"],"arguments":{"id":7}}`, "The arguments are not valid, and nothing was done:\n- name: must be a string"},
		{"read_tool", `{"arguments":{"name":"get_order"}}`, "The arguments are not valid, and nothing was done:\n- name: is required"},
	} {
		text, isError := searchText(t, callIn(t, h, inAll("x"), c.tool, c.arguments))
		if !strings.HasPrefix(text, c.want) || isError == (c.want == "order 7" || c.want == "closed") {
			t.Errorf("%s %s: got %v %s", c.tool, c.arguments, isError, text)
		}
	}
	if text, _ := searchText(t, callIn(t, h, inAll("ops"), "read_tool", `{"name":"secret_order"}`)); text != "secret" {
		t.Errorf("who may call the tool got %s", text)
	}
	// Elsewhere there are no executors.
	for _, name := range []string{"read_tool", "call_tool", "find_tools"} {
		got := callIn(t, h, callerOf("ada"), name, `{"name":"get_order","arguments":{"id":7}}`)
		if got != fmt.Sprintf("error: Unknown tool: %s (-32602)", name) {
			t.Errorf("%s of the server: %s", name, got)
		}
	}
}

func TestASearchFindsWhatItsCallerSees(t *testing.T) {
	h := newHost(t, searched)
	find := func(c *mcp.Caller, arguments string) string {
		text, _ := searchText(t, callIn(t, h, c, "find_tools", arguments))
		return text
	}
	names := func(text string) (names []string) {
		for line := range strings.Lines(text) {
			var one struct{ Name string }
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			names = append(names, one.Name)
		}
		return names
	}
	want := `{"name":"close_ticket","description":"Close a ticket.","inputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}}`
	if got := find(inAll("x"), `{"query":"close a ticket","limit":1}`); got != want {
		t.Errorf("got %s", got)
	}
	// Nothing of a hidden tool changes what others see: the same with the hidden tools and without them.
	without := newHost(t, strings.NewReplacer(`"secret_order", `, "", `"secret_close", `, "").Replace(searched))
	for _, query := range []string{"order", "secret", "secret order", "close", "get", "secret_order", "number of an order"} {
		arguments := fmt.Sprintf(`{"query":%q,"limit":10}`, query)
		hidden := callIn(t, h, inAll("x"), "find_tools", arguments)
		if gone := callIn(t, without, inAll("x"), "find_tools", arguments); hidden != gone || strings.Contains(hidden, "secret_") {
			t.Errorf("%q: hidden %s\n gone %s", query, hidden, gone)
		}
	}
	if got := names(find(inAll("ops"), `{"query":"secret order"}`)); len(got) == 0 || got[0] != "secret_order" {
		t.Errorf("who sees the tool finds %s", got)
	}
	if got := names(find(inAll("x"), `{"query":"parcel"}`)); !slices.Equal(got, []string{"get_order"}) {
		t.Errorf("the words of a search hint find %s", got)
	}
	for _, query := range []string{"nested", "elsewhere", "region", "find_tools", "zebra", "shipping"} {
		if got := find(inAll("x"), fmt.Sprintf(`{"query":%q}`, query)); got != "No tool matches. Areas: Orders and tickets. Try other words, or one word." {
			t.Errorf("%q finds %s", query, got)
		}
	}
	for arguments, want := range map[string]string{
		`{"query":""}`: "query: must have at least 1 character", `{"query":"?!"}`: "query has no word",
		`{"query":"` + strings.Repeat("ä", 129) + `"}`: "query has 258 bytes",
		`{"query":"` + strings.Repeat("a ", 17) + `"}`: "query has 17 words",
		`{"query":"x","limit":11}`:                     "limit: must be at most 10", `{"query":"x","limit":0}`: "limit: must be at least 1",
		`{"query":"x","toolset":"other"}`: `unknown argument "toolset"`,
	} {
		if got := find(inAll("x"), arguments); !strings.Contains(got, want) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

// TestTheAnswerOfASearchIsBounded finds ten tools with long schemas: those that do not fit have no schema.
func TestTheAnswerOfASearchIsBounded(t *testing.T) {
	var src strings.Builder
	for i := range 12 {
		fmt.Fprintf(&src, "tool \"order_%02d\" {\n  description = \"Order %d.\"\n", i, i)
		for j := range 40 {
			fmt.Fprintf(&src, "  input \"filter_%d\" { type = optional(string(\"The orders of branch %d, in any spelling that customers use\")) }\n", j, j)
		}
		src.WriteString("  text = \"x\"\n}\n")
	}
	h := newHost(t, src.String()+"toolset \"all\" {\n  tools = [\"*\"]\n  search { areas = \"Orders.\" }\n}\n")
	text, _ := searchText(t, callIn(t, h, inAll(), "find_tools", `{"query":"order","limit":10}`))
	lines := strings.Split(text, "\n")
	full := strings.Count(text, `"inputSchema"`)
	if n := tokens.Estimate(text); len(lines) != 10 || full == 0 || full == 10 || n > 4000 {
		t.Errorf("%d tools, %d with a schema, %d tokens", len(lines), full, n)
	}
	if want := `{"name":"order_09","description":"Order 9."}`; lines[9] != want {
		t.Errorf("the last is %s", lines[9])
	}
	if text, _ := searchText(t, callIn(t, h, inAll(), "find_tools", `{"query":"order_09","limit":1}`)); !strings.Contains(text, `"inputSchema"`) {
		t.Errorf("asked for by its name: %s", text)
	}
}

func TestASearchIsRecordedAndCounted(t *testing.T) {
	h, path := newAuditedHost(t, "server {\n  limit { rate = \"4/h\" }\n}\n"+searched)
	find := func() string { return callIn(t, h, inAll("x"), "find_tools", `{"query":"order"}`) }
	find()
	callIn(t, h, inAll("x"), "read_tool", `{"name":"get_order","arguments":{"id":7}}`)
	callIn(t, h, inAll("x"), "call_tool", `{"name":"close_ticket","arguments":{"id":7}}`)
	callIn(t, h, inAll("x"), "read_tool", `{"name":"no_order","arguments":{"password":"hunter2"}}`)
	callIn(t, h, inAll("x"), "read_tool", `{"name":"close_ticket","arguments":{"password":"hunter2"}}`)
	find()
	if got := find(); !strings.Contains(got, "Too many calls of the tools of this server by one caller: at most 4 a hour.") &&
		!strings.Contains(got, "Too many calls of the tools of this server") {
		t.Errorf("a search beyond the limit: %s", got)
	}
	var got []string
	for _, r := range readRecords(t, path) {
		got = append(got, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s %s", r.Event, r.Kind, r.Name, r.Via, r.Outcome, r.Arguments, r.Found)), " "))
	}
	want := `call search find_tools ok {"limit":5,"query":"order"} [get_order]
call tool get_order read_tool ok {"id":7} []
intent tool close_ticket call_tool {"id":7} []
call tool close_ticket call_tool ok []
call tool read_tool refused {"arguments":"(secret)","name":"no_order"} []
call tool read_tool refused {"arguments":"(secret)","name":"close_ticket"} []
call search find_tools ok {"limit":5,"query":"order"} [get_order]
call search find_tools refused {"limit":5,"query":"order"} []`
	if joined := strings.Join(got, "\n"); joined != want {
		t.Errorf("got\n%s", joined)
	}
}

// TestASearchHasOneOrder loads a configuration again and again, with maps whose order differs each time.
func TestASearchHasOneOrder(t *testing.T) {
	var src strings.Builder
	for i := range 30 {
		fmt.Fprintf(&src, "tool \"order_%02d\" {\n  description = \"Read an order.\"\n  text = \"x\"\n}\n", i)
	}
	src.WriteString("toolset \"all\" {\n  tools = [\"*\"]\n  search { areas = \"Orders.\" }\n}\n")
	first := ""
	for range 10 {
		h := newHost(t, src.String())
		got := callIn(t, h, inAll(), "find_tools", `{"query":"an order","limit":10}`)
		if first == "" {
			first = got
		}
		if got != first || !strings.Contains(got, "order_00") {
			t.Fatalf("got %s\nat first %s", got, first)
		}
		h.Close()
	}
}

// TestAThousandToolsTakeLittleOfAList bounds the list of a searched toolset at 1 % of the 166,604 tokens that 1,000
// tools of six inputs take.
func TestAThousandToolsTakeLittleOfAList(t *testing.T) {
	var src strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&src, "tool \"order_%03d\" {\n  description = \"Order %d.\"\n  input \"id\" { type = integer }\n  text = \"x\"\n}\n", i, i)
	}
	src.WriteString("toolset \"all\" {\n  tools = [\"*\"]\n  search {\n    areas  = \"" + strings.Repeat("Orders. ", 49) +
		"\"\n    pinned = [\"order_000\", \"order_999\"]\n  }\n}\n")
	h := newHost(t, src.String())
	list := h.List(t.Context(), inAll(), mcp.Tools)
	if n := tokens.Estimate(string(list.AppendResult(nil, mcp.Revision20260728))); n > 1666 || list.Len() != 4 {
		t.Errorf("the list of %d tools takes %d tokens", list.Len(), n)
	}
}

func TestTheSpanOfACallNamesTheToolThatWasAsked(t *testing.T) {
	collector := tracetest.New(t, nil)
	h := newHost(t, otlp(collector.URL, "traces = 1")+searched)
	callIn(t, h, inAll("x"), "read_tool", `{"name":"get_order","arguments":{"id":7}}`)
	callIn(t, h, inAll("x"), "get_order", `{"id":7}`)
	h.Close()
	var got []string
	for _, s := range collector.Spans() {
		if s.Parent == "" {
			got = append(got, s.Name+" "+s.Attributes["hatchel.via"])
		}
	}
	slices.Sort(got)
	if strings.Join(got, ", ") != "tools/call get_order , tools/call get_order read_tool" {
		t.Errorf("spans %q", got)
	}
}
