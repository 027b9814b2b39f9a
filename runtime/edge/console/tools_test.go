package console_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/internal/benchtest"
)

func filesOf(config string) fs.FS { return fstest.MapFS{"a.hcl": {Data: []byte(config)}} }

// manyTools returns a configuration with n tools.
func manyTools(n int) string {
	var out strings.Builder
	out.WriteString("console { try = \"call\" }\n")
	for i := range n {
		fmt.Fprintf(&out, `tool "tool_%04d" {
  title       = "Tool number %d"
  description = "Does what number %d does. Use it when a number is needed, and nothing else helps."
  input "a" { type = integer }
  input "b" { type = optional(list(object({ c = string, d = optional(number) }))) }
  result = "{a: input.a}"
}
`, i, i, i)
	}
	return out.String()
}

func TestToolsAreListedByPagesAndFiltered(t *testing.T) {
	v := newSite(t, manyTools(250)).withTicket()
	first := v.get("/console/tools")
	if got := textOf(first.find("summary")); got != "1 to 100 of 250 tools" || first.find("before") != nil {
		t.Errorf("the first page: %q", got)
	}
	last := v.get("/console/tools?page=3")
	if got := textOf(last.find("summary")); got != "201 to 250 of 250 tools" || last.find("after") != nil {
		t.Errorf("the last page: %q", got)
	}
	if got := textOf(v.get("/console/tools?page=900").find("summary")); got != "201 to 250 of 250 tools" {
		t.Errorf("a page after the last: %q", got)
	}
	filtered := v.get("/console/tools?q=NUMBER+7")
	if got := textOf(filtered.find("summary")); got != "11 tools" {
		t.Errorf("filtered: %q", got)
	}
	if got := textOf(v.get("/console/tools?q=zzz").find("summary")); got != "0 tools" {
		t.Errorf("nothing found: %q", got)
	}
}

func TestAToolShowsItsFacts(t *testing.T) {
	got := newSite(t, "console {}\n"+oneTool).withTicket().get("/console/tools/refund")
	for id, want := range map[string][]string{
		"name": {"refund"}, "badges": {"reads", "asks for approval"}, "description": {"Pays an amount back."},
		"facts":  {"a.hcl:3", "1m", "10 a minute for each caller, 10 at once", "at most 64 KiB"},
		"rules":  {"tool.refund.allow", "caller.subject != 'mallory'", "tool.refund.approval", "input.order > 100"},
		"schema": {`"inputSchema": {`, `"minimum": 1`},
	} {
		for _, part := range want {
			if text := textOf(got.find(id)); !strings.Contains(text, part) {
				t.Errorf("%s lacks %q: %s", id, part, text)
			}
		}
	}
}

func TestTryDecidesWhatAFormCanDo(t *testing.T) {
	const tool = `
tool "t" {
  description = "d"
  input "n" { type = integer }
  result = "{n: input.n + 1}"
}
tool "inner" {
  description = "d"
  listed      = false
  text        = "x"
}`
	for _, c := range []struct {
		try        string
		plan, call int
	}{{"none", 403, 403}, {"plan", 200, 403}, {"call", 200, 200}} {
		s := newSite(t, keysOf("vera:ops")+"console {\n allow = \"true\"\n try = \""+c.try+"\"\n}\n"+tool)
		calls := newSite(t, keysOf("vera:ops")+"console {\n allow = \"true\"\n try = \"call\"\n}\n"+tool)
		form := calls.signedIn("vera").get("/console/tools/t").controls("form")
		v := s.signedIn("vera")
		page := v.get("/console/tools/t")
		if has := page.find("call-button") != nil; has != (c.try == "call") {
			t.Errorf("%s: a button to call: %t", c.try, has)
		}
		if c.try != "none" {
			form = page.controls("form")
		}
		form.Set("input.n", "41")
		if got := v.post("/console/tools/t/plan", form); got.status != c.plan {
			t.Errorf("%s: plan: %d: %s", c.try, got.status, got.text())
		}
		got := v.post("/console/tools/t/call", form)
		if got.status != c.call {
			t.Errorf("%s: call: %d: %s", c.try, got.status, got.text())
		}
		if c.call == 200 && !strings.Contains(textOf(got.find("result")), `"n": 42`) {
			t.Errorf("the result: %s", got.text())
		}
	}
	v := newSite(t, "console { try = \"call\" }\n"+tool).withTicket()
	inner := v.get("/console/tools/inner")
	if inner.find("call-button") != nil || inner.find("plan-button") == nil {
		t.Error("a tool that is not listed can be called")
	}
}

func TestACallIsOneOfThePersonWhoIsSignedIn(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "mallory:ops")+`
console {
  allow = "'ops' in caller.groups"
  try   = "call"
}
tool "t" {
  description = "d"
  allow       = "caller.subject != 'mallory'"
  text        = "Hello ${caller.subject}"
}`)
	for name, want := range map[string]string{"vera": "Hello vera", "mallory": "Unknown tool: t"} {
		v := s.signedIn(name)
		got := v.post("/console/tools/t/call", v.get("/console/tools/t").controls("form"))
		if text := textOf(got.find("try")); !strings.Contains(text, want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestALongResultIsDownloadedByItsSessionOnly(t *testing.T) {
	s := newSite(t, `console { try = "call" }
tool "t" {
  description = "d"
  input "a" { type = string }
  max_text    = "1MiB"
  text        = join("", [input.a, "<hostile>"])
}`)
	v := s.withTicket()
	form := v.get("/console/tools/t").controls("form")
	form.Set("input.a", strings.Repeat("é", 50_000))
	got := v.post("/console/tools/t/call", form)
	var address string
	for n := range got.find("result").Descendants() {
		if strings.HasPrefix(attr(n, "href"), "/console/downloads/") {
			address = attr(n, "href")
		}
	}
	all := v.get(address)
	if all.status != http.StatusOK || !strings.HasSuffix(all.body, "é<hostile>") ||
		all.header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		!strings.HasPrefix(all.header.Get("Content-Security-Policy"), "sandbox") ||
		!strings.HasPrefix(all.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d %v", all.status, all.header)
	}
	if other := s.withTicket().get(address); other.status != http.StatusNotFound {
		t.Errorf("another session: %d", other.status)
	}
}

func TestPagesWithManyToolsAreSmall(t *testing.T) {
	v := newSite(t, manyTools(1000)).withTicket()
	for _, path := range []string{"/console/", "/console/tools", "/console/tools?page=7", "/console/tools/tool_0500"} {
		if got := v.get(path); got.status != http.StatusOK || len(got.body) > 256<<10 {
			t.Errorf("%s: %d, %d bytes", path, got.status, len(got.body))
		}
	}
}

// BenchmarkPage measures a page of a server with 1,000 tools, all of which were called.
func BenchmarkPage(b *testing.B) {
	s := newSite(b, manyTools(1000))
	for i := range 1000 {
		s.call(fmt.Sprintf("tool_%04d", i), `{"a":1}`)
	}
	v := s.withTicket()
	base, err := url.Parse(s.web.URL)
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"/console/", "/console/tools", "/console/tools?q=tool", "/console/tools/tool_0500"} {
		b.Run(path, func(b *testing.B) {
			report := benchtest.ReportCPU(b)
			for b.Loop() {
				w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, s.web.URL+path, nil)
				for _, c := range v.client.Jar.Cookies(base) {
					r.AddCookie(c)
				}
				s.console.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			report()
		})
	}
}

// TestAToolIsLiveAlsoAfterAForm checks what the modules of a page need to keep it up to date.
func TestAToolIsLiveAlsoAfterAForm(t *testing.T) {
	config := "console { try = \"call\" }\n" + formTool("type = integer\nmin = 1")
	s := newSite(t, config)
	v := s.withTicket()
	page := v.get("/console/tools/t")
	version := attr(page.find("entry"), "data-keep")
	if live := attr(page.find("content"), "data-live"); !containsAll(live, "tool_result", "reload") || version == "" {
		t.Errorf("the page is live after %q, and its form is %q", live, version)
	}
	form := page.controls("form")
	form.Set("input.x", "1")
	for _, path := range []string{"/plan", "/call", "/copy"} {
		got := v.post("/console/tools/t"+path, form)
		if main := got.find("content"); attr(main, "data-live") == "" || attr(main, "data-page") != "/console/tools/t" ||
			attr(got.find("entry"), "data-keep") != version {
			t.Errorf("%s is not kept up to date", path)
		}
	}
	if page = v.get("/console/tools/t"); page.find("charts") == nil || page.find("recent-calls") == nil {
		t.Error("the page has neither charts nor calls")
	}
	for config, same := range map[string]bool{
		strings.Replace(config, "result", "cache { ttl = \"1m\" }\nresult", 1): true, strings.Replace(config, "min = 1", "min = 2", 1): false,
		strings.Replace(config, "min = 1", "min = 1\nsensitive = true", 1): false, strings.Replace(config, `"call"`, `"plan"`, 1): false,
	} {
		s.load(config)
		if got := attr(v.get("/console/tools/t").find("entry"), "data-keep"); (got == version) != same || got == "" {
			t.Errorf("%s\nhas the form %q", config, got)
		}
	}
}
