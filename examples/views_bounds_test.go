package examples_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// boundTools are tools whose views have as many columns and lines as a view may have.
func boundTools() string {
	var columns strings.Builder
	for i := range 50 {
		fmt.Fprintf(&columns, "    c%d = integer\n", i)
	}
	const series = "a = number, b = number, c = number, d = number, e = number, f = number, g = number, h = number"
	return fmt.Sprintf(`tool "widest" {
  description = "List rows with many columns."
  result  = "[]"
  returns = list(object({
%[1]s  }))
  view "table" { filter = true }
}
tool "drawn" {
  description = "Draw many points."
  result  = "[]"
  returns = list(object({ day = string({ format = "date" }), %[2]s }))
  view "chart" {
    x = "day"
    y = ["a", "b", "c", "d", "e", "f", "g", "h"]
  }
}
tool "barred" {
  description = "Draw many bars."
  result  = "[]"
  returns = list(object({ day = string({ format = "date" }), %[2]s }))
  view "chart" {
    kind = "bar"
    x    = "day"
    y    = ["a", "b", "c", "d", "e", "f", "g", "h"]
  }
}
tool "longest" {
  description = "Read long texts."
  result  = "{a: '', b: '', lines: []}"
  returns = object({ a = string, b = string, lines = list(object({ n = integer, text = string })) })
  view "record" {}
}
`, columns.String(), series)
}

// Values at the bounds of views.
const (
	widestRows = `Array.from({length: 2001}, (_, i) => Object.fromEntries(Array.from({length: 50},
		(_, k) => ["c" + k, (i * 7919 + k) % 1000])))`
	mostPoints = `Array.from({length: 2000}, (_, i) => ({ day: new Date(Date.UTC(2019, 0, 1 + i)).toISOString().slice(0, 10),
		...Object.fromEntries([..."abcdefgh"].map((n, k) => [n, Math.round(1000 * (k + 2 + Math.sin(i / 60 + k)))])) }))`
	longestTexts = `{ a: "One word. ".repeat(200), b: "x".repeat(2001),
		lines: Array.from({length: 21}, (_, n) => ({ n, text: "A line of text. ".repeat(125) + "y" })) }`
)

// TestViewsInAHostAtTheirBounds shows as many rows, columns, points and characters as a view draws, and one row more.
func TestViewsInAHostAtTheirBounds(t *testing.T) {
	t.Parallel()
	f := example(t, "views")
	f.write("bounds.hcl", boundTools())
	h := minimalHost(t, f)
	show := func(width int, theme, tool, value, want string) {
		t.Helper()
		h.resize(width)
		h.prefer(theme)
		h.open(h.page)
		eval[bool](h.browser, `(window.instead = {content: [{type: "text", text: "The text of the answer."}], structuredContent: `+value+`}) !== undefined`)
		began := time.Now()
		h.begin(tool, `{}`, fmt.Sprintf(`{theme: %q}`, theme), want)
		if took := time.Since(began); *bounds && took > 2*time.Second {
			t.Errorf("%s is drawn after %s", tool, took)
		}
		h.checkView(tool, width, theme)
	}
	// act does what a person does in the view, until it is laid out again.
	act := func(what string) {
		t.Helper()
		took := inView[float64](h, `(() => { const at = performance.now(); `+what+`; document.body.offsetHeight; return performance.now() - at; })()`)
		if *bounds && took > 1000 {
			t.Errorf("%s takes %.0f ms", what, took)
		}
	}
	is := func(expression, want string) {
		t.Helper()
		if got := inView[string](h, "String("+expression+")"); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	const filter = `const f = document.querySelector("input[type=search]"); f.value = %q; f.dispatchEvent(new Event("input"))`

	show(760, "light", "widest", `{result: `+widestRows+`}`, "Only the first 2,000 rows of 2,001 are shown.")
	act(`document.querySelector("summary").click()`)
	is(`document.querySelector("details pre").checkVisibility() && document.querySelector("details pre").innerText`, "The text of the answer.")
	act(`document.querySelectorAll("button.sort")[49].click()`)
	is(`document.querySelector("tbody tr").lastChild.innerText + document.querySelectorAll("th, td").length`, "0550")
	act(fmt.Sprintf(filter, "777"))
	is(`document.querySelector(".foot").innerText.replace(/\s+/g, " ")`, "1–10 of 100 Previous Next")
	act(`document.querySelector(".scrolls").scrollLeft = 600`)
	is(`document.querySelector("tbody th").getBoundingClientRect().left === document.querySelector(".scrolls").getBoundingClientRect().left`, "true")

	show(400, "dark", "widest", `{result: `+widestRows+`}`, "41 more")
	act(`document.querySelector(".cards summary").click()`)
	is(`document.querySelector(".cards details").innerText.includes("C49") && document.querySelectorAll(".cards > li").length`, "5")
	act(fmt.Sprintf(filter, "no number"))
	is(`document.querySelector(".none").innerText`, "No row matches.")

	show(760, "dark", "drawn", `{result: `+mostPoints+`}`, "by day")
	is(`document.querySelectorAll("path.line").length`, "8")
	act(`document.querySelector("svg[role=img]").dispatchEvent(new KeyboardEvent("keydown", {key: "End"}))`)
	is(`document.querySelector(".tip p").innerText`, "22 Jun 2024")
	act(`[...document.querySelectorAll("button")].find((b) => b.innerText === "Table").click()`)
	is(`document.querySelector(".foot").innerText.includes("1–10 of 2,000")`, "true")
	show(400, "light", "barred", `{result: `+mostPoints+`}`, "by day")
	is(`document.querySelectorAll("rect, path.line").length`, "8")

	show(400, "dark", "longest", longestTexts, "… 1 more character")
	is(`[...document.querySelectorAll("button")].filter((b) => b.innerText === "Show all").length`, "20")
	act(`document.querySelector("td button").click()`)
	is(`document.activeElement.innerText.endsWith("A line of text. … 1 more character")`, "true")
}
