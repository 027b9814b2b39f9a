package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/load/access"
)

// policyData is the data of the page that explains the rules about a tool, a prompt or a resource.
type policyData struct {
	Kind, Name string
	Page       string // address of the page of what it is about
	Callers    []callerRow
	Explained  explained
	Facts      [][2]string // what also applies to a call that the rules allow
	Ask        askData
	Matrix     *access.Matrix
}

// callerRow is the answer for one caller.
type callerRow struct {
	matrixColumn
	Answer access.Answer
	By     string
	Query  string // of the address of its explanation
	IsAt   bool   // the page explains it
}

// explained is what decides about a caller, or about one call.
type explained struct {
	Of      string // the caller, or the call
	Verdict condition
	By      string
	Open    string // rules that read the input, and on which the answer depends
	Message string // for a caller whose call is denied
	Invalid string // what is wrong with the arguments
	Listed  string // whether the caller finds it in the list; empty where that is not known
	Rules   []explainedRule
	Masks   []access.Mask // of what it returns
	Command string        // that says the same; empty for none
}

// explainedRule is a rule with its value.
type explainedRule struct {
	rule
	Says, Error string
}

// askData is the form that asks about a call, which is not made.
type askData struct {
	Label, Example                     string // of the arguments
	Arguments, Subject, Groups, Claims string
	As                                 bool   // the person may name another caller
	Problem                            string // why nothing is explained
}

func (d *askData) namesAnother() bool { return d.Subject+d.Groups+d.Claims != "" }

// target is what the rules of a page are about.
type target struct {
	kind, name, page string
	access           access.Target
	tool             *hcl.Tool // nil for another target
	op               *hcl.Operation
	document         *document // nil for a tool
}

// findTarget returns a tool, a prompt, a resource or a skill by its name.
func findTarget(g *served.Served, kind, name string) (*target, error) {
	if kind == "tool" {
		if p, ok := g.Program(name); ok {
			t := p.Tool()
			return &target{kind, name, toolPath(name), access.ToolTarget(t), t, &t.Operation, nil}, nil
		}
		return nil, notFound("There is no tool of this name. It may have been removed by a reload")
	}
	d, err := findDocument(g, kind, name)
	if err != nil {
		return nil, err
	}
	t := &target{kind, name, d.Path(), access.Target{}, nil, d.Operation, d}
	switch {
	case d.prompt != nil:
		t.access = access.PromptTarget(d.prompt.Prompt)
	case d.resource.Skill != nil:
		t.access = access.SkillTarget(d.resource.Skill)
	default:
		t.access = access.ResourceTarget(d.resource.Resource)
	}
	return t, nil
}

// hasURI reports whether requests name the target by a URI.
func (t *target) hasURI() bool { return t.kind == "resource" || t.kind == "skill" }

// policy explains the rules about a tool, a prompt, a resource or a skill: for a caller of the matrix, or for a call.
func (c *Console) policy(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	kind := q.PathValue("kind")
	if !slices.Contains([]string{"tool", "prompt", "resource", "skill"}, kind) {
		return c.missingPage(q)
	}
	t, err := findTarget(g, kind, q.PathValue("name"))
	if err != nil {
		return nil, err
	}
	values := q.URL.Query()
	data := &policyData{Kind: kind, Name: t.name, Page: t.page, Facts: t.facts(g.Config), Ask: askData{
		Label: "Arguments, as JSON", Example: "{}", As: permitOperator(c, q) == "",
		Arguments: strings.TrimSpace(values.Get("arguments")), Subject: values.Get("subject"),
		Groups: values.Get("groups"), Claims: strings.TrimSpace(values.Get("claims")),
	}}
	out := &answer{template: "policy", title: t.name + ", policies", data: data}
	if t.hasURI() {
		data.Ask.Label, data.Ask.Example = "URI", t.document.URI
	}
	at := cmp.Or(values.Get("caller"), selfName)
	if values.Has("arguments") || data.Ask.namesAnother() { // the form asks
		at = ""
	}
	if !c.listCallers(q, g.Config, t, data, at) && at != "" {
		return nil, notFound("The rules and keys name no such caller")
	}
	if at != "" {
		return out, nil
	}
	data.Explained, err = c.explainCall(q, g, t, &data.Ask)
	if err != nil {
		var shown *Error
		if !errors.As(err, &shown) || shown.Status != http.StatusUnprocessableEntity {
			return nil, err
		}
		data.Ask.Problem, out.status = shown.Text, shown.Status
	}
	return out, nil
}

// listCallers sets the answer for each caller of the matrix, and explains one of them. It reports whether there is that
// one.
func (c *Console) listCallers(q *request, cfg *hcl.Config, t *target, data *policyData, at string) (found bool) {
	if t.tool != nil {
		data.Matrix = c.matrixFor(q, cfg)
	} else {
		persons := permitOperator(c, q) == ""
		data.Matrix = access.Of(cfg, t.access, func(c access.Caller) bool { return persons || !c.IsPerson() })
	}
	for _, column := range columnsFor(q, data.Matrix) {
		first := column.Callers[0]
		e := access.Explain(cfg, t.access, first)
		row := callerRow{newMatrixColumn(column), e.Answer, cmp.Or(e.By, openRules(e)), callerQuery(first.Name), false}
		for _, caller := range column.Callers {
			if caller.Name == at {
				found, row.IsAt = true, true
				data.Explained = t.explain(cfg, at, access.Explain(cfg, t.access, caller))
				data.Explained.Masks = access.Masks(t.access, caller)
			}
		}
		data.Callers = append(data.Callers, row)
	}
	return found
}

// answerState returns the condition for an answer of the matrix.
func answerState(a access.Answer) condition {
	switch a {
	case access.Yes:
		return condition{"ok", "yes"}
	case access.No:
		return condition{"bad", "no"}
	case access.NeedsApproval:
		return condition{"warn", "yes, after an approval"}
	}
	return condition{"warn", "depends on the input"}
}

// explain returns how the answer for a caller comes about.
func (t *target) explain(cfg *hcl.Config, caller string, e *access.Explanation) explained {
	out := explained{Of: caller, Verdict: answerState(e.Answer), By: e.By}
	if len(e.Scopes) > 0 {
		out.Message = "The caller lacks the scopes " + strings.Join(e.Scopes, ", ")
	}
	known := rulesByName(cfg)
	for _, s := range e.Rules {
		out.Rules = append(out.Rules, newExplainedRule(known, s.Rule, s.Program, s.Says, s.Error, s.Range))
	}
	if e.Answer == access.Depends {
		out.By, out.Open = "", openRules(e)
	}
	return out
}

// openRules names the rules that the input decides.
func openRules(e *access.Explanation) string {
	var open []string
	for _, s := range e.Rules {
		if s.Says == "" {
			open = append(open, s.Rule)
		}
	}
	return strings.Join(open, ", ")
}

func rulesByName(cfg *hcl.Config) map[string]rule {
	all := map[string]rule{}
	for _, r := range rulesOf(cfg) {
		all[r.Name] = r
	}
	return all
}

func newExplainedRule(known map[string]rule, name, program, says, problem string, at hcl.Range) explainedRule {
	r := explainedRule{rule{Name: name, Program: program, Range: at, Does: known[name].Does}, says, problem}
	r.Says = cmp.Or(says, "depends on the input")
	return r
}

// explainCall says what the rules decide about the call that the form describes. The call is not made.
func (c *Console) explainCall(q *request, g *served.Served, t *target, ask *askData) (explained, error) {
	caller := q.caller
	if ask.namesAnother() {
		if !ask.As {
			const text = "Only callers in the group admin may ask what others may do"
			return explained{}, &Error{http.StatusForbidden, text}
		}
		var err error
		if caller, err = ask.caller(); err != nil {
			return explained{}, &Error{http.StatusUnprocessableEntity, err.Error()}
		}
	}
	req := &mcp.CallRequest{Name: t.name, Caller: caller, Arguments: []byte(cmp.Or(ask.Arguments, "{}"))}
	kind := t.kind
	if t.hasURI() {
		kind, req.Name, req.Arguments = "resource", cmp.Or(ask.Arguments, t.document.URI), nil
	}
	e, err := g.Explain(q.Context(), kind, req)
	var refused *mcp.Error
	switch {
	case errors.As(err, &refused):
		return explained{}, &Error{http.StatusUnprocessableEntity, strings.TrimSuffix(refused.Message, ".")}
	case err != nil:
		return explained{}, err
	}
	out := explained{
		Of: "this call of " + cmp.Or(caller.Subject, selfName), By: e.Rule, Message: e.Message, Invalid: e.Invalid,
		Verdict: stateOf(e.Verdict), Listed: "no", Command: ask.command(t),
		Masks: access.Masks(t.access, access.OfCaller("", caller)),
	}
	if e.Verdict == "" {
		out.Verdict = answerState(access.Depends)
	}
	if e.Listed {
		out.Listed = "yes"
	}
	known := rulesByName(g.Config)
	for _, s := range e.Rules {
		out.Rules = append(out.Rules, newExplainedRule(known, s.Rule, s.Program, s.Says, s.Error, s.Range))
	}
	return out, nil
}

// caller returns the caller that the form names.
func (d *askData) caller() (*mcp.Caller, error) {
	i := &mcp.Identity{Subject: d.Subject, Key: "console", Groups: d.groups(), Claims: []byte(cmp.Or(d.Claims, "{}"))}
	if json.Unmarshal(i.Claims, &map[string]any{}) != nil {
		return nil, errors.New("claims must be a JSON object")
	}
	return &mcp.Caller{Revision: mcp.Revision20260728, Header: http.Header{}, Subject: d.Subject, Identity: i}, nil
}

// groups returns the groups that the form names.
func (d *askData) groups() (groups []string) {
	for group := range strings.SplitSeq(d.Groups, ",") {
		if group = strings.TrimSpace(group); group != "" {
			groups = append(groups, group)
		}
	}
	return groups
}

// command returns the command that explains the same.
func (d *askData) command(t *target) string {
	kind, name, arguments := t.kind, t.name, d.Arguments
	if t.hasURI() {
		kind, name, arguments = "resource", cmp.Or(d.Arguments, t.document.URI), ""
	}
	flags := [][2]string{{kind, name}, {"subject", d.Subject}}
	for _, group := range d.groups() {
		flags = append(flags, [2]string{"group", group})
	}
	var claims map[string]json.RawMessage
	json.Unmarshal([]byte(d.Claims), &claims) // caller has checked it
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		flags = append(flags, [2]string{"claim", name + "=" + string(claims[name])})
	}
	return shellCommand("hatchel policy explain DIR", append(flags, [2]string{"args", arguments}))
}

// facts returns what else applies to a call that the rules allow, each with its name.
func (t *target) facts(cfg *hcl.Config) (facts [][2]string) {
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, [2]string{name, text})
		}
	}
	if t.tool != nil && t.tool.Limit != nil {
		add("Limit", limitText(t.tool.Limit))
	}
	add("Scopes", strings.Join(t.op.Scopes, ", "))
	if t.tool != nil {
		add("Runs as", strings.Join(identitiesOf(nil, t.tool, cfg.Sources), "; "))
	}
	if names := sensitiveParts(nil, "", t.op.Input); names != nil {
		add("Redacted", strings.Join(names, ", ")+": never in logs, audit records, events and pages")
	}
	if t.op.Missing != "" {
		add("Refused", "every call, because "+t.op.Missing+" is missing")
	}
	return facts
}

// sensitiveParts appends the paths of the parts of a type that are sensitive.
func sensitiveParts(all []string, path string, t *schema.Type) []string {
	switch {
	case t == nil:
		return all
	case t.Sensitive:
		return append(all, path)
	}
	for _, m := range t.Members {
		all = sensitiveParts(all, strings.TrimPrefix(path+"."+m.Name, "."), m.Type)
	}
	return sensitiveParts(all, path+"[]", t.Elem)
}

// Path returns the address of the rules of a link.
func (l ruleLink) Path() string { return targetPath(l.Kind, l.Name) }
