package examples_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestConsoleInABrowserSearchesAsFindToolsDoesAndTurnsPages asks the search of a toolset, follows what it finds to the
// form of a tool with pages, and reads the second of these.
func TestConsoleInABrowserSearchesAsFindToolsDoesAndTurnsPages(t *testing.T) {
	t.Parallel()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	f := example(t, "search")
	f.args = []string{"--state", f.file("state.db"), "--console"}
	origin := strings.TrimSuffix(f.serve().url, "/mcp")
	b := openConsoleIn(openBrowser(t, origin), f, origin)
	b.open("/console/tools")
	b.do(chromedp.SetValue("#search", "all"), chromedp.SendKeys("#q", "show me the orders of a customer\r"))
	b.await(`document.querySelector("#searched") !== null`)
	if n := eval[float64](b, `document.querySelectorAll("#tools td[data-of=Score]").length`); n < 2 || n > 10 {
		t.Errorf("%.0f tools have scores", n)
	}
	b.checkAccessible("a search")
	b.checkFits("a search")
	b.do(chromedp.Click(`#tools a[href="/console/tools/list_orders"]`))
	b.await(`location.pathname === "/console/tools/list_orders"`)
	b.do(chromedp.Click("#call-button"))
	b.await(`document.querySelector("#next-page") !== null`)
	b.checkAccessible("a page of a tool")
	b.checkFits("a page of a tool")
	b.do(chromedp.Click("#next-page"))
	b.await(`document.querySelector("#outcome")?.innerText.includes("502")`)
	if second := eval[string](b, `document.querySelector("#outcome").innerText`); strings.Contains(second, "504") {
		t.Errorf("the second page has a row of the first: %s", second)
	}
}
