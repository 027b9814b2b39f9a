package console_test

import (
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

const searchedShop = `
tool "refund_order" {
  description = "Pay the money for an order back."
  text        = "paid back"
}
tool "list_orders" {
  description = "List orders."
  text        = "none"
}
tool "refund_everybody" {
  description = "Refund all orders."
  allow       = "'chiefs' in caller.groups"
  text        = "paid back"
}
toolset "plain" { tools = ["*"] }
toolset "all" {
  tools = ["*"]
  search { areas = "Orders." }
}
`

func TestTheToolsPageShowsWhatASearchFinds(t *testing.T) {
	s := newSite(t, keysOf("vera:admin", "carl:admin:chiefs")+"console {}\n"+searchedShop)
	vera := s.signedIn("vera")
	if got := vera.get("/console/tools"); strings.Contains(got.text(), "Score") || !strings.Contains(got.text(), "Search of the toolset") {
		t.Errorf("without a search: %s", got.text())
	}
	got := vera.get("/console/tools?search=all&q=refund+an+order")
	rows := textOf(got.find("tools"))
	if at := strings.Index(rows, "list_orders"); strings.Index(rows, "refund_order") > at || at < 0 ||
		strings.Contains(rows, "refund_everybody") || textOf(got.find("searched")) == "" || !strings.Contains(rows, "Score") {
		t.Errorf("found for vera: %s", got.text())
	}
	if rows := textOf(vera.get("/console/tools?search=plain&q=refund").find("tools")); strings.Contains(rows, "Score") {
		t.Errorf("a toolset without a search block: %s", rows)
	}
	if got := textOf(vera.get("/console/tools?search=all&q=%3F").find("problem")); got != "query has no word: write in a few words what the tool has to do." {
		t.Errorf("a query without words: %q", got)
	}
	none := newSite(t, "console {}\n"+strings.Replace(searchedShop, `search { areas = "Orders." }`, "", 1)).withTicket()
	if got := none.get("/console/tools"); strings.Contains(got.text(), "Search of the toolset") {
		t.Errorf("no toolset has a search block: %s", got.text())
	}
}

func TestACallThroughASearchIsShown(t *testing.T) {
	s := newSite(t, keysOf("vera:admin", "bob:callers")+"console {}\nevents { results = \"redacted\" }\n"+audited+searchedShop)
	bob := s.callerOf("bob")
	bob.Toolset = "all"
	for tool, arguments := range map[string]string{"read_tool": `{"name":"list_orders"}`, "find_tools": `{"query":"orders"}`} {
		if _, err := s.host.CallTool(t.Context(), &mcp.CallRequest{Name: tool, Arguments: []byte(arguments), Caller: bob}); err != nil {
			t.Fatal(err)
		}
	}
	vera := s.signedIn("vera")
	for tool, c := range map[string]struct{ called, link string }{
		"list_orders": {"tool list_orders through read_tool", "/console/tools/list_orders"}, "find_tools": {"search find_tools", ""},
	} {
		page := vera.get("/console/calls?tool=" + tool)
		if strings.Contains(page.body, `href="/console/tools/`+tool+`"`) != (c.link != "") {
			t.Errorf("%s in the list of calls: %s", tool, page.body)
		}
		one := vera.get(linkIn(page.find("calls")))
		if got := textOf(one.find("called")); got != c.called || strings.Contains(one.body, `href="/console/tools/`+tool+`"`) != (c.link != "") {
			t.Errorf("the page of the call of %s: %q", tool, got)
		}
	}
}
