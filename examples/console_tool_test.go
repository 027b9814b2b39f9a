package examples_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// TestConsoleInABrowserKeepsAToolUpToDateAroundItsForm has others call a tool, and a reload change it, while eva fills in
// its form and reads a result.
func TestConsoleInABrowserKeepsAToolUpToDateAroundItsForm(t *testing.T) {
	t.Parallel()
	s := openConsole(t)
	b := s.eva
	b.open("/console/tools/order")
	b.do(chromedp.Click("#copy-curl summary"), chromedp.SendKeys(`[name="input.id"]`, "1042"))
	const text = `document.querySelector("#copy-curl pre").textContent`
	b.await(text + `.includes("1042")`)
	eval[bool](b, `window.field = document.activeElement, window.field.setSelectionRange(1, 3), true`)
	isLeft := `window.field.isConnected && document.activeElement === window.field && window.field.value === "1042" &&
		window.field.selectionStart === 1 && window.field.selectionEnd === 3 && document.querySelector("#copy-curl").open && ` +
		text + `.includes("1042")`
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":1041},`)
	b.await(`document.querySelectorAll("#recent-calls tbody tr").length === 1 && document.querySelector("#charts .plot") !== null`)
	if !eval[bool](b, isLeft) {
		t.Error("the form changes with the first call")
	}
	b.press("\r")
	b.await(`document.querySelector("#plan")?.innerText.includes("SELECT id, customer")`)
	b.do(chromedp.Click("#call-button"))
	b.await(`document.querySelector("#result")?.innerText.includes("Ada Lovelace") && location.pathname === "/console/tools/order/call"`)
	const rows = `document.querySelectorAll("#recent-calls tbody tr").length`
	b.await(rows + ` === 2`)
	eval[bool](b, `window.field = document.querySelector("[name='input.id']"), window.field.focus(), window.field.setSelectionRange(1, 3),
		document.querySelector("#copy-curl").open = true`)
	s.bob.asks("tools/call", `"name":"order","arguments":{"id":7},`) // which is not there
	b.await(rows + ` === 3 && document.querySelector("#charts .legend").innerText.includes("1 failed")`)
	s.write("shop.hcl", strings.NewReplacer(`"Show an order with what was paid back."`, `"Show an order."`,
		`"Number of the order", { min = 1 }`, `"Number of the order", { min = 1000 }`).Replace(s.read("shop.hcl")))
	b.await(`document.querySelector("#description").innerText === "Show an order." && document.querySelector("#entry > .changed:not([hidden])") !== null`)
	if !eval[bool](b, isLeft+` && document.querySelector("#result").innerText.includes("Ada Lovelace")`) {
		t.Error("the form or the result changes with calls and a reload")
	}
	b.checkAccessible("the page after a reload")
	b.do(chromedp.Click("#entry > .changed a"))
	b.await(`location.pathname === "/console/tools/order" && document.querySelector("#entry > .changed").hidden`)
}

const formTool = `
tool "note" {
  description = "Returns its inputs."
  input "place" { type = string("Where") }
  input "size" { type = optional(enum("small", "large"), "small") }
  input "urgent" { type = optional(bool) }
  input "copies" { type = optional(integer, 2) }
  input "remark" { type = optional(nullable(string)) }
  input "tags" { type = optional(list(string)) }
  result = "input"
}
`

// openForm opens the page of a tool with an input of each kind.
func openForm(t *testing.T) *browser {
	t.Helper()
	f := example(t, "console")
	f.write("note.hcl", formTool)
	b := openConsoleOf(t, f).eva
	b.open("/console/tools/note")
	return b
}

// TestConsoleInABrowserCopiesACall presses the buttons of the commands and reads the clipboard.
func TestConsoleInABrowserCopiesACall(t *testing.T) {
	t.Parallel()
	b := openForm(t)
	b.permit(cdpbrowser.PermissionSettingGranted)
	b.do(chromedp.SendKeys(`[name="input.place"]`, "Lyon"))
	const text = `document.querySelector("#copy-call pre").textContent`
	b.await(text + `.includes("place=Lyon")`)
	for id, part := range map[string]string{"copy-call": " note place=Lyon", "copy-curl": "-d '{", "copy-client": `"mcpServers"`} {
		b.do(chromedp.Click("#" + id + " summary"))
		b.await(`document.querySelector("#` + id + ` button")?.textContent === "Copy"`)
		b.do(chromedp.Click("#" + id + " button"))
		b.await(`document.querySelector("#` + id + ` button").textContent === "Copied"`)
		copied := run(b, chromedp.Evaluate[string]("navigator.clipboard.readText()", chromedp.EvalAwaitPromise))
		if shown := eval[string](b, `document.querySelector("#`+id+` pre").textContent`); copied != shown || !strings.Contains(copied, part) {
			t.Errorf("%s copies %s\nand shows %s", id, copied, shown)
		}
	}
	b.do(chromedp.SendKeys(`[name="input.place"]`, " 2"))
	b.await(text + `.includes("place='Lyon 2'") && document.querySelector("#copy-call button").textContent === "Copy"`)
	b.permit(cdpbrowser.PermissionSettingDenied)
	b.do(chromedp.Click("#copy-call button"))
	b.await(`document.querySelector("#copy-call button").textContent.startsWith("Selected") && getSelection().toString() === ` + text)
}

// permit says whether pages may use the clipboard.
func (b *browser) permit(setting cdpbrowser.PermissionSetting) {
	b.t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		b.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
				Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: setting, Origin: b.origin,
			})
			return err
		}))
	}
}

// TestConsoleInABrowserSendsWhatAFormSays leaves all inputs empty, and then chooses for each what is sent instead.
func TestConsoleInABrowserSendsWhatAFormSays(t *testing.T) {
	t.Parallel()
	b := openForm(t)
	if shown := eval[[]string](b, `[document.querySelector("[name='input.copies']").placeholder, document.querySelector("[name='input.size'] option").innerText]`); strings.Join(shown, ", ") !=
		"2, left out (small)" {
		t.Errorf("the defaults are shown as %q", shown)
	}
	result := func() string {
		b.do(chromedp.Click("#call-button"))
		b.await(`location.pathname.endsWith("/call") && document.querySelector("#result pre") !== null`)
		text := eval[string](b, `JSON.stringify(JSON.parse(document.querySelector("#result details pre").textContent))`)
		b.open("/console/tools/note?arguments=" + url.QueryEscape(text))
		return text
	}
	b.do(chromedp.SendKeys(`[name="input.place"]`, "Lyon"))
	if got := result(); got != `{"copies":2,"place":"Lyon","size":"small"}` {
		t.Errorf("with one input the call returns %s", got)
	}
	b.open("/console/tools/note")
	b.do(chromedp.SetValue(`[name="input.place?"]`, "empty"), chromedp.SetValue(`[name="input.remark?"]`, "null"),
		chromedp.SetValue(`[name="input.tags?"]`, "empty"), chromedp.SetValue(`[name="input.size"]`, `"large"`),
		chromedp.Click(`[name="input.urgent"][value="false"]`), chromedp.SendKeys(`[name="input.copies"]`, "3"))
	if got := result(); got != `{"copies":3,"place":"","remark":null,"size":"large","tags":[],"urgent":false}` {
		t.Errorf("with a choice for each input the call returns %s", got)
	}
	if got := result(); got != `{"copies":3,"place":"","remark":null,"size":"large","tags":[],"urgent":false}` {
		t.Errorf("the same call again returns %s", got)
	}
	// What is entered after a choice is sent.
	b.do(chromedp.SendKeys(`[name="input.remark"]`, "fragile"), chromedp.Click(`button[name="add"][value="input.tags"]`))
	b.press("new")
	b.do(chromedp.Click(`[name="input.urgent"][value=""]`))
	if got := result(); got != `{"copies":3,"place":"","remark":"fragile","size":"large","tags":["new"]}` {
		t.Errorf("with what was entered after the choices the call returns %s", got)
	}
	b.do(chromedp.Click("#call-button"))
	b.await(`document.querySelector("#result pre") !== null`)
	for _, width := range widths {
		b.resize(width)
		box := eval[[]float64](b, `["#form", "#outcome"].flatMap((id) => {
			const { left, right, top, bottom } = document.querySelector(id).getBoundingClientRect();
			return [left, right, top, bottom];
		})`)
		if beside := box[1] <= box[4] && box[6] < box[3]; beside != (width == 1280) || !beside && box[6] < box[3] {
			t.Errorf("at %d pixels the form is at %.0f and the result at %.0f", width, box[:4], box[4:])
		}
	}
}
