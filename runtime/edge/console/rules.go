package console

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/stage/policy"
)

const rulesPath = policiesPath + "/rules"

// rule is one rule of a configuration about who may do what.
type rule struct {
	Name      string // as decisions name it
	Does      string // what becomes of a call for which it is true, or false
	Program   string
	AppliesTo string
	Links     []ruleLink // to the pages of what it applies to, if these are few
	Range     hcl.Range
}

// ruleLink leads to what a rule applies to.
type ruleLink struct{ Kind, Name string }

// maxRuleLinks is how many pages a rule of a policy leads to.
const maxRuleLinks = 3

// rulesOf returns all rules of a configuration: those of the server, of policies, and of tools, prompts, resources and
// skills.
func rulesOf(cfg *hcl.Config) []rule {
	all := serverRules(cfg)
	for _, p := range cfg.Policies {
		all = append(all, policyRules(cfg, p)...)
	}
	for _, t := range cfg.Tools {
		all = append(all, ownRules("tool", &t.Operation)...)
		for i, a := range t.Approvals {
			r := newRule(policy.ApprovalName(t.Name, i), approvalText(a), a.When)
			if a.When == nil {
				r.Program, r.Range = "true", a.Range
			}
			r.Links = []ruleLink{{"tool", t.Name}}
			all = append(all, r)
		}
	}
	for _, p := range cfg.Prompts {
		all = append(all, ownRules("prompt", &p.Operation)...)
	}
	for _, r := range cfg.Resources {
		all = append(all, ownRules("resource", &r.Operation)...)
	}
	for _, s := range cfg.Skills {
		all = append(all, ownRules("skill", &s.Operation)...)
	}
	return all
}

func newRule(name, does string, c *hcl.Condition) rule {
	r := rule{Name: name, Does: does}
	if c != nil {
		r.Program, r.Range = c.Source(), c.Range
	}
	return r
}

// What rules of the language do.
const (
	denyText     = "denies a call for which it is true"
	allowText    = "allows a call for which it is true; one of the allow rules that apply must be true"
	ownAllowText = "denies a call for which it is false"
	scopesText   = "denies a caller whose token lacks one of these scopes"
	signInText   = "denies a sign-in to people for whom it is false"
)

// serverRules returns the rules about people and the server.
func serverRules(cfg *hcl.Config) (all []rule) {
	add := func(name, does, appliesTo string, c *hcl.Condition) {
		if c != nil {
			r := newRule(name, does, c)
			r.AppliesTo = appliesTo
			all = append(all, r)
		}
	}
	if auth := cfg.Auth; auth != nil && auth.SignIn != nil {
		add("sign_in.allow", signInText, "people who sign in", auth.SignIn.Allow)
		for _, s := range auth.SignIn.ScopeBlocks {
			add("sign_in.scope."+s.Name+".allow", "decides who can grant the scope", "the scope "+s.Name, s.Allow)
		}
	}
	if cfg.Approvals != nil {
		add("approvals.allow", "decides who may approve and reject calls of others", "approvals", cfg.Approvals.Allow)
	}
	if cfg.Console != nil {
		add("console.allow", "decides who may see the console", "the console", cfg.Console.Allow)
	}
	if cfg.Events != nil {
		add("events.allow", "decides who may follow the events of all callers", "events", cfg.Events.Allow)
	}
	return all
}

// ownRules returns the rules that an operation itself has.
func ownRules(kind string, op *hcl.Operation) (all []rule) {
	if op.Allow != nil {
		all = append(all, newRule(kind+"."+op.Name+".allow", ownAllowText, op.Allow))
	}
	if len(op.Scopes) > 0 {
		r := rule{Name: kind + "." + op.Name + ".scopes", Does: scopesText, Program: strings.Join(op.Scopes, ", ")}
		r.Range = op.Range
		all = append(all, r)
	}
	for i := range all {
		all[i].Links = []ruleLink{{kind, op.Name}}
	}
	return all
}

// policyRules returns the rules of a policy.
func policyRules(cfg *hcl.Config, p *hcl.Policy) (all []rule) {
	appliesTo, links := targetsOf(cfg, p)
	add := func(name, does string, c *hcl.Condition) {
		r := newRule("policy."+p.Name+name, does, c)
		r.AppliesTo, r.Links = appliesTo, links
		all = append(all, r)
	}
	if p.Deny != nil {
		add(".deny", denyText, p.Deny)
	}
	if p.Allow != nil {
		add(".allow", allowText, p.Allow)
	}
	if p.Approve != nil {
		add(".approve", approvalText(p.Approval), p.Approve)
	}
	return all
}

// targetsOf returns what a policy applies to, by number, or if that is little by name.
func targetsOf(cfg *hcl.Config, p *hcl.Policy) (text string, links []ruleLink) {
	n := map[string]int{}
	add := func(kind, name string, applies bool) {
		if applies {
			n[kind]++
			links = append(links, ruleLink{kind, name})
		}
	}
	for _, t := range cfg.Tools {
		add("tool", t.Name, p.AppliesToTool(t.Name))
	}
	for _, x := range cfg.Prompts {
		add("prompt", x.Name, p.AppliesToPrompt(x.Name))
	}
	for _, r := range cfg.Resources {
		add("resource", r.Name, p.AppliesToResource(r.Name))
	}
	for _, s := range cfg.Skills {
		add("skill", s.Name, p.AppliesToSkill(s.Name))
	}
	switch {
	case p.AppliesToAll:
		return "everything", nil
	case len(links) == 0:
		return "nothing", nil
	case len(links) <= maxRuleLinks:
		return "", links
	}
	var parts []string
	for _, kind := range []string{"tool", "prompt", "resource", "skill"} {
		if n[kind] > 0 {
			parts = append(parts, count(n[kind], kind))
		}
	}
	return strings.Join(parts, ", "), nil
}

// approvalText returns what an approval does.
func approvalText(a *hcl.Approval) string {
	by := "an operator"
	if a.ByCaller {
		by = "the client's user"
	}
	text := fmt.Sprintf("asks %s for an approval of a call for which it is true; it expires after %s", by,
		duration(a.Timeout))
	if len(a.Notify) > 0 {
		text += "; notifies " + strings.Join(a.Notify, ", ")
	}
	return text
}

// rulesData is the data of the list of rules.
type rulesData struct {
	Bar   *filterBar
	Rules []rule
	pager
	Default string // what becomes of a call that no rule decides
}

const rulesPerPage = 100

// rules lists all rules of the configuration.
func (c *Console) rules(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	field := filterField{Name: "q", Label: "Text", IsText: true, Hint: "name or condition"}
	data := &rulesData{Bar: newFilterBar(q, field), Default: defaultText(g.Config)}
	query := strings.ToLower(strings.TrimSpace(data.Bar.Fields[0].Value))
	found := slices.DeleteFunc(rulesOf(g.Config), func(r rule) bool {
		text := strings.ToLower(r.Name + "\n" + r.Program + "\n" + positionOf(r.Range))
		return !strings.Contains(text, query)
	})
	from, to := data.pager.turn(q, "page", len(found), rulesPerPage)
	data.Rules = found[from:to]
	return &answer{template: "rules", title: "Rules", data: data}, nil
}

// defaultText says what becomes of a call that no rule decides.
func defaultText(cfg *hcl.Config) string {
	if cfg.Server.DenyByDefault {
		return "denied"
	}
	return "allowed"
}
