package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
)

// document is a prompt, a resource or a skill.
type document struct {
	Kind               string // "prompt", "resource" or "skill"
	Name               string
	Title, Description string
	URI                string // of a resource or a skill, or its template; empty for a prompt
	*hcl.Operation

	prompt   *call.Prompt   // nil for a resource
	resource *call.Resource // nil for a prompt
}

// Path returns the address of its page.
func (d *document) Path() string { return documentsPath(d.Kind) + "/" + url.PathEscape(d.Name) }

// documentsPath returns the address of the list of prompts, of resources or of skills.
func documentsPath(kind string) string { return "/console/" + kind + "s" }

func newPrompt(p *call.Prompt) *document {
	return &document{Kind: "prompt", Name: p.Decl.Name, Title: p.Prompt.Title, Description: p.Prompt.Description,
		Operation: p.Decl, prompt: p}
}

func newResource(r *call.Resource) *document {
	d := &document{Kind: r.Kind, Name: r.Decl.Name, Title: r.Resource.Title, Description: r.Resource.Description,
		URI: r.Resource.URI, Operation: r.Decl, resource: r}
	if r.Resource.Template != nil {
		d.URI = r.Resource.Template.Raw()
	}
	return d
}

// documentsOf returns the prompts, the resources or the skills that are served, by name.
func documentsOf(g *served.Served, kind string) (all []*document) {
	resources := g.Resources
	switch kind {
	case "prompt":
		for _, p := range g.Prompts {
			all = append(all, newPrompt(p))
		}
		return all
	case "skill":
		resources = g.Skills
	}
	for _, r := range resources {
		all = append(all, newResource(r))
	}
	return all
}

// findDocument returns a prompt, a resource or a skill by its name.
func findDocument(g *served.Served, kind, name string) (*document, error) {
	for _, d := range documentsOf(g, kind) {
		if d.Name == name {
			return d, nil
		}
	}
	return nil, notFound("There is no " + kind + " of this name. It may have been removed by a reload")
}

// operation returns what is compiled of the document.
func (d *document) operation() *call.Operation {
	if d.prompt != nil {
		return &d.prompt.Operation
	}
	return &d.resource.Operation
}

// permitPrompts, permitResources and permitSkills permit viewers of a server that has some.
func permitPrompts(c *Console, q *request) string {
	return permitDocuments(c, q, len(c.Host.Current().Prompts))
}

func permitResources(c *Console, q *request) string {
	return permitDocuments(c, q, len(c.Host.Current().Resources))
}

func permitSkills(c *Console, q *request) string {
	return permitDocuments(c, q, len(c.Host.Current().Skills))
}

func permitDocuments(c *Console, q *request, n int) string {
	if refusal := permitViewer(c, q); refusal != "" || n > 0 {
		return refusal
	}
	return "This server has none"
}

// documentsData is the data of the list of prompts, of resources or of skills.
type documentsData struct {
	Kind      string
	Bar       *filterBar
	Documents []*document
	pager
}

// listDocuments lists the prompts, the resources or the skills, also those that are not listed for clients.
func listDocuments(kind string) func(*Console, *request) (*answer, error) {
	return func(c *Console, q *request) (*answer, error) {
		g, err := c.admit(q)
		if err != nil {
			return nil, err
		}
		label := strings.ToUpper(kind[:1]) + kind[1:] + "s"
		data := &documentsData{Kind: kind, Bar: newFilterBar(q, filterField{
			Name: "q", Label: "Text", IsText: true, Hint: "name, description or file",
		})}
		query := strings.ToLower(strings.TrimSpace(data.Bar.Fields[0].Value))
		found := slices.DeleteFunc(documentsOf(g, kind), func(d *document) bool {
			text := d.Name + "\n" + d.Title + "\n" + d.Description + "\n" + d.URI + "\n" + d.Range.File
			return !strings.Contains(strings.ToLower(text), query)
		})
		from, to := data.pager.turn(q, "page", len(found), toolsPerPage)
		data.Documents = found[from:to]
		return &answer{template: "documents", title: label, data: data}, nil
	}
}

// documentData is the data of the page of a prompt, a resource or a skill.
type documentData struct {
	*document
	Facts    [][2]string
	Rules    call.OperationRules
	Policies string // address of the page that says who may use it; empty for a person who may not see it
	Audit    string // address of its audit records; empty where these are not shown
	Records  []audit.Record
	Entry    string // in the list of clients, indented
	Try      *documentTry
	Skill    *skillView // nil for another document
}

// showDocument shows a prompt, a resource or a skill.
func showDocument(kind string) func(*Console, *request) (*answer, error) {
	return func(c *Console, q *request) (*answer, error) {
		g, err := c.admit(q)
		if err != nil {
			return nil, err
		}
		data, err := c.newDocumentData(q, g, kind)
		if err != nil {
			return nil, err
		}
		if data.Try, err = newDocumentTry(q, data.document, nil); err != nil {
			return nil, err
		}
		return &answer{template: "document", title: data.Name, data: data}, nil
	}
}

func (c *Console) newDocumentData(q *request, g *served.Served, kind string) (*documentData, error) {
	d, err := findDocument(g, kind, q.PathValue("name"))
	if err != nil {
		return nil, err
	}
	data := &documentData{document: d, Facts: d.facts(g.Config.Sources),
		Rules: d.operation().ListRules(g.Config.Server.DenyByDefault)}
	if permitIdentifiedViewer(c, q) == "" {
		data.Policies = targetPath(kind, d.Name)
		if log, _ := g.AuditSource(); log != nil {
			data.Audit = auditPath + "?" + url.Values{"tool": {d.Name}}.Encode()
			if err := data.addRecords(q.Context(), log); err != nil {
				return nil, err
			}
		}
	}
	entry := json.RawMessage(nil)
	switch {
	case d.prompt != nil:
		entry = served.PromptEntry(d.prompt.Prompt)
	case d.resource.Skill != nil:
		entry = served.SkillEntry(d.resource.Skill)
		if data.Skill, err = newSkillView(q, d.resource); err != nil {
			return nil, err
		}
	default:
		entry = served.ResourceEntry(d.resource.Resource)
	}
	data.Entry = indentJSON(entry)
	return data, nil
}

const (
	maxUses       = 8   // the latest ones, on the page of a prompt or a resource
	maxUseRecords = 200 // records of the audit log in which they are searched
)

// addRecords adds the latest requests for the document, of the last records of the audit log.
func (d *documentData) addRecords(ctx context.Context, log audit.Source) error {
	searched, kind, name := 0, []byte(strconv.Quote(d.Kind)), []byte(strconv.Quote(d.Name))
	_, err := readBack(ctx, log, 0, func(l *audit.Line) bool {
		searched++
		if bytes.Contains(l.Text, kind) && bytes.Contains(l.Text, name) {
			if r, ok := l.Record(); ok && r.Event == audit.EventCall && r.Kind == d.Kind && r.Name == d.Name {
				d.Records = append(d.Records, r)
			}
		}
		return len(d.Records) < maxUses && searched < maxUseRecords
	})
	return err
}

// facts returns the limits and properties of the document, each with its name.
func (d *document) facts(sources map[string][]byte) (facts [][2]string) {
	add := func(name, format string, args ...any) {
		facts = append(facts, [2]string{name, fmt.Sprintf(format, args...)})
	}
	add("Source", "%s", positionOf(d.Range))
	add("Runs", "%s", runsOf(d.Operation, sources))
	if d.prompt != nil {
		var roles []string
		for _, m := range d.prompt.Prompt.Messages {
			role := m.Role
			if m.Each != nil {
				role += " for each element"
			}
			roles = append(roles, role)
		}
		add("Messages", "%s", strings.Join(roles, ", "))
	}
	switch {
	case d.resource != nil && d.resource.Skill != nil:
		add("Directory", "%s", d.resource.Skill.Directory)
	case d.resource != nil:
		d.addResourceFacts(add)
	}
	if d.resource == nil || d.resource.Skill == nil {
		add("Timeout", "%s", duration(d.Timeout))
	}
	if len(d.Scopes) > 0 {
		add("Scopes", "%s", strings.Join(d.Scopes, ", "))
	}
	if len(d.Requires) > 0 {
		add("Requires", "%s of the client", strings.Join(d.Requires, ", "))
	}
	if d.Missing != "" {
		add("Refused", "every call, because %s is missing", d.Missing)
	}
	return facts
}

func (d *document) addResourceFacts(add func(name, format string, args ...any)) {
	r := d.resource.Resource
	if r.MimeType != "" {
		add("Media type", "%s", r.MimeType)
	}
	if r.Size > 0 {
		add("Size", "%d bytes", r.Size)
	}
	if !r.Listed {
		add("Listed", "no: clients can read it by its URI")
	}
	if r.CacheHint != nil {
		scope := map[bool]string{true: "for all callers", false: "for one caller"}[r.CacheHint.Public]
		add("Cache", "clients may cache it for %s, %s", duration(r.CacheHint.TTL), scope)
	}
	if r.Refresh > 0 {
		add("Refresh", "every %s for its subscribers", duration(r.Refresh))
	}
}

// runsOf names the steps of an operation, and as whom their connections act.
func runsOf(op *hcl.Operation, sources map[string][]byte) string {
	t := &hcl.Tool{Operation: *op}
	if len(op.Steps) == 0 {
		return "nothing: the content is part of the configuration, or computed from the arguments"
	}
	text := backendsOf(t)
	if as := identitiesOf(nil, t, sources); as != nil {
		text += ", as " + strings.Join(as, "; ")
	}
	return text
}

// uri returns the URI of the resource for these variables.
func (d *document) uri(variables map[string]string) string {
	if t := d.resource.Resource.Template; t != nil {
		return t.Expand(variables)
	}
	return d.URI
}

// plan returns what a request of the person who is signed in would send.
func (d *document) plan(q *request, texts map[string]string) ([]adapters.Effect, error) {
	if d.prompt != nil {
		return d.prompt.PlanEffects(q.Context(), q.caller, texts)
	}
	return d.resource.PlanEffects(q.Context(), q.caller, d.uri(texts), texts)
}

// get makes the request of the person who is signed in, as any client of theirs would.
func (c *Console) get(q *request, d *document, texts map[string]string) (mcp.Document, error) {
	req := &mcp.CallRequest{Name: d.Name, Caller: q.caller, NoWait: true}
	if d.resource != nil {
		req.Name = d.uri(texts)
		return c.Host.ReadResource(q.Context(), req)
	}
	var err error
	if req.Arguments, err = json.Marshal(texts); err != nil {
		return mcp.Document{}, err
	}
	return c.Host.GetPrompt(q.Context(), req)
}
