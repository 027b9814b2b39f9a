package console_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hatchel/internal/sampletest"
)

// hostileTexts are texts that leave the place where a page puts them, if it puts them there as they are.
func hostileTexts() (texts []string) {
	marks := []string{"<hostile>", "</pre><hostile>", "</textarea><hostile>", "</title><hostile>", "</script><hostile>",
		"--><hostile>", "]]><hostile>", "</option></select><hostile>", `"><hostile>`, `'><hostile>`, "`><hostile>",
		`" hostile="1`, `' hostile='1`, "\u202e<hostile>", "\u2066hidden\u2069", "a\u200bb", "\u0007", "\u00ad", "\ufeff",
		"&lt;hostile&gt;", "&#60;hostile&#62;", "javascript:hostile()", "data:text/html,<hostile>", "{{hostile}}",
		"<svg/onload=hostile>", "<img src=x onerror=hostile>", "<!--", "<![CDATA[", "<?hostile?>", "\\u003chostile>"}
	for _, m := range marks {
		texts = append(texts, m, "x"+m, m+m, "\n"+m+"\n", strings.ToUpper(m), m+strings.Repeat("y", 300), "é"+m)
	}
	return texts
}

// shapeOf returns the elements and attributes of a page, without what they say, and without charts, which count calls.
func shapeOf(n *html.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		inCharts := slices.ContainsFunc(slices.Collect(d.Ancestors()), func(a *html.Node) bool { return attr(a, "id") == "charts" })
		if d.Type != html.ElementNode || inCharts || attr(d, "id") == "charts" {
			continue
		}
		out.WriteString("\n" + d.Data)
		for _, a := range d.Attr {
			out.WriteString(" " + a.Key)
		}
	}
	return out.String()
}

// unseen are characters that reorder or hide text.
const unseen = "\u202e\u2066\u2069\u200b\u00ad\ufeff\u0007"

func TestHostileTextsAddNeitherElementsNorAttributes(t *testing.T) {
	config := func(text string) string {
		quoted := strings.ReplaceAll(strings.ReplaceAll(strconv.QuoteToASCII(text), "${", "$${"), "%{", "%%{")
		for _, escape := range []string{`\a`, `\v`, `\f`, `\b`} {
			quoted = strings.ReplaceAll(quoted, escape, fmt.Sprintf(`\u%04x`, map[string]int{`\a`: 7, `\v`: 11, `\f`: 12, `\b`: 8}[escape]))
		}
		return strings.ReplaceAll(`
server { title = HOSTILE }
console {
  try   = "call"
  keep  = "0s"
  title = HOSTILE
}
tool "t" {
  title       = HOSTILE
  description = HOSTILE
  allow       = "'x' != caller.subject"
  input "a" {
    type        = string
    title       = HOSTILE
    description = HOSTILE
    example     = HOSTILE
  }
  input "e" {
    type = optional(enum(HOSTILE, "other"))
  }
  input "d" {
    type    = string
    default = HOSTILE
  }
  input "m" { type = optional(map(string)) }
  text = input.a
}
tool "broken" {
  description = "d"
  input "a" { type = string }
  check {
    that    = "false"
    message = "No: ${input.a}"
  }
  text = input.a
}`, "HOSTILE", quoted)
	}
	pagesOf := func(s *site, text string) (pages []*reply) {
		v := s.withTicket()
		tool := v.get("/console/tools/t")
		form := tool.controls("form")
		form.Set("input.a", text)
		form.Set("input.e?", "value")
		form.Set("input.e", text)
		wrong := v.post("/console/tools/t/plan", form)
		form.Set("input.e?", "out")
		form.Del("input.e")
		form.Set("input.m?", "value")
		form["input.m[]"] = []string{"0"}
		form.Set("input.m[0].key", text)
		form.Set("input.m[0].value", text)
		broken := v.get("/console/tools/broken?arguments=" + url.QueryEscape(`{"a":`+strconv.QuoteToASCII(text)+`}`)).controls("form")
		raw := v.get("/console/tools/t?as=json").controls("form")
		raw.Set("arguments", text)
		pages = append(pages, v.get("/console/"), v.get("/console/tools"), tool, wrong, v.post("/console/tools/t/plan", form),
			v.post("/console/tools/t/call", form), v.post("/console/tools/broken/plan", broken),
			v.post("/console/tools/t/plan", raw), v.get("/console/tools?q="+url.QueryEscape(text)),
			s.visit().get("/console/sign-in?next="+url.QueryEscape(text)))
		return pages
	}
	s := newSite(t, config("first"))
	s.load(config("harmless"))
	harmless := pagesOf(s, "harmless")
	texts := hostileTexts()
	if len(texts) < 200 {
		t.Fatalf("%d texts", len(texts))
	}
	for _, text := range sampletest.Of(t, 60, texts) {
		s.load(config(text))
		for i, page := range pagesOf(s, text) {
			if strings.ContainsAny(page.body, unseen) {
				t.Errorf("page %d shows a hidden character of %q", i, text)
			}
			got, want := strings.Split(shapeOf(page.page), "\n"), strings.Split(shapeOf(harmless[i].page), "\n")
			if slices.Contains([]int{0, 2, 6, 7, 8}, i) { // these show calls, or what is wrong or found
				if strings.Contains(strings.ToLower(shapeOf(page.page)), "hostile") || page.status >= 500 {
					t.Errorf("page %d with %q has a hostile element: %s", i, text, page.body)
				}
				continue
			}
			if !slices.Equal(got, want) {
				t.Errorf("page %d (%d) with %q has other elements: %s\n%s", i, page.status, text, difference(got, want), page.body)
				return
			}
		}
	}
}

func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%q, not %q", got[i], want[i])
		}
	}
	return fmt.Sprintf("%d elements, not %d", len(got), len(want))
}

func TestDiagnosticsAreTexts(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	v := s.withTicket()
	s.host.Load(t.Context(), filesOf("console {}\ntool \"</pre><hostile>\" { description = \"\u202e<hostile>\" }\n"))
	got := v.get("/console/reload")
	shown := textOf(got.find("diagnostics"))
	if !strings.Contains(shown, "a.hcl:2:6: error: Invalid tool name") || !strings.Contains(shown, `^^^`) ||
		strings.Contains(shapeOf(got.page), "hostile") || strings.ContainsAny(got.body, unseen) {
		t.Errorf("%s", got.body)
	}
	if state := textOf(v.get("/console/").find("verdict")); state != "the last reload failed, an earlier configuration is served" {
		t.Errorf("%q", state)
	}
}

func TestRowsWithOneIndexAreOneRow(t *testing.T) {
	s := newSite(t, "console { try = \"plan\" }\n"+formTool("type = list(list(list(list(string))))"))
	v := s.withTicket()
	form := v.get("/console/tools/t").controls("form")
	for _, name := range []string{"input.x[]", "input.x[1][]", "input.x[1][1][]", "input.x[1][1][1][]"} {
		form[name] = slices.Repeat([]string{"1"}, 100)
	}
	got := v.post("/console/tools/t/plan", form)
	if rows := strings.Count(got.body, `value="1"`); rows == 0 || len(got.body) > 64<<10 {
		t.Errorf("%d: %d bytes with %d rows", got.status, len(got.body), rows)
	}
}

func TestNoFileIsTakenBeforeTheTokenOfAForm(t *testing.T) {
	s := newSite(t, `console { try = "call" }
files { max_size = "1KiB" }
`+formTool("type = file(\"A text\")"))
	v := s.withTicket()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	file, err := w.CreateFormFile("token", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	file.Write(make([]byte, 2000)) // which is refused in other words once it is read
	w.Close()
	if got := v.send("POST", "/console/tools/t/call", w.FormDataContentType(), &body); got.status != http.StatusForbidden {
		t.Errorf("%d", got.status)
	}
}

func TestNamesOfPartsCountTowardsTheSizeOfAForm(t *testing.T) {
	s := newSite(t, "console {}\n"+oneTool)
	v := s.withTicket()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	w.WriteField("token", v.get("/console/tools/refund").token("/console/tools/refund/plan"))
	for i := range 300 {
		w.WriteField(fmt.Sprintf("%d%s", i, strings.Repeat("x", 4<<10)), "")
	}
	w.Close()
	got := v.send("POST", "/console/tools/refund/plan", w.FormDataContentType(), &body)
	if got.status != http.StatusBadRequest {
		t.Errorf("%d: %s", got.status, got.text())
	}
}

func TestALinkOfAnotherSiteSignsNobodyIn(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "mallory:ops")+people+oneTool)
	v := s.signedIn("vera")
	ticket := s.ticket(keyOf("mallory"))
	for _, site := range []string{"cross-site", "same-site"} {
		v.header.Set("Sec-Fetch-Site", site)
		if got := v.get(ticket); got.status != http.StatusForbidden {
			t.Errorf("%s: %d", site, got.status)
		}
	}
	v.header.Set("Sec-Fetch-Site", "none")
	if got := v.get("/console/"); textOf(got.find("who")) != "vera" {
		t.Errorf("signed in as %q", textOf(got.find("who")))
	}
	if got := v.get(ticket); got.status != http.StatusSeeOther {
		t.Errorf("from the address bar: %d", got.status)
	}
}
