package examples_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hatchel/internal/sampletest"
	"hatchel/runtime/observe/trace/tracetest"
)

const (
	evasKey = "key-of-eva-0123456789"
	bobsKey = "key-of-bob-0123456789"
)

// consoleShop is the example of the console, and a browser in which eva is signed in.
type consoleShop struct {
	*folder
	server *server
	bob    person
	eva    *browser

	collector *tracetest.Receiver // in place of the one that the example names
}

// openConsole serves the example, with variables of its environment, and signs eva in with the address that hatchel
// console prints.
func openConsole(t *testing.T, env ...string) *consoleShop {
	t.Helper()
	return openConsoleOf(t, example(t, "console"), env...)
}

// openConsoleOf is openConsole for a changed example.
func openConsoleOf(t *testing.T, f *folder, env ...string) *consoleShop {
	t.Helper()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	f.args, f.env = []string{"--state", f.file("state.db")}, env
	collector := tracetest.New(t, nil)
	f.write("shop.hcl", strings.Replace(f.read("shop.hcl"), "http://127.0.0.1:4318", collector.URL, 1))
	s := f.serve()
	f.env = append(f.env, "HATCHEL_KEY="+evasKey)
	origin := strings.TrimSuffix(s.url, "/mcp")
	return &consoleShop{f, s, person{s, bobsKey}, openConsoleIn(openBrowser(t, origin), f, origin), collector}
}

// openConsoleIn opens the console of a server in a browser, as its user.
func openConsoleIn(b *browser, f *folder, origin string) *browser {
	f.t.Helper()
	out, err := f.command("console", "--server", origin, "--print").Output()
	if err != nil {
		f.t.Fatal(err)
	}
	b.open(strings.TrimSpace(string(out)))
	b.await(`location.pathname === "/console/"`)
	return b
}

// adminsConsole is openConsole with eva in the group admin, too.
func adminsConsole(t *testing.T) *consoleShop {
	t.Helper()
	f := example(t, "console")
	f.write("shop.hcl", strings.Replace(f.read("shop.hcl"), `groups = ["ops"]`, `groups = ["ops", "admin"]`, 1))
	return openConsoleOf(t, f)
}

var taskID = regexp.MustCompile(`"taskId":"([^"]+)"`)

// beginTask has bob begin a task, which waits for an approval, and returns its page.
func (s *consoleShop) beginTask() string {
	s.t.Helper()
	s.write("export.hcl", `tool "export" {
  description = "Mark all orders as exported."
  task { mode = "required" }
  approval { timeout = "24h" }
  sql "shop" { exec = "UPDATE orders SET note = 'exported'" }
}`)
	var found []string
	eventually(s.t, "a task has begun", func() bool {
		_, answer := s.server.knock("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export",
			"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":
			{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, "Authorization", "Bearer "+bobsKey,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "export")
		found = taskID.FindStringSubmatch(answer)
		return found != nil
	})
	return "/console/tasks/" + found[1]
}

// refund has bob ask for a refund that needs an approval, and returns the response when it comes.
func (s *consoleShop) refund() (answer chan string) {
	s.t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refund",
		"arguments":{"order":1042,"amount":250,"note":"damaged"},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	request, err := http.NewRequest(http.MethodPost, s.server.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + bobsKey,
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "refund",
	} {
		request.Header.Set(name, value)
	}
	answer = make(chan string, 1)
	go func() {
		response, err := pooled.Do(request)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		answer <- string(text)
	}()
	return answer
}

// openApproval goes to the approval that is pending.
func (s *consoleShop) openApproval() {
	s.t.Helper()
	eventually(s.t, "an approval is pending", func() bool {
		s.eva.open("/console/approvals")
		return eval[bool](s.eva, `document.querySelector("table.rows tbody a") !== null`)
	})
	s.eva.open(eval[string](s.eva, `document.querySelector("table.rows tbody a").href`))
}

// pages are all places of the menu, and the first page of each of their tables.
func (s *consoleShop) pages() (paths []string) {
	s.t.Helper()
	s.eva.open("/console/")
	places := eval[[]string](s.eva, `[...document.querySelectorAll("#menu a[data-key]")].map((a) => a.getAttribute("href"))`)
	for _, place := range places {
		s.eva.open(place)
		paths = append(paths, place)
		paths = append(paths, eval[[]string](s.eva, `[...document.querySelectorAll("table.rows tbody a")].slice(0, 1).
			map((a) => a.getAttribute("href"))`)...)
	}
	return paths
}

func TestConsoleInABrowserIsAccessibleAndCallsNobody(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":1042},`)
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":7},`)
	s.refund()
	s.openApproval()
	task := s.beginTask()
	s.addLibrary()
	pages := s.pages()
	for _, page := range []string{task, "/console/prompts/report", "/console/resources/terms", "/console/policies/tool/export"} {
		if !slices.Contains(pages, page) {
			t.Errorf("%s is not among %q", page, pages)
		}
	}
	pages = append(pages, "/console/policies/rules", "/console/policies/tool/refund?caller=group+ops", "/console/policies/prompt/report")
	refused := []string{"/console/sign-in", "/console/tools/none", "/console/sessions"}
	for _, page := range append(refused, sampletest.Of(t, len(pages)/2, pages)...) {
		s.eva.open(page)
		s.eva.checkAccessible(page)
		s.eva.checkFits(page)
	}
	s.eva.forget("404") // of the page that is not there
	s.eva.forget("403") // of the page that is for admins
}

// addLibrary adds a prompt and a resource, and waits until they are served.
func (s *consoleShop) addLibrary() {
	s.t.Helper()
	s.write("library.hcl", `prompt "report" {
  description = "Report the orders of a week."
  argument "week" { type = string("The week, as in W05", { max_length = 10 }) }
  message "user" { text = "Report the orders of ${input.week}." }
}
resource "terms" {
  description = "The terms of refunds."
  uri         = "shop://terms"
  text        = "Refunds above 100 euros need an approval."
}`)
	eventually(s.t, "the prompt is served", func() bool {
		s.eva.open("/console/prompts")
		return eval[bool](s.eva, `document.querySelector("#documents") !== null`)
	})
}

// TestConsoleInABrowserExplainsACellAndTriesAPrompt goes from a cell of the matrix to the rule that decides, and gets a
// prompt and a resource as a client would.
func TestConsoleInABrowserExplainsACellAndTriesAPrompt(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, "tool \"stock_%d\" {\n description = \"Show the stock of the place %d.\"\n text = \"x\"\n}\n", i, i)
	}
	long := "/tool/" + strings.Repeat("long_", 12)
	fmt.Fprintf(&many, "tool %q {\n description = \"Long.\"\n text = \"x\"\n allow = \"'%s' in caller.groups\"\n}\n",
		path.Base(long), strings.Repeat("group-", 12))
	s.write("many.hcl", many.String())
	s.addLibrary()
	b := s.eva
	for _, page := range []string{"/console/policies" + long, "/console/policies/rules", "/console/tools/" + path.Base(long)} {
		b.open(page)
		b.checkFits(page)
	}
	b.resize(1280)
	b.open("/console/policies")
	if top := eval[float64](b, `(scrollTo(0, 1000), document.querySelector("#matrix thead th").getBoundingClientRect().top)`); top != 0 {
		t.Errorf("the heading of the matrix is at %.0f after scrolling", top)
	}
	b.do(chromedp.Click(`td[data-of="group ops"] > a[href^="/console/policies/tool/refund?"]`))
	b.await(`location.pathname === "/console/policies/tool/refund"`)
	if text := b.text(); !strings.Contains(text, "tool.refund.approval") || !strings.Contains(text, "depends on the input") {
		t.Errorf("the cell does not explain itself: %s", text)
	}
	b.open("/console/prompts/report")
	b.do(chromedp.SendKeys(`[name="input.week"]`, "W05"), chromedp.Click("#call-button"))
	b.await(`document.querySelector("#result")?.innerText.includes("Report the orders of W05.")`)
	b.open("/console/resources/terms")
	b.do(chromedp.Click("#call-button"))
	b.await(`document.querySelector("#result")?.innerText.includes("Refunds above 100 euros")`)
	out, err := s.command("audit", "--caller", "eva").Output()
	if err != nil || !strings.Contains(string(out), "report") || !strings.Contains(string(out), "shop://terms") {
		t.Errorf("the requests are not recorded as those of eva: %v %s", err, out)
	}
}

// TestConsoleInABrowserIsAccessibleToAnAdmin visits what eva sees when she is an admin, too.
func TestConsoleInABrowserIsAccessibleToAnAdmin(t *testing.T) {
	t.Parallel()
	s := adminsConsole(t)
	task := s.beginTask()
	res, _ := s.server.knock("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":
		{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}`,
		"Authorization", "Bearer "+bobsKey)
	if res.Header.Get("Mcp-Session-Id") == "" {
		t.Fatalf("bob has no session: %d", res.StatusCode)
	}
	pages := s.pages()
	end := slices.IndexFunc(pages, func(page string) bool { return strings.HasSuffix(page, "/end") })
	if !slices.Contains(pages, "/console/sessions") || end < 0 {
		t.Fatalf("only %q were found", pages)
	}
	forAdmins := []string{"/console/sessions", pages[end], task + "/cancel"}
	others := slices.DeleteFunc(pages, func(page string) bool { return slices.Contains(forAdmins, page) })
	for _, page := range append(forAdmins, sampletest.Of(t, 4, others)...) {
		s.eva.open(page)
		s.eva.checkAccessible(page)
		s.eva.checkFits(page)
	}
}

func TestConsoleInABrowserWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	s := adminsConsole(t)
	answer := s.refund()
	s.openApproval()
	approval := eval[string](s.eva, "location.pathname")
	task := s.beginTask()
	pages := s.pages()
	if !slices.Contains(pages, task) {
		t.Errorf("only %q were found", pages)
	}
	s.eva.disableScripts(true)
	for _, page := range pages {
		s.eva.open(page)
		if heading := run(s.eva, chromedp.Text("h1")); heading == "" {
			t.Errorf("%s has no heading", page)
		}
	}
	s.eva.open(approval)
	s.eva.do(chromedp.SendKeys("#reason", "ticket 88"), chromedp.Click("#approve"))
	if text := <-answer; !strings.Contains(text, "Refunded 250 euros of order 1042.") {
		t.Errorf("got %s", text)
	}
	run(s.eva, chromedp.Text("#decision"))
	s.eva.open(task)
	s.eva.do(chromedp.Click("#cancel"), chromedp.Click("#confirm"))
	run(s.eva, chromedp.Text("#facts")) // of the page after that
	eventually(t, "the task is cancelled", func() bool {
		s.eva.open(task)
		return strings.Contains(run(s.eva, chromedp.Text("#state")), "cancelled")
	})
}

func TestConsoleInABrowserApprovesByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	answer := s.refund()
	eventually(t, "an approval is pending", func() bool {
		out, _ := s.command("approvals", "list", "--server", s.server.url).Output()
		return strings.Contains(string(out), "refund")
	})
	b := s.eva
	b.press("g")
	b.press("a")
	b.await(`location.pathname === "/console/approvals"`)
	b.await(`document.querySelector("table.rows tbody a") !== null`)
	b.press("j")
	b.press("\r")
	b.await(`location.pathname.startsWith("/console/approvals/") && document.querySelector("#approve") !== null`)
	if text := b.text(); !strings.Contains(text, "Ada Lovelace") || !strings.Contains(text, "UPDATE orders SET") {
		t.Errorf("the page shows neither the order nor the statement: %s", text)
	}
	for range 60 {
		if eval[string](b, "document.activeElement.id") == "approve" {
			break
		}
		if eval[string](b, "document.activeElement.id") == "reason" {
			b.press("ticket 88")
		}
		b.press("\t")
	}
	b.press("\r")
	b.await(`document.querySelector("#decision")?.innerText.includes("ticket 88")`)
	if text := <-answer; !strings.Contains(text, "Refunded 250 euros of order 1042.") {
		t.Errorf("got %s", text)
	}
}

// TestConsoleInABrowserKeepsApprovalsUpToDate has two tabs open while somebody decides in a terminal.
func TestConsoleInABrowserKeepsApprovalsUpToDate(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	list := s.eva
	list.open("/console/approvals")
	answer := s.refund()
	list.await(`document.querySelectorAll("#approvals tbody tr").length === 1 && document.title.startsWith("(1) ")`)
	list.await(`/^\d+:\d\d left$/.test(document.querySelector("#approvals time[data-until]").textContent)`)
	left := eval[string](list, `document.querySelector("#approvals time[data-until]").textContent`)
	list.await(`document.querySelector("#approvals time[data-until]").textContent !== ` + strconv.Quote(left))
	id := s.pendingID()
	one := openTab(t, list.ctx, list.origin)
	one.open("/console/approvals/" + id)
	one.await(`document.querySelector("#waiting")?.textContent.includes("waits")`)
	out, err := s.command("approvals", "approve", id, "--server", s.server.url, "--reason", "ticket 88").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list.await(`document.querySelector("#approvals tr.decided")?.innerText.includes("by ")`)
	list.await(`!document.title.startsWith("(") && !document.querySelector("#menu").innerText.includes("(")`)
	one.await(`document.querySelector("#decision")?.innerText.includes("ticket 88") && !document.querySelector("#decision-bar")`)
	if text := <-answer; !strings.Contains(text, "Refunded 250 euros of order 1042.") {
		t.Errorf("got %s", text)
	}
}

// TestConsoleInABrowserDecidesByKeysAfterAQuestion presses r and changes its mind, and then a.
func TestConsoleInABrowserDecidesByKeysAfterAQuestion(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	answer := s.refund()
	s.openApproval()
	b := s.eva
	b.await(`document.querySelector("#decide") !== null`)
	b.press("r")
	b.await(`document.querySelector("dialog[open] h2")?.textContent === "Reject?"`)
	b.press("\u001b")
	b.await(`document.querySelector("dialog") === null`)
	b.do(chromedp.SendKeys("#reason", "ticket 88"))
	var order []string
	for range 3 {
		order = append(order, eval[string](b, "document.activeElement.id"))
		b.press("\t")
	}
	if got := strings.Join(order, " "); got != "reason approve reject" {
		t.Errorf("the order of the focus is %s", got)
	}
	b.do(chromedp.Blur("#reject"))
	b.press("a")
	b.await(`document.querySelector("dialog[open] h2")?.textContent === "Approve?"`)
	b.press("\r")
	b.await(`document.querySelector("#decision")?.innerText.includes("ticket 88")`)
	if text := <-answer; !strings.Contains(text, "Refunded 250 euros of order 1042.") {
		t.Errorf("got %s", text)
	}
}

// TestConsoleInABrowserFiltersCallsAndAuditAlike selects by the same fields on both pages, and takes a filter away.
func TestConsoleInABrowserFiltersCallsAndAuditAlike(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":1042},`)
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":7},`) // which is not there
	b := s.eva
	removeChip := func() { eval[float64](b, `(document.querySelector("#chips a").click(), 0)`) } // wherever new rows have moved it
	for place, rows := range map[string]string{"/console/calls": "#calls tr[id]", "/console/audit": "#records tr:not(.day) time"} {
		listed := `document.querySelectorAll("` + rows + `").length `
		b.open(place)
		b.await(listed + ">= 2")
		if day := eval[string](b, `document.querySelector(".rows .day").innerText`); !strings.Contains(day, "(UTC)") {
			t.Errorf("%s has no day: %q", place, day)
		}
		b.do(chromedp.SetValue("#outcome", "problems"), chromedp.SendKeys("#tool", "ord*"), chromedp.KeyEvent("\r"))
		b.await(listed + `=== 1 && document.querySelectorAll("#chips li").length === 3`)
		removeChip()
		b.await(listed + `=== 1 && document.querySelector("#tool").value === "" && document.querySelectorAll("#chips li").length === 1`)
		removeChip()
		b.await(listed + `>= 2 && document.querySelector("#chips") === null`)
	}
	b.resize(390)
	b.open("/console/calls")
	if lines := eval[float64](b, `(() => {
		const row = document.querySelector("#calls tr[id]");
		return row.getBoundingClientRect().height / parseFloat(getComputedStyle(row).lineHeight);
	})()`); lines >= 3.5 { // two, and what is around them
		t.Errorf("a call takes the height of %.1f lines", lines)
	}
}

func TestConsoleInABrowserShowsAReloadErrorUntilItIsMended(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	whole := s.read("shop.hcl")
	s.write("shop.hcl", strings.Replace(whole, "description = \"Show an order", "descripton = \"Show an order", 1))
	s.eva.open("/console/")
	s.eva.await(`document.querySelector("#load").innerText.includes("1 error")`)
	shows := func() bool {
		s.eva.open("/console/reload")
		return strings.Contains(s.eva.text(), `There is no argument "descripton" here. Did you mean "description"?`)
	}
	eventually(t, "the error is shown", shows)
	s.write("shop.hcl", whole)
	eventually(t, "the error goes", func() bool { return !shows() })
}

func TestConsoleInABrowserShowsCallsAsTheyHappen(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	s.eva.open("/console/calls")
	answer := s.refund()
	s.eva.await(liveRow + `.includes("waits for approval")`)
	if link := eval[string](s.eva, `document.querySelector("#calls tr[id] td:nth-child(2) a").pathname`); link !=
		"/console/approvals/"+s.pendingID() {
		t.Errorf("the call that waits leads to %s", link)
	}
	if text := eval[string](s.eva, `document.querySelector("#summary").textContent`); text != "1 call" {
		t.Errorf("the list has one row, and above it is %q", text)
	}
	id := s.pendingID()
	out, err := s.command("approvals", "approve", id, "--server", s.server.url, "--reason", "ticket 88").CombinedOutput()
	decided := time.Now()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.eva.await(liveRow + `.includes("ok")`)
	if took := time.Since(decided); *bounds && took > time.Second {
		t.Errorf("the row changed %s after the approval", took)
	}
	if text := <-answer; !strings.Contains(text, "Refunded 250 euros of order 1042.") {
		t.Errorf("got %s", text)
	}
}

const isStale = `!document.querySelector("#stale").hidden`

// TestConsoleInABrowserSaysThatItIsNotKeptUpToDate takes the console away from eva while her list of calls is open.
func TestConsoleInABrowserSaysThatItIsNotKeptUpToDate(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	s.eva.open("/console/calls")
	s.write("shop.hcl", strings.Replace(s.read("shop.hcl"), `  allow     = "'ops' in`, `  allow     = "'dev' in`, 1))
	s.eva.await(isStale)
	s.eva.forget("403") // of the stream
}

func TestConsoleInABrowserEndsTheStreamsOfAllTabsWithTheSession(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	s.eva.open("/console/calls")
	tab := openTab(t, s.eva.ctx, s.eva.origin)
	tab.open("/console/")
	tab.do(chromedp.Click("#who"))
	tab.press("\u001b")
	tab.await(`!document.querySelector("#account").open && document.activeElement.id === "who"`)
	tab.do(chromedp.Click("#who"), chromedp.Click("#sign-out button:not([type=button])"))
	tab.await(`location.pathname === "/console/sign-in"`)
	s.eva.await(isStale)
	s.eva.forget("text/event-stream") // of the stream, which leads to the page where people sign in
}

func TestConsoleInABrowserShowsHiddenCharactersOfLiveCalls(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	s.write("echo.hcl", `tool "echo" {
  description = "Fails with a text."
  input "text" { type = string }
  step "fails" {
    fail { message = input.text }
  }
}`)
	const text = "a\u202eb\u2066c\u200bd\u00ade\ufefff\u0085g\u00a0h\u3000i\ue000j\U000e0041k\u2028l é漢😀"
	call := func() string {
		_, answer := s.bob.asks("tools/call", `"name":"echo","arguments":{"text":"`+text+`"},`)
		return answer
	}
	eventually(t, "the tool is served", func() bool { return strings.Contains(call(), "漢") })
	s.eva.open("/console/calls")
	call()
	const cell = `(document.querySelector("#calls tr[id] td:last-child .error")?.textContent ?? "")`
	s.eva.await(cell + ` !== ""`)
	live := eval[string](s.eva, cell)
	s.eva.open("/console/calls")
	if page := eval[string](s.eva, cell); live != page || !strings.Contains(live, `a\u202eb\u2066c`) {
		t.Errorf("the live list shows %+q, and the page %+q", live, page)
	}
}

// TestConsoleInABrowserSharesOneStreamAmongTabs opens more tabs than a browser opens connections, each with a filter of
// its own, and closes those that hold the stream while calls are made.
func TestConsoleInABrowserSharesOneStreamAmongTabs(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	const calls = 60
	made := make(chan int)
	go func() {
		defer close(made)
		for i := range calls {
			s.bob.asks("tools/call", `"name":"order","arguments":{"id":1042},`)
			select {
			case made <- i:
			case <-t.Context().Done():
				return
			}
		}
	}()
	wait := func(n int) {
		for range n {
			<-made
		}
	}
	s.eva.open("/console/calls")
	filters := []string{"?tool=refund", "?caller=eva", "", "?tool=o*r", "?caller=bob", "?tool=order&caller=bob", "?outcome=problems"}
	var tabs []*browser
	for _, filter := range filters {
		wait(2)
		tab := openTab(t, s.eva.ctx, s.eva.origin)
		tab.open("/console/calls" + filter)
		tabs = append(tabs, tab)
	}
	wait(10)
	s.eva.open("/console/")
	wait(5)
	tabs[0].close()
	wait(5)
	tabs[1].close()
	for range made {
	}
	s.eva.open("/console/calls")
	const rows = `[...document.querySelectorAll("#calls tr[id]")].map((row) => row.id + " " + row.cells[1].innerText)`
	want := eval[[]string](s.eva, rows)
	if len(want) < calls-2 {
		t.Errorf("%d calls are listed of %d", len(want), calls)
	}
	for i, tab := range tabs[2:] {
		filter := filters[i+2]
		if filter == "?outcome=problems" {
			want = nil
		}
		eventually(t, fmt.Sprintf("the tab with the filter %q has %d rows", filter, len(want)), func() bool {
			return slices.Equal(eval[[]string](tab, rows), want)
		})
	}
}

// liveRow is the text of the row of a refund in the list of calls.
const liveRow = `([...document.querySelectorAll("#calls tr[id]")].find((row) => row.innerText.includes("refund"))?.innerText ?? "")`

// TestConsoleInABrowserLeadsThroughTheGuide does what "A walk through the console" in docs/monitoring.md says.
func TestConsoleInABrowserLeadsThroughTheGuide(t *testing.T) {
	t.Parallel()
	s := openConsole(t, "OTEL_BSP_SCHEDULE_DELAY=100")
	b := s.eva
	b.do(chromedp.Click(`#menu a[href="/console/calls"]`))
	b.await(`location.pathname === "/console/calls"`)
	answer := s.refund()
	b.await(liveRow + ` !== ""`)
	b.do(chromedp.Click(`#menu a[href="/console/approvals"]`))
	b.await(`location.pathname === "/console/approvals" && document.readyState === "complete"`)
	eventually(t, "the approval is listed", func() bool {
		b.open("/console/approvals")
		return eval[bool](b, `document.querySelector("table.rows tbody a") !== null`)
	})
	b.do(chromedp.Click("table.rows tbody a"), chromedp.SendKeys("#reason", "ticket 88"), chromedp.Click("#approve"))
	b.await(`document.querySelector("#decision")?.innerText.includes("ticket 88")`)
	if text := <-answer; !strings.Contains(text, "Refunded 250 euros of order 1042.") {
		t.Errorf("got %s", text)
	}
	b.do(chromedp.Click(`#menu a[href="/console/audit"]`))
	b.await(`location.pathname === "/console/audit" && document.readyState === "complete"`)
	b.do(chromedp.SendKeys("#tool", "refund"), chromedp.KeyEvent("\r"))
	b.await(`location.search.includes("tool=refund") && document.querySelectorAll("#records tbody tr").length > 2`)
	b.do(chromedp.Click("#records tbody a"))
	b.await(`location.pathname.startsWith("/console/calls/") && document.querySelector("#trace") !== null`)
	if text := b.text(); !strings.Contains(text, "ticket 88") || !strings.Contains(text, "eva") {
		t.Errorf("the page of the call does not say who approved it:\n%s", text)
	} else if !strings.Contains(text, "for people to decide") {
		t.Errorf("the page of the call does not say that it has waited:\n%s", text)
	}
	trace := path.Base(eval[string](b, `document.querySelector("#trace").href`))
	eventually(t, "the collector has the trace "+trace, func() bool {
		return slices.ContainsFunc(s.collector.Spans(), func(span tracetest.Span) bool {
			return span.Trace == trace && span.Name == "tools/call refund"
		})
	})
}

func TestConsoleInABrowserPlansAndCallsATool(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	s.planRefund()
	b := s.eva
	b.open("/console/tools/order")
	b.do(chromedp.SendKeys("#form input[inputmode=numeric]", "1042"), chromedp.Click("#call-button"))
	b.await(`document.querySelector("#result")?.innerText.includes("Ada Lovelace")`)
	out, err := s.command("audit", "--tool", "order", "--caller", "eva").Output()
	if err != nil || !strings.Contains(string(out), "order") {
		t.Errorf("the call is not recorded as one of eva: %v %s", err, out)
	}
}

// planRefund shows what a refund would send, which is not sent.
func (s *consoleShop) planRefund() {
	s.t.Helper()
	b := s.eva
	b.open("/console/tools/refund")
	b.do(chromedp.SendKeys("#form input[inputmode=numeric]", "1042"), chromedp.SendKeys("#form input[inputmode=decimal]", "250"),
		chromedp.Click("#plan-button"))
	b.await(`document.querySelector("#plan")?.innerText.includes("UPDATE orders SET refunded = refunded + ?")`)
}

// TestConsoleInABrowserLooksAsInTheDocumentation takes the pictures of docs/images, with -update.
func TestConsoleInABrowserLooksAsInTheDocumentation(t *testing.T) {
	t.Parallel()
	if !*update {
		t.Skip("pictures are taken with -update")
	}
	s := openConsole(t)
	b := s.eva
	b.do(chromedp.EmulateViewport(1100, 720))
	b.open("/console/calls") // from here on events are kept
	for range 8 {
		s.bob.asks("tools/call", `"name":"order","arguments":{"id":1042},`)
	}
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":7},`)
	s.bob.asks("tools/call", `"name":"refund","arguments":{"order":1041,"amount":20},`)
	s.refund()
	s.openApproval()
	b.do(chromedp.EmulateViewport(1100, 1090))
	s.take("console-approval")
	b.do(chromedp.EmulateViewport(1100, 720))
	s.planRefund()
	b.do(chromedp.ScrollIntoView("#plan"))
	s.take("console-tool")
	b.open("/console/calls")
	b.await(liveRow + ` !== ""`)
	s.take("console-calls")
	b.prefer("dark")
	b.open("/console/")
	s.take("console-overview")
}

// TestConsoleInABrowserFollowsTheServerOnTheOverview has calls made while the page is open, and measures its plots.
func TestConsoleInABrowserFollowsTheServerOnTheOverview(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	b := s.eva
	const callsAMinute = `document.querySelector("#lately dd").textContent`
	b.await(callsAMinute + ` === "0" && document.querySelector("#none-pending") !== null`)
	eval[bool](b, `window.isSamePage = true`)
	for range 3 {
		s.bob.asks("tools/call", `"name":"order","arguments":{"id":1042},`)
	}
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":7},`) // which is not there
	answer := s.refund()
	b.await(callsAMinute + ` !== "0" && document.querySelectorAll("#pending tbody tr").length === 1 &&
		document.querySelector("#failing")?.innerText.includes("25.0 %") && window.isSamePage`)
	if order := eval[[]string](b, `[...document.querySelectorAll("main h2")].map((h) => h.id.replace("-title", ""))`); strings.Join(order, " ") !=
		"pending calls slowest failing systems load" {
		t.Errorf("the page has %q", order)
	}
	if lines := eval[float64](b, `(() => { const load = document.querySelector("#load");
		return load.getBoundingClientRect().height / parseFloat(getComputedStyle(load).lineHeight) })()`); lines > 2.1 {
		t.Errorf("the last load takes %.1f lines", lines)
	}
	for _, page := range []string{"/console/", "/console/?span=day", "/console/tools/order"} {
		b.open(page)
		b.checkFits(page)
		for _, width := range widths {
			b.resize(width)
			eval[bool](b, `document.querySelectorAll("details.charts").forEach((d) => { d.open = true }) === undefined`)
			if wrong := eval[[]string](b, unreadableLabels); len(wrong) > 0 {
				t.Errorf("%s at %d pixels has labels that cannot be read: %q", page, width, wrong)
			}
		}
		if signs := eval[[]string](b, `[...new Set([...document.querySelectorAll(".legend rect, .legend path")].map((e) =>
			e.getAttribute("fill") ?? getComputedStyle(e).strokeDasharray))]`); len(signs) != 6 {
			t.Errorf("%s tells its bars and lines apart by %q", page, signs)
		}
	}
	b.open("/console/")
	b.do(chromedp.Click("#failing tbody td a"))
	b.await(`location.pathname === "/console/calls" && document.querySelectorAll("#calls tr[id]").length === 1`)
	out, err := s.command("approvals", "reject", s.pendingID(), "--server", s.server.url).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	<-answer
}

// unreadableLabels are the labels of plots that are small, outside of the window, or one over the other.
const unreadableLabels = `[...document.querySelectorAll("svg.plot")].flatMap((plot) => {
	const labels = [...plot.querySelectorAll("text")].filter((e) => e.textContent).map((e) => [e.textContent, e.getBoundingClientRect()]);
	if (plot.getBoundingClientRect().width < innerWidth * 0.6 || labels.length < 5) return ["a plot is narrow or has no axes"];
	return labels.filter(([, at], i) => at.height < 12 || at.left < 0 || at.right > innerWidth || labels.slice(0, i).some(([, other]) =>
		at.left < other.right && other.left < at.right && at.top + 2 < other.bottom && other.top < at.bottom - 2)).map(([text]) => text);
})`

// TestConsoleInABrowserForPeople takes pictures of all pages, for people who look at them, with -pictures.
func TestConsoleInABrowserForPeople(t *testing.T) {
	t.Parallel()
	if *pictures == "" {
		t.Skip("pictures are taken with -pictures")
	}
	s := adminsConsole(t)
	for range 8 {
		s.bob.asks("tools/call", `"name":"order","arguments":{"id":1042},`)
	}
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":7},`)
	s.bob.asks("tools/call", `"name":"refund","arguments":{"order":1041,"amount":20},`)
	s.refund()
	s.openApproval()
	s.beginTask()
	b := s.eva
	for _, page := range s.pages() {
		for _, width := range widths {
			b.resize(width)
			for _, scheme := range []string{"light", "dark"} {
				b.prefer(scheme)
				b.open(page)
				name := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(page), "-")
				file := fmt.Sprintf("%s/%s-%d-%s.png", *pictures, name[:min(len(name), 40)], width, scheme)
				if err := os.WriteFile(file, run(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// take writes a picture of what is visible of the page.
func (s *consoleShop) take(name string) {
	s.t.Helper()
	if err := os.MkdirAll("../docs/images", 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile("../docs/images/"+name+".png", run(s.eva, chromedp.CaptureScreenshot()), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// pendingID waits for an approval and returns its ID.
func (s *consoleShop) pendingID() (id string) {
	s.t.Helper()
	eventually(s.t, "an approval is pending", func() bool {
		out, _ := s.command("approvals", "list", "--server", s.server.url, "--json").Output()
		var page []struct{ ID string }
		if json.Unmarshal(out, &page) == nil && len(page) > 0 {
			id = page[0].ID
		}
		return id != ""
	})
	return id
}
