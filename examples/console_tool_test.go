package examples_test

import (
	"strings"
	"testing"

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
