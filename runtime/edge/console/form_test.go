package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/internal/sampletest"
	"hatchel/runtime/edge/console"
)

// controls returns what a browser would post for the form with an id.
func (r *reply) controls(id string) url.Values {
	out := url.Values{}
	form := r.find(id)
	if form == nil {
		return out
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			name := attr(c, "name")
			_, checked := lookupAttr(c, "checked")
			switch {
			case c.Data == "template":
				continue
			case c.Data == "input" && (attr(c, "type") == "radio" && !checked || attr(c, "type") == "file"):
			case c.Data == "input":
				out.Add(name, attr(c, "value"))
			case c.Data == "textarea":
				out.Add(name, strings.ReplaceAll(textOf(c), "\n", "\r\n"))
			case c.Data == "select":
				for o := range c.Descendants() {
					if _, chosen := lookupAttr(o, "selected"); chosen {
						out.Add(name, attr(o, "value"))
					}
				}
			}
			walk(c)
		}
	}
	walk(form)
	return out
}

func lookupAttr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// typesOfForms are inputs, each with arguments that fit and arguments that do not.
var typesOfForms = []struct{ input, right, wrong string }{
	{`type = string`, `"a b\nc"`, ``},
	{"type = string\nmax_length = 3", `"abc"`, `"abcd"`},
	{"type = string\nformat = \"date\"", `"2026-11-23"`, `"x"`},
	{"type = string\nformat = \"email\"", `"a@b.example"`, `"x"`},
	{"type = string\nformat = \"uuid\"", `"f47ac10b-58cc-4372-a567-0e02b2c3d479"`, `"x"`},
	{"type = string\npattern = \"^a+$\"", `"aa"`, `"b"`},
	{`type = integer`, `12345678901234567890`, `1.5`},
	{"type = integer\nmin = 1", `1`, `0`},
	{`type = number`, `0.10000000000000000001`, `"x"`},
	{`type = bool`, `false`, ``},
	{`type = enum("a", "b c")`, `"b c"`, ``},
	{`type = enum("a", "b", "c", "d", "e", "f", "g", "h")`, `"h"`, ``},
	{`type = list(string)`, `["a", "", "b\nc"]`, ``},
	{`type = list(integer)`, `[1, 2]`, `["x"]`},
	{"type = list(integer)\nmin_items = 1", `[7]`, `[]`},
	{`type = set(string)`, `["a", "b"]`, ``},
	{`type = map(number)`, `{"a b": 1, "": 2.50}`, `{"a b": "x"}`},
	{`type = object({ a = string, b = optional(integer), c = nullable(bool) })`, `{"a": "x", "c": null}`, `{"a": "x", "b": "y", "c": true}`},
	{`type = list(object({ sku = string, tags = list(string), n = map(list(integer)) }))`,
		`[{"sku": "s", "tags": ["x", "y"], "n": {"k": [1, 2], "l": []}}, {"sku": "t", "tags": [], "n": {}}]`,
		`[{"sku": "s", "tags": [], "n": {"k": ["z"]}}]`},
	{`type = any`, `{"a": [1, null, {"b": 2}]}`, ``},
	{`type = one_of(integer, list(string))`, `["a"]`, `{"a": 1}`},
	{`type = list(list(list(list(list(list(list(integer)))))))`, `[[[[[[[1]]]]]]]`, `[[[[[[["x"]]]]]]]`},
}

func formTool(input string) string {
	return "tool \"t\" {\n description = \"d\"\n input \"x\" {\n" + input + "\n}\n result = \"{x: input.x}\"\n}\n"
}

func TestAFormPostsTheArgumentsThatItShows(t *testing.T) {
	type form struct{ shape, input, right, wrong string }
	var forms []form
	for _, c := range typesOfForms {
		for _, shape := range []string{"%s", "optional(%s)", "nullable(%s)", "optional(nullable(%s))"} {
			forms = append(forms, form{shape, c.input, c.right, c.wrong})
		}
	}
	for _, c := range sampletest.Of(t, 40, forms) {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(c.input, "type = "), "\n")
		s := newSite(t, "console { try = \"call\" }\n"+formTool("type = "+fmt.Sprintf(c.shape, kind)+"\n"+rest))
		v := s.withTicket()
		for _, value := range []string{c.right, c.wrong, "null", ""} {
			arguments := `{"x": ` + value + `}`
			switch {
			case value == "" && strings.HasPrefix(c.shape, "optional"):
				arguments = `{}`
			case value == "", value == "null" && !strings.Contains(c.shape, "nullable"):
				continue
			}
			v.checkForm(c.input+" in "+c.shape, arguments, value == "" || value != c.wrong)
		}
	}
}

// checkForm fills in the form of the tool t with arguments and compares what a call of it answers.
func (v *visitor) checkForm(input, arguments string, fits bool) {
	v.t.Helper()
	page := v.get("/console/tools/t?arguments=" + url.QueryEscape(arguments))
	posted := page.controls("form")
	if posted.Has("arguments") {
		v.t.Errorf("%s: the form cannot show %s", input, arguments)
		return
	}
	got := v.post("/console/tools/t/call", posted)
	if !fits {
		if got.status != http.StatusUnprocessableEntity || problems(got.page) == 0 {
			v.t.Errorf("%s takes %s: %d", input, arguments, got.status)
		}
		return
	}
	if got.status != http.StatusOK || got.find("result") == nil {
		v.t.Errorf("%s does not take %s: %d %s", input, arguments, got.status, textOf(got.find("try")))
		return
	}
	again := got.controls("form")
	again["token"] = posted["token"]
	if again.Encode() != posted.Encode() {
		v.t.Errorf("%s with %s is shown as\n%s after\n%s", input, arguments, again.Encode(), posted.Encode())
	}
}

func problems(n *html.Node) (found int) {
	for d := range n.Descendants() {
		if attr(d, "class") == "problem" {
			found++
		}
	}
	return found
}

func TestAllMistakesOfAFormAreShownBesideTheirFields(t *testing.T) {
	s := newSite(t, `console {}
tool "t" {
  description = "d"
  input "order" {
    type = integer
    min  = 1
  }
  input "lines" { type = list(object({ qty = integer })) }
  input "note" { type = optional(nullable(string)) }
  text = "x"
}`)
	v := s.withTicket()
	form := v.get("/console/tools/t").controls("form")
	form.Set("input.order", "0")
	form["input.lines[]"] = []string{"0", "1"}
	form.Set("input.lines[0].qty", "3")
	form.Set("input.lines[1].qty", "many")
	form.Set("input.note", "typed")
	form.Set("input.note?", "null")
	got := v.post("/console/tools/t/plan", form)
	if got.status != http.StatusUnprocessableEntity {
		t.Errorf("%d", got.status)
	}
	for field, want := range map[string]string{
		"input.order-problem":        "must be at least 1, got 0",
		"input.lines[1].qty-problem": `must be an integer, got the string "many"`,
		"input.note-problem":         "has a value, but something else is chosen: choose “value”, or clear it",
	} {
		if text := textOf(got.find(field)); text != want {
			t.Errorf("%s: %q", field, text)
		}
	}
	if got.find("input.lines[0].qty-problem") != nil {
		t.Error("a field without a mistake has a problem")
	}
}

// inputsOf returns the inputs of a tool with one input x.
func inputsOf(t testing.TB, x string) *schema.Type {
	t.Helper()
	config, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(formTool(x))}}, all.Set().Kinds(), hcl.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return config.Tools[0].Input
}

func TestWhatIsNotEnteredIsLeftOut(t *testing.T) {
	const object = `object({ a = optional(string), n = optional(list(integer)) })`
	for _, c := range []struct{ x, posted, want string }{
		{`type = string`, ``, `{}`},
		{`type = string`, `input.x?=empty`, `{"x":""}`},
		{`type = string`, `input.x= `, `{"x":" "}`},
		{`type = optional(string)`, ``, `{}`},
		{`type = optional(string)`, `input.x?=empty`, `{"x":""}`},
		{`type = optional(string)`, `input.x=a`, `{"x":"a"}`},
		{`type = optional(string)`, `input.x?=null`, `{}`}, // which is not offered
		{`type = nullable(string)`, `input.x?=null`, `{"x":null}`},
		{`type = nullable(string)`, `input.x=null`, `{"x":"null"}`},
		{"type = string\nformat = \"date\"", `input.x?=empty`, `{}`}, // no date is empty
		{"type = string\npattern = \"^a\"", `input.x?=empty`, `{}`},
		{"type = string\ndefault = \"a\"", ``, `{}`},
		{"type = string\ndefault = \"a\"", `input.x?=empty`, `{"x":""}`},
		{`type = optional(nullable(integer))`, `input.x= `, `{}`},
		{`type = optional(nullable(integer))`, `input.x?=null`, `{"x":null}`},
		{`type = optional(bool)`, `input.x=`, `{}`},
		{`type = optional(bool)`, `input.x=false`, `{"x":false}`},
		{`type = optional(nullable(bool))`, `input.x=null`, `{"x":null}`},
		{`type = optional(enum("a", "b"))`, `input.x=`, `{}`},
		{`type = optional(enum("a", "b"))`, `input.x="b"`, `{"x":"b"}`},
		{`type = list(string)`, ``, `{"x":[]}`},
		{`type = optional(list(string))`, ``, `{}`},
		{`type = optional(list(string))`, `input.x?=empty`, `{"x":[]}`},
		{`type = optional(list(string))`, `input.x[]=0`, `{"x":[""]}`},
		{`type = optional(map(string))`, `input.x?=empty`, `{"x":{}}`},
		{`type = ` + object, ``, `{"x":{}}`},
		{`type = optional(` + object + `)`, ``, `{}`},
		{`type = optional(` + object + `)`, `input.x?=empty`, `{"x":{}}`},
		{`type = optional(` + object + `)`, `input.x.a=b`, `{"x":{"a":"b"}}`},
		{`type = optional(` + object + `)`, `input.x.n?=empty`, `{"x":{"n":[]}}`},
		{`type = optional(any)`, ``, `{}`},
		{`type = optional(any)`, `input.x=null`, `{"x":null}`},
	} {
		posted, err := url.ParseQuery(strings.ReplaceAll(c.posted, ";", "&"))
		if err != nil {
			t.Fatal(err)
		}
		if got, problems := console.ArgumentsOf(inputsOf(t, c.x), posted); got != c.want || problems != nil {
			t.Errorf("%s with %s is %s, not %s %q", c.x, c.posted, got, c.want, problems)
		}
	}
}

func TestDefaultsAreShownInThePlaceOfValues(t *testing.T) {
	s := newSite(t, `console {}
tool "t" {
  description = "d"
  input "n" {
    type    = integer
    default = 20
  }
  input "s" {
    type    = string
    default = "ab"
  }
  input "e" {
    type    = enum("a", "b")
    default = "b"
  }
  input "b" {
    type    = bool
    default = true
  }
  input "l" {
    type    = list(integer)
    default = [1, 2]
  }
  input "secret" {
    type      = string
    default   = "hunter2"
    sensitive = true
  }
  input "must" { type = string }
  text = "x"
}`)
	page := s.withTicket().get("/console/tools/t")
	for id, want := range map[string]string{"input.n": "20", "input.s": "ab", "input.must": "", "input.secret": ""} {
		if n := page.find(id); attr(n, "placeholder") != want || attr(n, "value") != "" {
			t.Errorf("%s shows %q, and has the value %q", id, attr(n, "placeholder"), attr(n, "value"))
		}
	}
	try := textOf(page.find("try"))
	for _, want := range []string{"left out (b)", "left out (true)", "Left out, it is [1,2].", "must required", "n optional"} {
		if !strings.Contains(try, want) {
			t.Errorf("the form does not say %q: %s", want, try)
		}
	}
	for name, values := range page.controls("form") {
		if name != "token" && strings.Join(values, "") != "" {
			t.Errorf("the form posts %s = %q", name, values)
		}
	}
}

func TestRowsAreAddedAndRemovedWithoutScripts(t *testing.T) {
	s := newSite(t, "console {}\n"+formTool(`type = list(object({ n = integer, tags = list(string) }))`))
	v := s.withTicket()
	form := v.get("/console/tools/t").controls("form")
	press := func(name, value string) {
		form.Set(name, value)
		form = v.post("/console/tools/t/plan", form).controls("form")
	}
	press("add", "input.x")
	press("add", "input.x")
	form.Set("input.x[0].n", "1")
	form.Set("input.x[1].n", "2")
	press("add", "input.x[1].tags")
	form.Set("input.x[1].tags[0]", "red")
	press("remove", "input.x[0]")
	got := v.post("/console/tools/t/plan", form)
	again := got.controls("form")
	if len(again["input.x[]"]) != 1 || again.Get("input.x[1].n") != "2" || again.Get("input.x[1].tags[0]") != "red" {
		t.Errorf("%v: %s", again, got.text())
	}
}

func TestAFormSendsBackTheTextsThatItShows(t *testing.T) {
	const text = "👨\u200d👩 \tx\u00a0y\u202ez\U000e0067 \"<&'"
	types := []string{"string", "enum(\"other\", \"a\u200bb\")", "map(string)", "any"}
	types = append(types, "string\nmax_length = 100")
	for i, value := range []string{text, "a\u200bb", text, text, text} {
		s := newSite(t, "console {}\n"+formTool("type = "+types[i]))
		v := s.withTicket()
		form, quoted := v.get("/console/tools/t").controls("form"), strconv.Quote(value)
		switch types[i] {
		case "string", "string\nmax_length = 100":
			form.Set("input.x", value)
		case "map(string)":
			form["input.x[]"] = []string{"0"}
			form.Set("input.x[0].key", value)
			form.Set("input.x[0].value", value)
		default:
			form.Set("input.x", strings.ReplaceAll(strings.ReplaceAll(quoted, "\\u200d", "\u200d"), "\\u200b", "\u200b"))
		}
		again := v.post("/console/tools/t/plan", form).controls("form")
		again["token"] = form["token"]
		if again.Encode() != form.Encode() {
			t.Errorf("%s: %q becomes %q", types[i], form, again)
		}
	}
}

func TestATextWithLinesIsNotShownInAControlOfOneLine(t *testing.T) {
	s := newSite(t, "console {}\n"+formTool("type = string\nmax_length = 10"))
	page := s.withTicket().get("/console/tools/t?arguments=" + url.QueryEscape(`{"x": "a\nb"}`))
	if got := page.controls("form").Get("arguments"); got != `{"x": "a\nb"}` {
		t.Errorf("the form has %q: %s", got, textOf(page.find("try")))
	}
}

func TestAFormHasALimitedNumberOfFields(t *testing.T) {
	row := `{` + strings.TrimSuffix(strings.Repeat("%s = optional(string), ", 20), ", ") + `}`
	names := make([]any, 20)
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	s := newSite(t, "console {}\n"+formTool("type = list(list(object("+fmt.Sprintf(row, names...)+")))"))
	v := s.withTicket()
	arguments := `{"x": [` + strings.Repeat(`[{},{},{},{},{},{},{},{},{},{}],`, 200) + `[]]}`
	page := v.get("/console/tools/t?arguments=" + url.QueryEscape(arguments))
	if page.status != http.StatusOK || len(page.body) > 256<<10 || page.controls("form").Get("arguments") != arguments {
		t.Errorf("%d: a page of %d bytes", page.status, len(page.body))
	}
	form := v.get("/console/tools/t").controls("form")
	for i := range 30 {
		form.Add("input.x[]", strconv.Itoa(i))
		form.Add(fmt.Sprintf("input.x[%d][]", i), "0")
	}
	if got := v.post("/console/tools/t/plan", form); got.status != http.StatusOK || got.find("too-long") == nil || got.find("plan") == nil ||
		strings.Count(got.controls("form").Get("arguments"), "{}") != 30 || len(got.body) > 256<<10 {
		t.Errorf("30 rows of 20 fields: %d %s", got.status, got.text())
	}
	form["input.x[]"] = []string{"0"}
	for i := range 100 {
		form.Add("input.x[0][]", strconv.Itoa(i))
	}
	if got := v.post("/console/tools/t/plan", form); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.text(), "more than 2000 fields") {
		t.Errorf("2,100 fields: %d %s", got.status, got.text())
	}
}

// manyInputs returns a tool whose result has rows, texts and an image.
func manyInputs(n int, more string) string {
	var out strings.Builder
	out.WriteString("console { try = \"call\" }\ntool \"t\" {\n description = \"d\"\n" + more)
	for i := range n {
		fmt.Fprintf(&out, "input \"input_number_%d\" { type = optional(string(\"What this input is for, in a sentence of a usual length.\", "+
			"{ max_length = 100 }), \"a default\") }\n", i)
	}
	out.WriteString(" result = \"map(1..900, {{a: #, b: repeat('<x>', 90)}})\"\n}\n")
	return out.String()
}

// TestAPageWithALongFormAndAResultIsSmall has forms that just fit, and some that do not, with a result of any size. What
// does not fit is entered as JSON, or can be downloaded.
func TestAPageWithALongFormAndAResultIsSmall(t *testing.T) {
	s := newSite(t, manyInputs(1, ""))
	for _, n := range []int{1, 100, 200, 220, 240, 600} {
		s.load(manyInputs(n, ""))
		v := s.withTicket()
		page := v.get("/console/tools/t")
		form := page.controls("form")
		if isLong := page.find("too-long") != nil; isLong != form.Has("arguments") || isLong != (n > 220) {
			t.Errorf("%d inputs: the page says that a form is too long: %t", n, isLong)
		}
		got := v.post("/console/tools/t/call", form)
		for _, one := range []*reply{page, got} {
			if one.status != http.StatusOK || len(one.body) > 256<<10 {
				t.Errorf("%d inputs: %d, %d bytes", n, one.status, len(one.body))
			}
		}
		if result := textOf(got.find("result")); !containsAll(result, "And ", "more rows", "Download all of it") {
			t.Errorf("%d inputs: the result does not say that there is more: %.300s", n, result)
		}
		schema := textOf(page.find("schema"))
		if last := fmt.Sprintf("input_number_%d", n-1); !strings.Contains(schema, last) {
			if all := v.get("/console/tools/t/entry?revision=modern"); !strings.HasPrefix(all.body, schema) || !strings.Contains(all.body, last) {
				t.Errorf("%d inputs: the entry cannot be downloaded: %d %.300s", n, all.status, all.body)
			}
		}
	}
	list := "input \"more\" { type = optional(list(string)) }\n"
	s.load(manyInputs(150, list))
	v := s.withTicket()
	form := v.get("/console/tools/t").controls("form")
	form.Set("input.input_number_7", "seven")
	for i := range 300 {
		form.Add("input.more[]", strconv.Itoa(i))
		form.Set(fmt.Sprintf("input.more[%d]", i), "x")
	}
	for _, path := range []string{"plan", "call"} {
		got := v.post("/console/tools/t/"+path, form)
		if raw := got.controls("form").Get("arguments"); got.status != http.StatusOK || got.find("too-long") == nil ||
			!strings.Contains(raw, `"seven"`) || strings.Count(raw, `"x"`) != 300 || textOf(got.find("outcome")) == "" {
			t.Errorf("%s with many rows: %d, %.3000s", path, got.status, textOf(got.find("entry")))
		}
	}
	form.Set("input.input_number_7", strings.Repeat("long", 30))
	if got := v.post("/console/tools/t/call", form); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(textOf(got.find("entry")), "input_number_7: ") {
		t.Errorf("a mistake in a form that becomes JSON: %d %s", got.status, textOf(got.find("entry")))
	}
	s.load(manyInputs(150, list+"input \"pin\" {\n type = optional(string)\n sensitive = true\n}\n"))
	if got := v.post("/console/tools/t/call", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text(), "has sensitive inputs") {
		t.Errorf("with a sensitive input: %d %s", got.status, got.text())
	}
}

func TestATypeThatContainsItselfHasAForm(t *testing.T) {
	s := newSite(t, `console {}
type "node" { is = object({ name = string, children = list(type.node), more = map(type.node) }) }
tool "t" {
  description = "d"
  input "x" { type = type.node }
  result = "{x: input.x.name}"
}`)
	page := s.withTicket().get("/console/tools/t")
	if page.status != http.StatusOK || len(page.body) > 256<<10 {
		t.Errorf("%d, %d bytes", page.status, len(page.body))
	}
}

func TestSensitiveInputsAreNeverInAPage(t *testing.T) {
	s := newSite(t, `console { try = "call" }
tool "t" {
  description = "d"
  input "pin" {
    type      = string
    sensitive = true
  }
  input "pins" {
    type      = optional(list(object({ a = integer, b = any })))
    sensitive = true
  }
  input "n" { type = integer }
  text = "done"
}
tool "send" {
  description = "d"
  input "pin" {
    type      = string
    sensitive = true
  }
  http {
    post = "https://shop.example/${input.pin}"
    json = { pin = input.pin }
  }
}`)
	v := s.withTicket()
	sent := v.get("/console/tools/send").controls("form")
	sent.Set("input.pin", "hunter2")
	if got := v.post("/console/tools/send/plan", sent); got.find("plan") == nil || strings.Contains(got.body, "hunter2") {
		t.Errorf("a plan shows a sensitive value: %s", textOf(got.find("try")))
	}
	form := v.get("/console/tools/t").controls("form")
	form.Set("input.pin", "hunter2")
	form.Set("input.pins?", "value")
	form["input.pins[]"] = []string{"0"}
	form.Set("input.pins[0].a", "778899")
	form.Set("input.pins[0].b", `"hunter2"`)
	for _, n := range []string{"x", "5"} {
		form.Set("input.n", n)
		for _, path := range []string{"/plan", "/call"} {
			got := v.post("/console/tools/t"+path, form)
			if strings.Contains(got.body, "hunter2") || strings.Contains(got.body, "778899") {
				t.Errorf("%s with n = %s shows a sensitive value:\n%s", path, n, got.body)
			}
		}
	}
	raw := v.get("/console/tools/send?as=json").controls("form")
	raw.Set("arguments", `{"pin": "hunter2"}`)
	if got := v.post("/console/tools/send/plan", raw); got.find("plan") == nil || strings.Contains(got.body, "hunter2") {
		t.Errorf("JSON shows a sensitive value: %s", textOf(got.find("try")))
	}
	if got := attr(v.get("/console/tools/t").find("input.pin"), "type"); got != "password" {
		t.Errorf("the control is of type %q", got)
	}
}

func TestAFileOfAFormIsUploadedForItsTool(t *testing.T) {
	s := newSite(t, `console { try = "call" }
files { max_size = "1KiB" }
tool "t" {
  description = "d"
  input "document" { type = file("A text", { types = ["text/*"] }) }
  text = "It has ${input.document.size} bytes, and is called ${input.document.filename}."
}`)
	v := s.withTicket()
	page := v.get("/console/tools/t")
	if attr(page.find("form"), "enctype") != "multipart/form-data" {
		t.Error("the form sends no files")
	}
	send := func(path, content string, tokens []string) *reply {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for _, token := range tokens {
			w.WriteField("token", token)
		}
		file, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="input.document"; filename="<a>.txt"`}, "Content-Type": {"text/plain"},
		})
		if err != nil {
			t.Fatal(err)
		}
		file.Write([]byte(content))
		w.Close()
		return v.send(http.MethodPost, path, w.FormDataContentType(), &body)
	}
	tokens := page.controls("form")["token"]
	got := send("/console/tools/t/call", "hello", tokens)
	if text := textOf(got.find("result")); !strings.Contains(text, "It has 5 bytes") {
		t.Errorf("%d: %s", got.status, got.text())
	}
	again := v.post("/console/tools/t/call", got.controls("form"))
	if text := textOf(again.find("result")); !strings.Contains(text, "It has 5 bytes") {
		t.Errorf("the file again: %d: %s", again.status, again.text())
	}
	if got := send("/console/tools/t/call", strings.Repeat("x", 2000), tokens); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a file that is too large: %d: %s", got.status, got.text())
	}
	if got := send("/console/tools/t/call", "hello", []string{"x"}); got.status != http.StatusForbidden {
		t.Errorf("another token: %d", got.status)
	}
}

func FuzzForm(f *testing.F) {
	for i, c := range typesOfForms {
		for _, value := range []string{c.right, c.wrong} {
			if value != "" {
				f.Add(i, `{"x":`+value+`}`)
			}
		}
	}
	f.Add(0, "{\"x\":\"b\xcc\"}")
	var inputs []*schema.Type
	for _, c := range typesOfForms {
		config, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(formTool(c.input))}}, all.Set().Kinds(), hcl.Options{})
		if diags.HasErrors() {
			f.Fatal(diags)
		}
		inputs = append(inputs, config.Tools[0].Input)
	}
	f.Fuzz(func(t *testing.T, n int, arguments string) {
		if n < 0 || n >= len(inputs) || !json.Valid([]byte(arguments)) {
			return
		}
		input := inputs[n]
		_, violations, _ := input.Compile().Arguments([]byte(arguments), schema.Unlimited)
		back, problems, ok := console.RoundTrip(input, []byte(arguments))
		if !ok {
			return
		}
		_, after, _ := input.Compile().Arguments(back, schema.Unlimited)
		if problems || len(violations) != len(after) {
			t.Errorf("%s becomes %s, with %v after %v", arguments, back, after, violations)
		}
	})
}
