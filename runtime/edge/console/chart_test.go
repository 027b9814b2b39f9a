package console_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hatchel/hcl"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
	"hatchel/runtime/edge/mcp"
)

const brokenTool = `
tool "broken" {
  description = "Always fails."
  shell { command = ["false"] }
}
tool "quiet" {
  description = "Is never called."
  text        = "nothing"
}
`

// call calls a tool as somebody without a name.
func (s *site) call(tool, arguments string) {
	s.t.Helper()
	if _, err := s.host.CallTool(s.t.Context(), &mcp.CallRequest{
		Name: tool, Arguments: []byte(arguments), Caller: new(mcp.Caller),
	}); err != nil {
		s.t.Logf("%s: %v", tool, err)
	}
}

// titleOf returns the title of an SVG.
func titleOf(svg *html.Node) string {
	if svg == nil || svg.FirstChild == nil {
		return ""
	}
	return textOf(svg.FirstChild)
}

// cells returns the text of the cells of a table, without its headings.
func cells(table *html.Node) (texts []string) {
	for n := range table.Descendants() {
		if n.Data == "td" {
			texts = append(texts, strings.TrimSpace(textOf(n)))
		}
	}
	return texts
}

func TestChartsShowTheCallsOfATool(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool+brokenTool)
	for range 3 {
		s.call("refund", `{"order": 7}`)
	}
	s.call("refund", `{"order": 0}`)
	s.call("broken", `{}`)
	v := s.withTicket()
	page := v.get("/console/tools/refund")
	for _, id := range []string{"hour", "day"} {
		if title := titleOf(page.find(id + "-outcomes")); !strings.Contains(title, "3 ok, 0 failed, 1 refused, at most 4 calls a") {
			t.Errorf("the title of the chart of outcomes: %q", title)
		}
		if title := titleOf(page.find(id + "-latency")); !strings.Contains(title, "the slowest p99 ") {
			t.Errorf("the title of the chart of latency: %q", title)
		}
		if row := cells(page.find(id + "-table")); len(row) != 6 || strings.Join(row[:3], " ") != "3 0 1" {
			t.Errorf("the table of the %s: %q", id, row)
		}
	}
	if page := v.get("/console/tools/quiet"); page.find("charts") != nil {
		t.Error("a tool that was not called has charts")
	}
	overview := v.get("/console/")
	if text := textOf(overview.find("failing")); !strings.Contains(text, "broken") || strings.Contains(text, "refund") {
		t.Errorf("the tools with failed calls: %q", text)
	}
	if text := textOf(overview.find("slowest")); !strings.Contains(text, "broken") || !strings.Contains(text, "refund") ||
		strings.Contains(text, "quiet") {
		t.Errorf("the slowest tools: %q", text)
	}
	for n := range page.page.Descendants() {
		if attr(n, "style") != "" {
			t.Errorf("<%s> has a style, which the policy of the page refuses", n.Data)
		}
	}
	s.load(oneTool)
	if history, _ := s.host.Telemetry().History(t.Context()); history != nil {
		t.Error("calls are kept for charts without a console")
	}
	s.load("console {}\n" + oneTool)
	s.call("refund", `{"order": 7}`)
	if title := titleOf(s.withTicket().get("/console/tools/refund").find("hour-outcomes")); !strings.Contains(title, "1 ok") {
		t.Errorf("after the console came back: %q", title)
	}
}

func TestChartsSurviveARestartWhereThereIsAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	newState := func() *store.State {
		opened := store.NewDeclared(t.Context(), func(ctx context.Context, _ *hcl.State) (state.Store, error) {
			return state.Open(ctx, path)
		}, func(*hcl.State) bool { return true })
		t.Cleanup(func() { opened.Close() })
		return opened
	}
	const config = "console {}\n" + oneTool
	first := newSiteWith(t, config, newState())
	first.call("refund", `{"order": 7}`)
	first.host.Close()
	again := newSiteWith(t, config, newState())
	again.call("refund", `{"order": 7}`)
	again.call("refund", `{"order": 7}`)
	v := again.withTicket()
	for page, id := range map[string]string{
		"/console/": "hour-outcomes", "/console/?span=day": "day-outcomes", "/console/tools/refund": "day-outcomes",
	} {
		got := v.get(page)
		if title := titleOf(got.find(id)); !strings.Contains(title, "3 ok") {
			t.Errorf("%s after a restart: %q", page, title)
		}
		if text := textOf(got.find("history")); !strings.HasPrefix(text, "Counted by all processes since ") {
			t.Errorf("%s says %q", page, text)
		}
	}
	if calls := cells(v.get("/console/").find("slowest")); calls[2] != "3" {
		t.Errorf("the tools have %q", calls)
	}
	inMemory := newSite(t, config).withTicket().get("/console/")
	if text := textOf(inMemory.find("history")); !strings.Contains(text, "UTC, in memory only") {
		t.Errorf("without a state, the page says %q", text)
	}
}

func TestPagesWithChartsAreSmall(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	s.call("refund", `{"order": 7}`)
	if size := len(s.withTicket().get("/console/tools/refund").body); size > 256<<10 {
		t.Errorf("%d bytes", size)
	}
}
