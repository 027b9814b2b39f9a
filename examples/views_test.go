package examples_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// viewHost is a host of MCP Apps in a browser: a page with the program of the host, and on another origin its sandbox.
type viewHost struct {
	*browser
	server *server
	page   string
	key    string // that the host sends with its requests; empty for none
	depth  int    // of the frame with the view: in a host, the page has the sandbox, and that has the view
}

// openViewHost serves a folder, and the program of a host with it.
func openViewHost(t *testing.T, f *folder, program []byte) *viewHost {
	t.Helper()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	f.args = append(f.args, "--state", f.file("state.db"))
	s := f.serve()
	sandbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		// what the specification says of a resource that declares no origin
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "+
			"img-src 'self' data:; media-src 'self' data:; connect-src 'none'; object-src 'none'; base-uri 'self'")
		http.ServeFile(w, r, "testdata/view_sandbox.html")
	}))
	t.Cleanup(sandbox.Close)
	target, err := url.Parse(strings.TrimSuffix(s.url, "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	h := &viewHost{server: s, depth: 2}
	for path, change := range map[string]func(*http.Request){"/mcp": func(*http.Request) {}, "/rpc": asHostRequest} {
		mux.Handle(path, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.URL.Path = "/mcp"
			r.Out.Header.Del("Origin") // a host of the desktop sends none
			if h.key != "" {
				r.Out.Header.Set("Authorization", "Bearer "+h.key)
			}
			change(r.Out)
		}, FlushInterval: -1})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>host</title><style>body { margin: 8px; background: light-dark(#e9eaec, #0c0d0f); color-scheme: light dark; }
			iframe { display: block; width: 100%%; height: 60px; border: 1px solid #8886; border-radius: 12px; }</style>
			<main><h1 hidden>host</h1><iframe id="view" title="view"></iframe></main><script>window.sandbox = %q; %s</script></html>`, sandbox.URL, program)
	})
	pages := httptest.NewServer(mux)
	t.Cleanup(func() {
		pages.CloseClientConnections()
		pages.Close()
	})
	h.browser, h.page = openBrowser(t, "http://127.0.0.1"), pages.URL
	return h
}

// asHostRequest makes a request of the minimal host one of revision 2026-07-28.
func asHostRequest(r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var m struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      int            `json:"id"`
		Method  string         `json:"method"`
		Params  map[string]any `json:"params"`
	}
	if json.Unmarshal(raw, &m) == nil {
		m.Params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{
				"io.modelcontextprotocol/ui": map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}}}}}
		raw, _ = json.Marshal(m)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": m.Method,
	} {
		r.Header.Set(name, value)
	}
	for _, name := range []string{"name", "uri"} {
		if text, ok := m.Params[name].(string); ok {
			r.Header.Set("Mcp-Name", text)
		}
	}
}

// minimalHost opens the host of testdata/view_host.js.
func minimalHost(t *testing.T, f *folder) *viewHost {
	t.Helper()
	program, err := os.ReadFile("testdata/view_host.js")
	if err != nil {
		t.Fatal(err)
	}
	return openViewHost(t, f, program)
}

// show calls a tool in the host, and waits until the view has a text.
func (h *viewHost) show(tool, arguments, text string) {
	h.t.Helper()
	h.showIn(tool, arguments, "{}", text)
}

func (h *viewHost) showIn(tool, arguments, context, text string) {
	h.t.Helper()
	h.open(h.page)
	h.begin(tool, arguments, context, text)
}

// begin is show in a page that is open.
func (h *viewHost) begin(tool, arguments, context, text string) {
	h.t.Helper()
	run(h.browser, chromedp.Evaluate[string](fmt.Sprintf("window.start(%q, %s, %s)", tool, arguments, context), chromedp.EvalAwaitPromise))
	h.awaitText(text)
}

// awaitText waits until the view has a text.
func (h *viewHost) awaitText(text string) {
	h.t.Helper()
	defer func() {
		if h.t.Failed() {
			h.t.Logf("the view has %q", h.viewText())
		}
	}()
	eventually(h.t, "the view has "+text, func() bool { return strings.Contains(h.viewText(), text) })
}

// viewText returns what a person reads in the view.
func (h *viewHost) viewText() string {
	text, err := chromedp.Run(h.ctx, evalInView[string](h.depth, `document.body?.innerText ?? ""`))
	if err != nil {
		return ""
	}
	return text
}

func evalInView[T any](depth int, expression string) chromedp.Action[T] {
	return func(ctx context.Context, tab *chromedp.Target) (none T, err error) {
		world, err := inWorld(ctx, tab, depth)
		if err != nil {
			return none, err
		}
		return chromedp.Evaluate[T](expression, world)(ctx, tab)
	}
}

// inView evaluates an expression in the view.
func inView[T any](h *viewHost, expression string) T {
	h.t.Helper()
	return run(h.browser, evalInView[T](h.depth, expression))
}

// clickInView clicks the element of the view that has a text.
func (h *viewHost) clickInView(selector, text string) {
	h.t.Helper()
	const click = `(() => { const e = [...document.querySelectorAll(%q)].find((e) => (e.getAttribute("aria-label") ?? e.innerText).includes(%q));
		e?.click(); return e !== undefined; })()`
	if !inView[bool](h, fmt.Sprintf(click, selector, text)) {
		h.t.Fatalf("there is no %s with %q in %q", selector, text, h.viewText())
	}
}

// viewCase is one view of the example.
type viewCase struct{ name, tool, arguments, text string }

var viewCases = []viewCase{
	{"table", "list_tickets", `{"status": "open"}`, "Printer in room 4 does not print"},
	{"line", "hours_by_month", `{}`, "by month"},
	{"bar", "tickets_by_team", `{}`, "Closed"},
	{"record", "get_ticket", `{"id": 1001}`, "The driver was updated"},
	{"form", "new_ticket", `{"subject": "VPN"}`, "What is wrong"},
}

// TestViewsInAHostAreAccessibleAndFit shows each view of the example in light and dark and in two widths, and compares
// it with its picture in testdata/views, which -update takes. The browser reports requests to other hosts, errors, and
// violations of the content security policy.
func TestViewsInAHostAreAccessibleAndFit(t *testing.T) {
	t.Parallel()
	h := minimalHost(t, example(t, "views"))
	for _, c := range viewCases {
		for _, width := range []int{400, 760} {
			for _, theme := range []string{"light", "dark"} {
				h.resize(width)
				h.prefer(theme)
				const context = `{theme: %q, locale: "en-GB", timeZone: "UTC", styles: {variables: {"--font-sans": "DejaVu Sans", "--font-mono": "DejaVu Sans Mono"}}}`
				h.showIn(c.tool, c.arguments, fmt.Sprintf(context, theme), c.text)
				if (width == 400) == (theme == "dark") {
					h.checkView(c.name, width, theme)
				} else {
					h.checkWidth(c.name, width, theme)
				}
				h.compareWithPicture(fmt.Sprintf("testdata/views/%s-%d-%s.png", c.name, width, theme))
			}
		}
	}
}

// compareWithPicture compares what is shown with a picture: at most 0.5 % of its pixels may be other ones. A pixel is
// another one if a colour differs by more than a quarter, because edges of letters do in other versions of the browser.
func (h *viewHost) compareWithPicture(file string) {
	h.t.Helper()
	shown, err := png.Decode(bytes.NewReader(run(h.browser, chromedp.FullScreenshot(100))))
	if err != nil {
		h.t.Fatal(err)
	}
	if *update {
		writePicture(h.t, file, shown)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(src))
	if err != nil {
		h.t.Fatal(err)
	}
	if shown.Bounds() != want.Bounds() {
		h.t.Errorf("%s has %v, and %v is shown", file, want.Bounds().Size(), shown.Bounds().Size())
		return
	}
	others, size := 0, want.Bounds().Size()
	for size.Y > 1 && isOneColour(want, size.Y-1) { // below the view
		size.Y--
	}
	for y := range size.Y {
		for x := range size.X {
			r1, g1, b1, _ := shown.At(x, y).RGBA()
			r2, g2, b2, _ := want.At(x, y).RGBA()
			for _, d := range []int{int(r1) - int(r2), int(g1) - int(g2), int(b1) - int(b2)} {
				if d < -0x4000 || d > 0x4000 {
					others++
					break
				}
			}
		}
	}
	if others*200 > size.X*size.Y {
		h.t.Errorf("%d of %d pixels are not as in %s. Look at what is shown, with -update", others, size.X*size.Y, file)
	}
}

// isOneColour reports whether all pixels of a line of a picture have the same colour.
func isOneColour(picture image.Image, y int) bool {
	first := picture.At(0, y)
	for x := range picture.Bounds().Dx() {
		if picture.At(x, y) != first {
			return false
		}
	}
	return true
}

// writePicture writes a picture with fewer colours, so that it is small.
func writePicture(t *testing.T, file string, shown image.Image) {
	t.Helper()
	plain := image.NewRGBA(shown.Bounds())
	for y := range plain.Rect.Dy() {
		for x := range plain.Rect.Dx() {
			r, g, b, _ := shown.At(x, y).RGBA()
			plain.SetRGBA(x, y, color.RGBA{uint8(r>>8) &^ 15, uint8(g>>8) &^ 15, uint8(b>>8) &^ 15, 255})
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, plain); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkView checks what is shown, and takes a picture of it with -pictures.
func (h *viewHost) checkView(name string, width int, theme string) {
	h.t.Helper()
	h.checkWidth(name, width, theme)
	h.checkAxe(name, width, theme)
	if *pictures != "" {
		h.picture(fmt.Sprintf("%s/view-%s-%d-%s.png", *pictures, name, width, theme))
	}
}

// checkWidth checks that what is shown has the colours of a theme, and needs no more width than there is.
func (h *viewHost) checkWidth(name string, width int, theme string) {
	h.t.Helper()
	if scheme := inView[string](h, `getComputedStyle(document.documentElement).colorScheme`); scheme != theme {
		h.t.Errorf("%s is %s, not %s", name, scheme, theme)
	}
	if wide := inView[[]string](h, `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("main *")].
		filter((e) => e.getBoundingClientRect().right > innerWidth).slice(0, 3).map((e) => e.outerHTML.slice(0, 200))`); len(wide) > 0 {
		h.t.Errorf("%s is wider than %d pixels: %q", name, width, wide)
	}
	h.awaitHeight()
}

// checkAxe reports what axe finds in what is shown.
func (h *viewHost) checkAxe(name string, width int, theme string) {
	h.t.Helper()
	for _, v := range h.violationsIn(h.depth) {
		h.t.Errorf("%s at %d pixels, %s: %s: %s", name, width, theme, v.ID, v.Help)
		for _, n := range v.Nodes[:min(3, len(v.Nodes))] {
			h.t.Errorf("  %s\n  %s", n.HTML, n.Summary)
		}
	}
}

// awaitHeight waits until the frame is as high as the view.
func (h *viewHost) awaitHeight() {
	h.t.Helper()
	eventually(h.t, "the frame is as high as the view", func() bool {
		height := inView[float64](h, `Math.ceil(document.body.getBoundingClientRect().height)`)
		return eval[bool](h.browser, fmt.Sprintf(`Math.abs(document.querySelector("iframe").clientHeight - %f) < 3`, height))
	})
}

// TestViewsLookAsInTheDocumentation takes the pictures of docs/images, with -update.
func TestViewsLookAsInTheDocumentation(t *testing.T) {
	t.Parallel()
	if !*update {
		t.Skip("pictures are taken with -update")
	}
	h := minimalHost(t, example(t, "views"))
	for _, p := range []struct {
		name, theme   string
		of            viewCase
		width, height int
	}{
		{"view-table", "light", viewCases[0], 760, 570}, {"view-chart", "dark", viewCases[1], 760, 390}, {"view-form", "light", viewCases[4], 480, 530},
	} {
		h.prefer(p.theme)
		h.do(chromedp.EmulateViewport(int64(p.width), int64(p.height)))
		h.showIn(p.of.tool, p.of.arguments, fmt.Sprintf(`{theme: %q}`, p.theme), p.of.text)
		h.awaitHeight()
		h.picture("../docs/images/" + p.name + ".png")
	}
}

// picture writes a picture of the whole page of the host.
func (h *viewHost) picture(file string) {
	h.t.Helper()
	if err := os.WriteFile(file, run(h.browser, chromedp.FullScreenshot(100)), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// TestViewsInAHostCallToolsOfTheirServer opens a row, follows a link, sorts, filters and sends a form.
func TestViewsInAHostCallToolsOfTheirServer(t *testing.T) {
	t.Parallel()
	h := minimalHost(t, example(t, "views"))
	h.resize(760)
	h.show("list_tickets", `{}`, "1–10 of 37")
	h.clickInView("button", "Open 1001")
	h.awaitText("The driver was updated")
	h.clickInView("button.link", "desk.example/tickets/1001")
	h.await(`seen.opened.join() === "https://desk.example/tickets/1001" && seen.calls.length === 1`)
	h.clickInView("button", "ID")
	h.awaitText("1001")
	h.clickInView("button", "ID")
	eventually(t, "the last ticket is first", func() bool { return inView[string](h, `document.querySelector("tbody th").innerText`) == "1037" })
	inView[bool](h, `(() => { const f = document.querySelector("input[type=search]"); f.value = "vpn"; f.dispatchEvent(new Event("input")); return true; })()`)
	eventually(t, "other rows are hidden", func() bool { return inView[float64](h, `document.querySelectorAll("tbody tr").length`) == 7 })
	h.clickInView("button", "Full screen")
	h.await(`seen.modes.join() === "fullscreen"`)

	h.show("new_ticket", `{"subject": "No"}`, "What is wrong")
	h.clickInView("button", "Open ticket")
	h.awaitText("Enter at least 3 characters.")
	if n := eval[float64](h.browser, `seen.calls.length`); n != 0 {
		t.Errorf("a form with a mistake has made %.0f calls", n)
	}
	inView[bool](h, `(() => { const f = document.querySelector("input"); f.value = "No network"; f.dispatchEvent(new Event("change")); return true; })()`)
	h.clickInView("button", "Open ticket")
	h.awaitText("Ticket 1038 was opened for the team Workplace.")
	h.await(`seen.context.length === 1 && seen.context[0].content[0].text.startsWith("Ticket 1038") && seen.unknown.length === 0`)
	if key := eval[string](h.browser, `seen.calls[0].arguments.idempotency_key`); len(key) != 32 {
		t.Errorf("the key is %q", key)
	}
}

// TestViewsInAHostLoadTheNextPages adds the rows of the next pages to those of the first one.
func TestViewsInAHostLoadTheNextPages(t *testing.T) {
	t.Parallel()
	f := example(t, "views")
	f.write("paged.hcl", `tool "all_tickets" {
  title       = "All tickets"
  description = "List all tickets in pages."
  input "status" { type = optional(type.status) }
  format = "csv"
  page {
    size = 15
    keys = { id = integer }
  }
  sql "desk" {
    query = <<-SQL
      SELECT id, opened, subject FROM tickets
      WHERE id > %{if page.after != null} ${page.after.id} %{else} 0 %{endif}
      %{if input.status != null} AND status = ${input.status} %{endif}
      ORDER BY id LIMIT ${page.limit}
    SQL
  }
  returns = list(object({ id = integer, opened = string({ format = "date" }), subject = string }))
  view "table" {}
}`)
	h := minimalHost(t, f)
	for _, s := range []struct {
		width int
		theme string
	}{{760, "light"}, {400, "dark"}} {
		h.resize(s.width)
		h.prefer(s.theme)
		h.showIn("all_tickets", `{}`, fmt.Sprintf(`{theme: %q}`, s.theme), "There are more rows.")
		h.checkView("page", s.width, s.theme)
		h.clickInView("button", "Load more")
		h.awaitText("of 30")
		h.clickInView("button", "Load more")
		h.awaitText("of 37")
		if text := h.viewText(); strings.Contains(text, "There are more rows.") || !strings.Contains(text, "31–") {
			t.Errorf("after the last page the view has %q", text)
		}
		h.checkView("pages", s.width, s.theme)
	}
	h.showIn("all_tickets", `{"status": "closed"}`, `{}`, "There are more rows.")
	h.clickInView("button", "Load more")
	h.await(`seen.calls.at(-1)?.arguments.status === "closed"`)

	const foreign = `{content: [], structuredContent: {rows: [{id: 1, opened: "2026-01-02", subject: "x"}], next_cursor: "AAAA"}}`
	for capabilities, want := range map[string]string{"{serverTools: {}}": "cursor is not valid for this call", "{}": "There are more rows."} {
		h.open(h.page)
		eval[bool](h.browser, `(window.instead = `+foreign+`, window.capabilities = `+capabilities+`) !== undefined`)
		h.begin("all_tickets", `{}`, `{}`, "There are more rows.")
		if capabilities != "{}" {
			h.clickInView("button", "Load more")
		} else if strings.Contains(h.viewText(), "Load more") {
			t.Error("a view that may call no tool has a button that calls one")
		}
		h.awaitText(want)
	}
}

// TestViewsInAHostShowMessages are results without data: a refusal, a cancellation, a text, and what is too large.
func TestViewsInAHostShowMessages(t *testing.T) {
	t.Parallel()
	f := example(t, "views")
	f.write("denied.hcl", `tool "payroll" {
  title       = "Payroll"
  description = "Read salaries."
  allow       = "input.year < 2000"
  input "year" { type = integer }
  sql "desk" { query = "SELECT 1 AS amount WHERE ${input.year} > 0" }
  returns = list(object({ amount = number }))
  view "table" {}
}
tool "salary" {
  description = "Read one salary."
  allow       = "input.id < 0"
  input "id" { type = integer }
  sql "desk" { query = "SELECT 1 AS amount WHERE ${input.id} > 0" }
  returns = object({ rows = list(object({ amount = number })) })
  result  = "{rows: output.rows}"
}
tool "people" {
  description = "List people."
  result  = "[{id: 1, name: 'Ada'}, {id: 2, name: 'Grace'}]"
  returns = list(object({ id = integer, name = string }))
  view "table" { open = "salary" }
}`)
	h := minimalHost(t, f)
	h.resize(760)
	h.show("payroll", `{"year": 2026}`, "You are not allowed to make this call.")
	h.show("people", `{}`, "Grace")
	h.clickInView("button", "Open 2")
	h.awaitText("You are not allowed to make this call.")
	for _, c := range []struct{ result, want string }{
		{`{content: [{type: "text", text: "only a text"}]}`, "only a text"},
		{`{content: [{type: "text", text: "the text"}], structuredContent: {result: [{id: 1, name: "x".repeat(1100000)}]}}`, "The result is too large to be drawn"},
		{`{content: [{type: "text", text: "the text"}], structuredContent: {result: Array.from({length: 2500}, (_, i) => ({id: i, name: "n" + i}))}}`, "Only the first 2,000 rows of 2,500 are shown."},
		{`{content: [{type: "text", text: "x"}], structuredContent: {result: [{id: 1, name: "y".repeat(3000)}]}}`, "yyy… Show all"},
		{`{content: [], structuredContent: {result: []}}`, "There are no rows."},
		{`{content: [], structuredContent: null}`, "0 rows"},
	} {
		h.open(h.page)
		eval[bool](h.browser, `(window.instead = `+c.result+`) !== undefined`)
		h.begin("people", `{}`, "{}", c.want)
	}
	h.show("people", `{}`, "Grace")
	eval[bool](h.browser, `send({ method: "ui/notifications/tool-cancelled", params: { reason: "the user" } }) === undefined`)
	h.awaitText("The call was cancelled: the user")
}

// TestViewsInAHostShowWhatWasSent leaves out what a projection has left out.
func TestViewsInAHostShowWhatWasSent(t *testing.T) {
	t.Parallel()
	f := example(t, "views")
	f.write("chosen.hcl", `tool "chosen" {
  description = "List tickets with members that the caller chooses."
  projection {
    offer   = ["id", "subject", "team", "hours"]
    default = ["subject", "team"]
  }
  sql "desk" { query = "SELECT id, subject, team, hours FROM tickets WHERE id < 1003" }
  returns = list(object({ id = integer, subject = string, team = string, hours = nullable(number) }))
  view "table" {}
}
tool "drawn" {
  description = "Draw members that the caller chooses."
  projection {
    offer   = ["month", "spent", "planned"]
    default = ["month", "spent"]
  }
  sql "desk" { query = "SELECT month, spent, planned FROM months" }
  returns = list(object({ month = string, spent = number, planned = number }))
  view "chart" {
    x = "month"
    y = ["spent"]
  }
}
tool "nested" {
  description = "Read a team with members of its tickets that the caller chooses."
  projection {
    offer   = ["id", "subject", "team"]
    default = ["subject"]
  }
  sql "desk" { query = "SELECT id, subject, team FROM tickets WHERE id < 1003" }
  result  = "{team: 'Network', tickets: output.rows}"
  returns = object({ team = string, tickets = list(object({ id = integer, subject = string, team = string })) })
  view "record" {}
}`)
	h := minimalHost(t, f)
	h.resize(760)
	for _, c := range []struct{ tool, arguments, want string }{
		{"chosen", `{}`, "Subject,Team"}, {"chosen", `{"fields": ["hours", "id"]}`, "ID,Hours"},
		{"nested", `{}`, "Subject"}, {"nested", `{"fields": ["team", "id"]}`, "ID,Team"},
	} {
		h.show(c.tool, c.arguments, strings.Split(c.want, ",")[0])
		if got := inView[string](h, `[...document.querySelectorAll("thead th")].map((e) => e.innerText.trim()).join()`); got != c.want {
			t.Errorf("%s of %s: the columns are %s, want %s", c.tool, c.arguments, got, c.want)
		}
	}
	h.show("drawn", `{"fields": ["month", "planned"]}`, "There are no points.")
	h.show("drawn", `{}`, "by month")
}

// hostileValues are texts that a view must show and never interpret.
var hostileValues = []string{
	`<script>parent.pwned = 1</script>`, `<img src=x onerror="parent.pwned=1">`, `<svg onload=parent.pwned=1>`, `"><b>x</b>`, `</script><script>alert(1)</script>`,
	`<iframe srcdoc="<script>top.pwned=1</script>">`, `javascript:parent.pwned=1`, `JAVASCRIPT:alert(1)`, `java\nscript:alert(1)`, `data:text/html,<script>alert(1)</script>`,
	`http://evil.example/`, `https://user:pass@evil.example/`, `https://evil.example\@desk.example/`, `//evil.example/x`, `https:evil`, `vbscript:x`, `blob:https://x/y`, `file:///etc/passwd`,
	`&lt;b&gt;`, `&#x3c;script&#x3e;`, `{{constructor.constructor('alert(1)')()}}`, `${alert(1)}`, "`+alert(1)+`", `<!--`, `-->`, `]]>`, `<math><mi xlink:href="javascript:alert(1)">x`,
	"\u202egnp.exe", "a\u200bb", "\u2066hidden\u2069", "\ufeffx", "\u00adsoft", "\u0000nul", "\u001b[31mred", "\u0007", "\u2028line", "\u2029par", "\U000e0041tag", "x\u200dy",
	`<style>*{display:none}</style>`, `<link rel=stylesheet href=//evil.example>`, `<base href=//evil.example>`, `<meta http-equiv=refresh content="0;url=//evil.example">`,
	`<form action=//evil.example><button>`, `<a href="//evil.example">x</a>`, `<object data=//evil.example>`, `<embed src=//evil.example>`, `<video src=//evil.example onerror=alert(1)>`,
	`__proto__`, `constructor`, `toString`, `null`, `undefined`, `NaN`, `1e999`, `-0`, `2026-13-45`, `9999-99-99T99:99:99Z`, `0000-00-00`, `٣٤٥`, "\U0001F469\u200d\U0001F467", "\u0915\u094d\u200d\u0937", "\U0001F600\uFE0F",
}

// TestViewsInAHostShowHostileValues puts them where values, names of series and arguments are shown.
func TestViewsInAHostShowHostileValues(t *testing.T) {
	t.Parallel()
	h := minimalHost(t, example(t, "views"))
	h.resize(760)
	values, err := json.Marshal(hostileValues)
	if err != nil {
		t.Fatal(err)
	}
	if len(hostileValues) < 60 {
		t.Fatalf("%d values", len(hostileValues))
	}
	for _, c := range []struct{ tool, result string }{
		{"list_tickets", `{structuredContent: {result: VALUES.map((v, i) => ({id: i, opened: v, subject: v, team: v, status: v, hours: v}))}}`},
		{"get_ticket", `{structuredContent: {id: 1, subject: VALUES, status: VALUES[0], link: VALUES[10], notes: VALUES.map((v) => ({[v]: v, text: v}))}}`},
		{"tickets_by_team", `{structuredContent: {result: VALUES.map((v, i) => ({team: v, open: i, closed: v}))}}`},
		{"hours_by_month", `{structuredContent: {result: VALUES.map((v, i) => ({month: v, spent: v, planned: i}))}}`},
		{"new_ticket", `{structuredContent: {subject: VALUES.join(" ").replaceAll(/[\r\n]/g, ""), team: VALUES[0]}}`},
		{"get_ticket", `{isError: true, content: VALUES.map((text) => ({type: "text", text}))}`},
		{"get_ticket", `{content: VALUES.map((text) => ({type: "text", text}))}`},
		{"list_tickets", `{structuredContent: {result: [null, 1, "x", [], {id: {}, opened: [], subject: {a: [1]}}]}}`},
	} {
		h.open(h.page)
		eval[bool](h.browser, `(window.instead = {content: [], ...(`+strings.ReplaceAll(c.result, "VALUES", "("+string(values)+")")+`)}) !== undefined`)
		h.begin(c.tool, `{"id": 1}`, "{}", "")
		eventually(t, "the view shows the result", func() bool {
			text := h.viewText()
			return text != "" && !strings.Contains(text, "Waiting for the result") && !strings.Contains(text, "Loading")
		})
		if found := inView[[]string](h, `[...document.querySelectorAll("main script, main img, main iframe, main a, main style, main link, main object, main embed, main base, main meta, main math, main [onload], main [onerror], main [href], main [src]")].map((e) => e.outerHTML)`); len(found) > 0 {
			t.Errorf("%s: the view has %q", c.tool, found)
		}
		if left := inView[[]string](h, `(document.body.innerText.match(/[\u200b\u202a-\u202e\u2066-\u2069\ufeff\u0000-\u0008\u001b]/g) ?? [])`); len(left) > 0 {
			t.Errorf("%s: the view has hidden characters: %q", c.tool, left)
		}
	}
	if pwned := eval[bool](h.browser, `window.pwned !== undefined || seen.opened.length > 0`); pwned {
		t.Error("a value has run")
	}
}

// TestViewsInAHostIgnoreOtherWindows sends messages to a view from a window that is not its host.
func TestViewsInAHostIgnoreOtherWindows(t *testing.T) {
	t.Parallel()
	h := minimalHost(t, example(t, "views"))
	h.resize(760)
	h.show("get_ticket", `{"id": 1001}`, "The driver was updated")
	// the page around the sandbox, and the view itself, are other windows than the parent of the view
	const forged = `({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: { content: [], structuredContent: { id: 1, subject: "forged" } } })`
	eval[bool](h.browser, `document.getElementById("view").contentWindow[0].postMessage(`+forged+`, "*") === undefined`)
	inView[bool](h, `window.postMessage(`+forged+`, "*") === undefined`)
	for _, m := range []string{
		`{ jsonrpc: "1.0", method: "ui/notifications/tool-result", params: { isError: true } }`, `"text"`, `null`, `[1]`, `{ jsonrpc: "2.0", method: "ui/notifications/none", params: {} }`,
		`{ jsonrpc: "2.0", method: 7 }`, `{ jsonrpc: "2.0", id: 99, result: {} }`, `{ jsonrpc: "2.0", id: 99, error: { message: "x" } }`,
	} {
		eval[bool](h.browser, `document.getElementById("view").contentWindow.postMessage(`+m+`, "*") === undefined`)
	}
	// what follows is answered after all of them
	answered := `new Promise((done) => { addEventListener("message", (e) => { if (e.data.id === "last") done(JSON.stringify(e.data)); });
		send({ id: "last", method: "ui/resource-teardown", params: {} }); })`
	if got := run(h.browser, chromedp.Evaluate[string](answered, chromedp.EvalAwaitPromise)); !strings.Contains(got, `"result":{}`) {
		t.Errorf("teardown is answered with %s", got)
	}
	unknown := strings.NewReplacer("ui/resource-teardown", "ui/none", `"last"`, `"other"`).Replace(answered)
	if got := run(h.browser, chromedp.Evaluate[string](unknown, chromedp.EvalAwaitPromise)); !strings.Contains(got, `-32601`) {
		t.Errorf("an unknown request is answered with %s", got)
	}
	if text := h.viewText(); !strings.Contains(text, "The driver was updated") || strings.Contains(text, "forged") {
		t.Errorf("the view shows %s", text)
	}
}

// TestViewsInTheOfficialHostCode shows views with the host code of ext-apps and the official client.
func TestViewsInTheOfficialHostCode(t *testing.T) {
	t.Parallel()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	h := openViewHost(t, example(t, "views"), bundled(t, "view_bridge.js"))
	h.resize(760)
	for _, c := range viewCases {
		h.show(c.tool, c.arguments, c.text)
	}
	h.show("list_tickets", `{"status": "open"}`, "1001")
	h.clickInView("button", "Open 1001")
	h.awaitText("The driver was updated")
	h.clickInView("button.link", "desk.example/tickets/1001")
	h.await(`seen.opened.join() === "https://desk.example/tickets/1001"`)
	eval[bool](h.browser, `bridge.setHostContext({ theme: "dark" }) === undefined`)
	eventually(t, "the view is dark", func() bool { return inView[string](h, `document.documentElement.dataset.theme`) == "dark" })
	h.show("new_ticket", `{"subject": "No network"}`, "What is wrong")
	h.clickInView("button", "Open ticket")
	h.awaitText("Ticket 1038 was opened")
	h.await(`seen.context.length === 1 && seen.context[0].content[0].text.startsWith("Ticket 1038")`)
	if got := run(h.browser, chromedp.Evaluate[string](`bridge.teardownResource({}).then(JSON.stringify)`, chromedp.EvalAwaitPromise)); got != "{}" {
		t.Errorf("teardown is answered with %s", got)
	}
}

// bundled returns a program of testdata with the packages that it needs, for a page.
func bundled(t *testing.T, name string) []byte {
	t.Helper()
	node := strings.Fields(needs(t, "HATCHEL_TEST_TYPESCRIPT"))
	out := t.TempDir() + "/page.js"
	const bundle = `require("esbuild").buildSync({entryPoints: [process.argv[1]], nodePaths: [process.env.NODE_PATH], bundle: true,
		format: "iife", platform: "browser", outfile: process.argv[2]})`
	cmd := exec.Command(node[0], append(node[1:], "-e", bundle, "testdata/"+name, out)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	program, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(program, []byte("</script"), []byte(`<\/script`))
}

// TestViewsInAHostShowPendingApprovals shows a caller their own calls that wait, and nobody else's.
func TestViewsInAHostShowPendingApprovals(t *testing.T) {
	t.Parallel()
	f := &folder{t: t, path: t.TempDir()}
	f.write("pay.hcl", fmt.Sprintf(`server { hosts = ["pay.example"] }
auth {
  api_key "eva" { sha256 = "%x" }
  api_key "bob" { sha256 = "%x" }
}
console {}
approvals {
  allow = "caller.subject == 'eva'"
  tool  = true
}
tool "refund" {
  title       = "Refund an order"
  description = "Refund an order."
  task { mode = "required" }
  input "order" { type = integer }
  approval {
    timeout = "23h30m"
    message = "Refund 250 euros of order ${input.order}, because the goods arrived damaged."
  }
  text = "${input.order}"
}`, sha256.Sum256([]byte(evasKey)), sha256.Sum256([]byte(bobsKey))))
	h := minimalHost(t, f)
	h.resize(760)
	h.key = bobsKey
	h.show("pending_approvals", `{}`, "No call of yours waits for an approval")
	begin := func(order int) {
		t.Helper()
		_, answer := h.server.knock("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refund",
			"arguments":{"order":%d},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":
			{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, order), "Authorization", "Bearer "+bobsKey,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "refund")
		if !taskID.MatchString(answer) {
			t.Fatal(answer)
		}
	}
	begin(1042)
	begin(1043)
	eventually(t, "the call waits", func() bool {
		h.show("pending_approvals", `{}`, "call")
		return strings.Contains(h.viewText(), "1042") && strings.Contains(h.viewText(), "1043")
	})
	if text := h.viewText(); !strings.Contains(text, "Waiting") || !strings.Contains(text, "min left") || strings.Contains(text, "Approve") {
		t.Errorf("the card says %s", text)
	}
	h.clickInView("button", "Open in the console")
	h.await(`seen.opened.length === 1 && /^https:\/\/pay\.example\/console\/approvals\/[A-Z0-9]+$/.test(seen.opened[0])`)
	for _, s := range []struct {
		width int
		theme string
	}{{400, "light"}, {760, "dark"}} {
		h.resize(s.width)
		h.prefer(s.theme)
		h.showIn("pending_approvals", `{}`, fmt.Sprintf(`{theme: %q}`, s.theme), "1043")
		h.checkView("approvals", s.width, s.theme)
	}
	if *update {
		h.do(chromedp.EmulateViewport(560, 400))
		h.showIn("pending_approvals", `{}`, `{theme: "dark"}`, "1043")
		h.awaitHeight()
		h.picture("../docs/images/view-approvals.png")
	}
	h.key = evasKey
	h.show("pending_approvals", `{}`, "No call of yours waits for an approval")
}

// TestConsoleInABrowserShowsTheViewOfATool calls a tool in its form, and reads the table in the frame.
func TestConsoleInABrowserShowsTheViewOfATool(t *testing.T) {
	t.Parallel()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	f := example(t, "views")
	f.args = []string{"--state", f.file("state.db"), "--console"}
	s := f.serve()
	origin := strings.TrimSuffix(s.url, "/mcp")
	h := &viewHost{browser: openConsoleIn(openBrowser(t, origin), f, origin), server: s, depth: 1}
	h.open("/console/tools/list_tickets")
	h.do(chromedp.Click("#call-button"))
	h.awaitText(" of 37")
	if text := h.viewText(); strings.Contains(text, "Open") && inView[bool](h, `document.querySelector("[aria-expanded]") !== null`) {
		t.Errorf("the view offers calls: %s", text)
	}
	h.awaitHeight()
	h.checkAccessible("/console/tools/list_tickets")
	h.forget("'postMessage'") // of axe, which asks the frame, too
	h.checkFits("/console/tools/list_tickets")
	response, err := pooled.Get(origin + "/console/tools/list_tickets/view")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); bytes.Contains(body, []byte("mcp-app")) || response.StatusCode == http.StatusOK && bytes.Contains(body, []byte(`id="view"`)) {
		t.Errorf("somebody who is not signed in reads the app: %d", response.StatusCode)
	}
}
