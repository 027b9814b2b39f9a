package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// library has prompts and resources of each kind.
const library = `
prompt "report" {
  title       = "Weekly report"
  description = "Write a report."
  argument "week" {
    type        = string
    description = "The week."
  }
  argument "length" { type = optional(enum("short", "long")) }
  argument "token" {
    type      = optional(string)
    sensitive = true
  }
  allow = "'ops' in caller.groups"
  message "user" { text = "A ${coalesce(input.length, "short")} report of ${input.week} \u202e for ${coalesce(input.token, "nobody")}." }
}
resource "config" {
  title       = "Configuration"
  description = "The configuration."
  uri         = "config://shop"
  mime_type   = "application/json"
  text        = "{\"currency\": \"EUR\"}"
}
resource "dot" {
  description = "A picture."
  uri         = "shop://dot.png"
  data        = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
}
resource "order" {
  description  = "An order."
  uri_template = "orders://{id}{?lang}"
  input "id" { type = integer }
  allow = "caller.subject == 'ada'"
  text  = "Order ${input.id + 1} in ${coalesce(input.lang, "en")}"
}
`

func newLibrary(t *testing.T, try string) *site {
	return newSite(t, keysOf("ada:admin", "vera:ops", "bob:callers")+"console {\n allow = \"true\"\n try = \""+try+"\"\n}\n"+audited+library)
}

func TestPromptsAndResourcesAreListedWhereThereAreSome(t *testing.T) {
	without := newSite(t, keysOf("vera:ops")+people+oneTool).signedIn("vera").get("/console/")
	if strings.Contains(textOf(without.find("menu")), "Prompts") || strings.Contains(textOf(without.find("menu")), "Resources") {
		t.Error("a server without prompts and resources has them in its menu")
	}
	vera := newLibrary(t, "call").signedIn("vera")
	prompts, resources := vera.get("/console/prompts"), vera.get("/console/resources")
	if menu := textOf(prompts.find("menu")); !containsAll(menu, "Prompts", "Resources") {
		t.Errorf("the menu has %q", menu)
	}
	if got := textOf(prompts.find("documents")); !containsAll(got, "report", "Weekly report", "Write a report.", "a.hcl:") {
		t.Errorf("the prompts are %q", got)
	}
	if got := textOf(resources.find("documents")); !containsAll(got, "config://shop", "orders://{id}{?lang}", "An order.") {
		t.Errorf("the resources are %q", got)
	}
	if got := textOf(vera.get("/console/resources?q=PNG").find("summary")); got != "1 resource" {
		t.Errorf("filtered: %q", got)
	}
	for path, parts := range map[string][]string{
		"/console/prompts/report":                                              {"Weekly report", "prompt.report.allow", "'ops' in caller.groups", `"required": true`, "Messages", "user", "Get as vera"},
		"/console/resources/order":                                             {"orders://{id}{?lang}", "resource.order.allow", `"uriTemplate": "orders://{id}{?lang}"`, "Read as vera"},
		"/console/resources/config":                                            {"config://shop", "application/json", "It has no arguments."},
		"/console/policies/prompt/report?caller=group+ops":                     {"yes", "prompt.report.allow", "group callers", "Open the prompt"},
		"/console/policies/resource/order":                                     {"no", "resource.order.allow"},
		"/console/policies/resource/order?arguments=orders%3A%2F%2F7":          {"denied", "--resource 'orders://7'"},
		"/console/policies/prompt/report?arguments=%7B%22week%22%3A%227%22%7D": {"allowed", `--prompt 'report' --args '{"week":"7"}'`},
	} {
		if got := vera.get(path); got.status != 200 || !containsAll(got.text(), parts...) {
			t.Errorf("%s: %d: %s", path, got.status, got.text())
		}
	}
	for _, path := range []string{"/console/prompts/none", "/console/resources/none", "/console/policies/prompt/none"} {
		if got := vera.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// try posts the form of a page with some values.
func (v *visitor) try(path, action string, values url.Values) *reply {
	v.t.Helper()
	form := v.get(path).controls("form")
	for name, texts := range values {
		form[name] = texts
	}
	return v.post(path+"/"+action, form)
}

func TestAPromptAndAResourceAreTriedAsByAClient(t *testing.T) {
	s := newLibrary(t, "call")
	vera := s.signedIn("vera")
	prompt := vera.try("/console/prompts/report", "call", url.Values{"input.week": {"W05"}, "input.length?": {"value"}, "input.length": {`"long"`},
		"input.token?": {"value"}, "input.token": {"hunter2"}})
	if got := textOf(prompt.find("outcome")); !containsAll(got, "ok", "user", `A long report of W05 \u202e for`) || strings.Contains(prompt.body, "hunter2") {
		t.Errorf("the prompt gives %q", got)
	}
	wrong := vera.try("/console/prompts/report", "call", url.Values{"input.week": {"W05"}, "input.length?": {"value"}, "input.length": {`"none"`}})
	if wrong.status != http.StatusUnprocessableEntity || wrong.find("result") != nil {
		t.Errorf("a wrong argument: %d %s", wrong.status, wrong.text())
	}
	config := vera.try("/console/resources/config", "call", nil)
	if got := textOf(config.find("result")); !containsAll(got, "config://shop", "Content, application/json", `"currency": "EUR"`) {
		t.Errorf("the resource gives %q", got)
	}
	dot := vera.try("/console/resources/dot", "call", nil)
	if !strings.Contains(dot.body, `<img src="data:image/png;base64,`) {
		t.Errorf("the picture is not shown: %s", dot.text())
	}
	order := vera.try("/console/resources/order", "call", url.Values{"input.id": {"41"}})
	if got := textOf(order.find("refused")); got == "" || order.find("result") != nil {
		t.Errorf("vera reads an order: %s", order.text())
	}
	order = s.signedIn("ada").try("/console/resources/order", "call", url.Values{"input.id": {"41"}, "input.lang?": {"value"}, "input.lang": {"a&b"}})
	if got := textOf(order.find("result")); !containsAll(got, "orders://41?lang=a%26b", "Order 42 in a&b") {
		t.Errorf("ada reads %q: %s", got, order.text())
	}
	if got := cells(vera.get("/console/resources/config").find("records")); len(got) != 4 || got[1] != "ok" || got[2] != "vera" {
		t.Errorf("the recent use is %q", got)
	}
	plan := vera.try("/console/resources/config", "plan", nil)
	if got := textOf(plan.find("plan")); !strings.Contains(got, "Nothing is sent") {
		t.Errorf("the plan is %q", got)
	}
	if got := vera.try("/console/resources/order", "plan", url.Values{"input.id": {"41"}}); textOf(got.find("refused")) == "" {
		t.Errorf("vera plans: %s", got.text())
	}
}

func TestPromptsAndResourcesAreTriedUnderThePermissionOfTools(t *testing.T) {
	for try, want := range map[string][2]int{"none": {403, 403}, "plan": {200, 403}, "call": {200, 200}} {
		vera := newLibrary(t, try).signedIn("vera")
		page := vera.get("/console/resources/config")
		if (page.find("try") != nil) != (try != "none") || (page.find("call-button") != nil) != (try == "call") {
			t.Errorf("%s: the page has %s", try, page.text())
		}
		form := newLibraryForm(vera, page)
		if got := vera.post("/console/resources/config/plan", form); got.status != want[0] {
			t.Errorf("%s: plan: %d", try, got.status)
		}
		if got := vera.post("/console/resources/config/call", form); got.status != want[1] {
			t.Errorf("%s: call: %d", try, got.status)
		}
	}
}

// newLibraryForm returns the form of a page, or one that a person makes up.
func newLibraryForm(v *visitor, page *reply) url.Values {
	if page.find("form") != nil {
		return page.controls("form")
	}
	return url.Values{"token": {page.token("/console/sign-out")}}
}
