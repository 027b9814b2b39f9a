package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/edge/view"
)

// toolData is the data of the page of a tool.
type toolData struct {
	*hcl.Tool
	Facts          [][2]string
	Rules          call.OperationRules
	Masked         []maskedRow
	Policies       string   // address of the page that says who may use it; empty for a person who may not see it
	Modern, Legacy longText // the entry in tools/list, indented
	SameInBothEras bool
	Try            *tryData // nil with try = "none"
	Calls          []*callView
	OwnCalls       bool // the person sees their own calls only
	Charts         *chartsData

	app  *view.App // nil for a tool without a view
	room int       // bytes that the page may still have
}

const maxToolCalls = 8 // the latest ones, on the page of their tool

// tool shows one tool.
func (c *Console) tool(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	data, err := c.newToolData(q, g)
	if err != nil {
		return nil, err
	}
	filled := prefill(q, data.Input)
	if data.Try, err = newTry(q, data.Tool, filled); err != nil {
		return nil, err
	}
	if data.Try != nil {
		if err := data.Try.renderForm(data.Tool, filled); err != nil {
			return nil, err
		}
	}
	p, _ := g.Program(data.Name)
	c.layOut(q, data, p)
	return &answer{template: "tool", title: data.Name, data: data}, c.addCalls(q, data)
}

// addCalls adds the charts of the tool, and its latest calls that the person may see.
func (c *Console) addCalls(q *request, data *toolData) (err error) {
	data.Charts = c.chartsOf(q, data.Name)
	data.Calls, data.OwnCalls, err = c.recentCalls(q, operator.CallQuery{Tool: data.Name}, maxToolCalls, nil)
	return err
}

func (c *Console) newToolData(q *request, g *served.Served) (*toolData, error) {
	p, ok := g.Program(q.PathValue("name"))
	if !ok {
		return nil, notFound("There is no tool of this name. It may have been removed by a reload")
	}
	t := p.Tool()
	entry, _ := g.ToolEntry(t.Name)
	data := &toolData{
		Tool: t, Facts: factsOf(t, g.Config.Sources), Rules: p.ListRules(g.Config.Server.DenyByDefault),
		Modern: longText{Text: indentJSON(entry.Modern)}, Legacy: longText{Text: indentJSON(entry.Legacy)},
		SameInBothEras: bytes.Equal(entry.Modern, entry.Legacy), app: g.Apps[t.Name],
	}
	data.Masked = maskedRows(g.Config, p)
	if permitIdentifiedViewer(c, q) == "" {
		data.Policies = targetPath("tool", t.Name)
	}
	return data, nil
}

func indentJSON(text []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return string(text)
	}
	return out.String()
}

// factsOf returns the limits and properties of a tool, each with its name. Sources are the files of the configuration.
func factsOf(t *hcl.Tool, sources map[string][]byte) (facts [][2]string) {
	add := func(name, format string, args ...any) {
		facts = append(facts, [2]string{name, fmt.Sprintf(format, args...)})
	}
	add("Source", "%s", positionOf(t.Range))
	add("Runs", "%s", backendsOf(t))
	if as := identitiesOf(nil, t, sources); as != nil {
		add("Runs as", "%s", strings.Join(as, "; "))
	}
	if t.Missing != "" {
		add("Refused", "every call, because %s is missing", t.Missing)
	}
	add("Timeout", "%s", duration(t.Timeout))
	if l := t.Limit; l != nil {
		add("Limit", "%s", limitText(l))
	}
	if c := t.Cache; c != nil {
		scope := map[bool]string{true: "shared between callers", false: "of each caller"}[c.Public]
		add("Cache", "%s, %s", duration(c.TTL), scope)
	}
	if t.Idempotency != nil {
		add("Idempotency", "keys are kept for %s", duration(t.Idempotency.TTL))
	}
	if t.Task != nil {
		add("Task", "results are kept for %s", duration(t.Task.TTL))
	}
	if len(t.Scopes) > 0 {
		add("Scopes", "%s", strings.Join(t.Scopes, ", "))
	}
	if len(t.Requires) > 0 {
		add("Requires", "%s of the client", strings.Join(t.Requires, ", "))
	}
	add("Text", "at most %s for a model", t.MaxText)
	return facts
}

// identitiesOf appends as whom the connections of a tool, and of the tools that it calls, act: each once, as the
// configuration computes it. Connections whose calls all run as their login have none.
func identitiesOf(all []string, t *hcl.Tool, sources map[string][]byte) []string {
	for _, s := range t.Steps {
		if called, ok := s.Backend.Config.(*hcl.ToolCall); ok && called.Tool != nil {
			all = identitiesOf(all, called.Tool, sources)
		}
		conn := s.Backend.Connection
		if conn == nil {
			continue
		}
		var parts []string
		for _, part := range conn.IdentityParts() {
			at := part.Value.Range
			source := string(sources[at.File][at.Start.Byte:at.End.Byte])
			parts = append(parts, part.Label()+" = "+strings.Join(strings.Fields(source), " "))
		}
		text := conn.Name + ": " + strings.Join(parts, ", ")
		if len(parts) > 0 && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// backendsOf names the steps of a tool.
func backendsOf(t *hcl.Tool) string {
	if len(t.Steps) == 0 {
		return "nothing: the result is computed from the arguments"
	}
	parts := make([]string, len(t.Steps))
	for i, s := range t.Steps {
		parts[i] = s.Backend.Kind
		if s.Backend.Connection != nil {
			parts[i] += " " + s.Backend.Connection.Name
		}
		if s.Name != "" {
			parts[i] = s.Name + " (" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " → ")
}

func limitText(l *hcl.Limit) string {
	var parts []string
	if l.Rate.Calls > 0 {
		per := "each caller"
		if l.Shared {
			per = "all callers together"
		}
		parts = append(parts, fmt.Sprintf("%s for %s, %d at once", l.Rate, per, l.Burst))
	}
	if l.Concurrency > 0 {
		parts = append(parts, fmt.Sprintf("%d concurrent", l.Concurrency))
	}
	if l.Queue > 0 {
		parts = append(parts, fmt.Sprintf("%d wait up to %s", l.Queue, duration(l.MaxWait)))
	}
	return strings.Join(parts, ", ")
}
