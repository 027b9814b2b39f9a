package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hatchel/internal/benchtest"
)

// rows returns the texts of the cells of a table, with one space between words.
func (r *reply) rows(id string) (rows [][]string) {
	table := r.find(id)
	if table == nil {
		return nil
	}
	for n := range table.Descendants() {
		if n.Data != "tr" {
			continue
		}
		var cells []string
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode {
				cells = append(cells, strings.Join(strings.Fields(textOf(c)), " "))
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// hrefOf returns where the link in a cell of a table leads to; rows and columns count from 0, the heading included.
func (r *reply) hrefOf(id string, row, column int) string {
	for n := range r.find(id).Descendants() {
		if n.Data != "tr" {
			continue
		}
		if row--; row >= 0 {
			continue
		}
		for c := range n.ChildNodes() {
			if c.Type != html.ElementNode {
				continue
			}
			if column--; column >= 0 {
				continue
			}
			for a := range c.Descendants() {
				if a.Data == "a" {
					return attr(a, "href")
				}
			}
			return ""
		}
	}
	return ""
}

const ruledTools = `
policy "money" {
  tools   = ["pay"]
  allow   = "'finance' in caller.groups"
  approve = "input.amount > 100"
  approval { timeout = "15m" }
}
policy "frozen" {
  tools = ["wipe"]
  deny  = "true"
}
tool "pay" {
  description = "Pays."
  scopes      = ["pay"]
  limit { rate = "10/m" }
  input "amount" { type = number }
  input "card" {
    type      = string
    sensitive = true
  }
  text = "paid ${input.amount} with ${input.card}"
}
tool "wipe" {
  description = "Wipes."
  text        = "x"
}
tool "look" {
  description = "Looks."
  allow       = "caller.subject != 'mallory'"
  text        = "x"
}
`

func TestTheMatrixIsTheLandingPageOfPolicies(t *testing.T) {
	s := newSite(t, keysOf("ada:admin", "vera:ops", "fred:finance")+"console { allow = \"caller.subject != null\" }\n"+ruledTools)
	page := s.signedIn("vera").get("/console/policies")
	want := [][]string{
		{"Tool", "you", "no group", "group admin", "group finance", "group ops"},
		{"look reads", "yes", "yes", "yes", "yes", "yes"},
		{"pay reads", "no", "no", "no", "depends", "no"},
		{"wipe reads", "no", "no", "no", "no", "no"},
	}
	if got := page.rows("matrix"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the matrix is %q", got)
	}
	admin := s.signedIn("ada").get("/console/policies").rows("matrix")
	if got := strings.Join(admin[0], "|"); got != "Tool|you|no group|group admin|group finance|group ops|subject mallory|key ada, fred, vera" {
		t.Errorf("the columns of an admin are %s", got)
	}
	if got := admin[1][6]; got != "no" {
		t.Errorf("mallory may look: %s", got)
	}
	for query, want := range map[string]string{
		"tool=pa*":               "1 tool, 5 callers",
		"caller=finance":         "3 tools, 1 caller",
		"does=destructive":       "0 tools, 5 callers",
		"caller=zzz&does=writes": "0 tools, 0 callers",
	} {
		if got := textOf(s.signedIn("vera").get("/console/policies?" + query).find("summary")); got != want {
			t.Errorf("%s: %q", query, got)
		}
	}
}

func TestACellOfTheMatrixExplainsItself(t *testing.T) {
	s := newSite(t, keysOf("ada:admin", "vera:ops", "fred:finance")+"console { allow = \"caller.subject != null\" }\n"+ruledTools)
	vera := s.signedIn("vera")
	address := vera.get("/console/policies?caller=finance").hrefOf("matrix", 2, 1)
	if address != "/console/policies/tool/pay?caller=group+finance" {
		t.Fatalf("the cell leads to %s", address)
	}
	page := vera.get(address)
	if got := textOf(page.find("verdict")); got != "depends on the input" {
		t.Errorf("the verdict is %q", got)
	}
	for id, want := range map[string][]string{
		"rules": {"policy.money.allow", "true", "'finance' in caller.groups", "a.hcl:", "policy.money.approve",
			"depends on the input", "asks an operator for an approval", "expires after 15m"},
		"facts":   {"10 a minute", "Scopes", "pay", "card: never in logs"},
		"callers": {"group finance", "depends", "group ops", "no", "policy.money.allow"},
	} {
		if got := textOf(page.find(id)); !containsAll(got, want...) {
			t.Errorf("%s has %q", id, got)
		}
	}
	own := vera.get("/console/policies/tool/pay")
	if got := textOf(own.find("decision")); textOf(own.find("verdict")) != "no" || !containsAll(got, "tool.pay.scopes", "lacks the scopes pay") {
		t.Errorf("vera reads %q", got)
	}
	for path, want := range map[string]int{
		"/console/policies/tool/none":                      404,
		"/console/policies/tool/pay?caller=group+none":     404,
		"/console/policies/tool/pay?caller=key+fred":       404, // persons are for admins
		"/console/policies/thing/pay":                      404,
		"/console/policies/tool/wipe?caller=group+finance": 200,
	} {
		if got := vera.get(path); got.status != want {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := s.signedIn("ada").get("/console/policies/tool/pay?caller=key+fred"); textOf(got.find("verdict")) != "no" {
		t.Errorf("the key fred has no scopes: %s", got.text())
	}
}

func TestTheMatrixTakesIntoAccountWhomSignInAdmits(t *testing.T) {
	s := newSite(t, strings.Replace(keysOf("ada:admin"), "auth {", `auth {
  sign_in {
    url            = "https://tools.example"
    provider       = "https://id.example"
    client_id      = "tools"
    assertion_file = "/run/token"
    group_names    = { g1 = "finance", g2 = "staff" }
    allow          = "'staff' in caller.groups"
  }`, 1)+"console {}\n"+ruledTools)
	ada := s.signedIn("ada")
	page := ada.get("/console/policies?caller=group")
	want := [][]string{
		{"Tool", "no group", "group staff+admin", "group staff+finance", "group staff", "group staff, subject mallory"},
		{"look reads", "no", "yes", "yes", "yes", "no"},
	}
	if got := page.rows("matrix"); fmt.Sprint(got[:2]) != fmt.Sprint(want) {
		t.Errorf("the matrix is %q", got)
	}
	if got := textOf(page.find("notes")); !containsAll(got, "sign_in admits none of these callers: no group", "'staff' in caller.groups (a.hcl:") {
		t.Errorf("the notes are %q", got)
	}
	refused := ada.get("/console/policies/tool/look?caller=no+group")
	if got := textOf(refused.find("decision")); !strings.Contains(got, "sign_in.allow") || textOf(refused.find("verdict")) != "no" {
		t.Errorf("the decision is %q", got)
	}
}

func TestAllRulesAreListed(t *testing.T) {
	s := newSite(t, keysOf("vera:ops")+people+"approvals { allow = \"'ops' in caller.groups\" }\n"+ruledTools+oneTool)
	vera := s.signedIn("vera")
	got := vera.get("/console/policies/rules").rows("rules")
	names := map[string]string{}
	for _, row := range got[1:] {
		names[row[0]] = strings.Join(row[1:], " | ")
	}
	for name, want := range map[string]string{
		"approvals.allow":      "'ops' in caller.groups | decides who may approve and reject calls of others | approvals | a.hcl:",
		"console.allow":        "decides who may see the console",
		"policy.money.allow":   "'finance' in caller.groups | allows a call for which it is true; one of the allow rules that apply must be true | pay | a.hcl:",
		"policy.money.approve": "input.amount > 100 | asks an operator for an approval",
		"policy.frozen.deny":   "true | denies a call for which it is true | wipe | a.hcl:",
		"tool.look.allow":      "denies a call for which it is false | look",
		"tool.pay.scopes":      "pay | denies a caller whose token lacks one of these scopes | pay",
		"tool.refund.approval": "input.order > 100 | asks an operator",
	} {
		if !strings.Contains(names[name], want) {
			t.Errorf("%s: %s", name, names[name])
		}
	}
	if got := textOf(vera.get("/console/policies/rules?q=FROZEN").find("summary")); got != "1 rule. A call that no rule decides is allowed." {
		t.Errorf("filtered: %s", got)
	}
}

func TestThePageOfAToolExplainsACall(t *testing.T) {
	s := newSite(t, keysOf("ada:admin", "vera:ops")+"console { allow = \"caller.subject != null\" }\n"+oneTool)
	ada, vera := s.signedIn("ada"), s.signedIn("vera")
	for _, c := range []struct {
		as      *visitor
		query   string
		status  int
		verdict string
	}{
		{vera, "arguments={\"order\":7}", 200, "allowed"},
		{vera, "arguments=", 200, "depends on the input"},
		{vera, "arguments={\"order\":700}", 200, "needs an approval"},
		{vera, "subject=mallory", 403, ""},
		{ada, "subject=mallory&arguments={\"order\":7}", 200, "denied"},
		{ada, "subject=x&claims=nonsense", 422, ""},
		{ada, "", 200, "depends on the input"},
	} {
		got := c.as.get("/console/policies/tool/refund?" + strings.ReplaceAll(c.query, `"`, "%22"))
		if got.status != c.status || textOf(got.find("verdict")) != c.verdict {
			t.Errorf("%s: %d %s", c.query, got.status, got.text())
		}
	}
	got := ada.get("/console/policies/tool/refund?subject=mallory&groups=a,+b&arguments=%7B%22order%22:7%7D")
	want := `hatchel policy explain DIR --tool 'refund' --subject 'mallory' --group 'a' --group 'b' --args '{"order":7}'`
	if textOf(got.find("command")) != want || !strings.Contains(textOf(got.find("rules")), "tool.refund.allow") {
		t.Errorf("the page has %s", got.text())
	}
}

// manyRules returns a configuration with n tools and rules that name 10 groups.
func manyRules(n int) string {
	out := keysOf("ada:admin") + manyTools(n)
	for i := range 10 {
		out += fmt.Sprintf("policy \"department_%d\" {\n tools = [\"*%d\"]\n allow = \"'department-%d' in caller.groups\"\n}\n", i, i, i)
	}
	return out
}

func TestTheMatrixOfManyToolsIsSmall(t *testing.T) {
	v := newSite(t, manyRules(200)).signedIn("ada")
	for _, path := range []string{"/console/policies", "/console/policies?page=2", "/console/policies/rules", "/console/policies/tool/tool_0100?caller=group+department-3"} {
		if got := v.get(path); got.status != http.StatusOK || len(got.body) > 256<<10 {
			t.Errorf("%s: %d, %d bytes", path, got.status, len(got.body))
		}
	}
	page := v.get("/console/policies?page=2")
	if got := textOf(page.find("summary")); got != "51 to 100 of 200 tools, 1 to 12 of 14 callers" || page.find("callers-after") == nil {
		t.Errorf("the second page: %s", got)
	}
}

// BenchmarkMatrix measures the matrix of 200 tools and 14 callers.
func BenchmarkMatrix(b *testing.B) {
	s := newSite(b, manyRules(200))
	v := s.signedIn("ada")
	base, err := url.Parse(s.web.URL)
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"/console/policies", "/console/policies/rules", "/console/policies/tool/tool_0100?caller=group+department-3"} {
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
