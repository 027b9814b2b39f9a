package console

import (
	"cmp"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime"
)

// overviewData is the data of the first page.
type overviewData struct {
	runtime.Readiness
	Last    runtime.Report // of the last load that was tried
	Loaded  time.Time
	Loads   []runtime.Load // the last ones, the newest first
	Errors  string         // diagnostics of the last load, as the terminal prints them
	Refused string
	// Failing and Slowest are the tools of the last hour with the most failed calls, and the slowest ones.
	Failing, Slowest []busyRow
}

// newOverview returns what is served, and what the last load came to.
func (c *Console) newOverview(q *request) *overviewData {
	readiness, status := c.Host.Readiness(q.Context())
	return &overviewData{
		Readiness: readiness, Last: status.Last, Loaded: status.Loaded, Loads: status.Loads,
		Errors: printDiagnostics(status.Last.Diagnostics, status.Last.Sources),
	}
}

// overview shows what is served, and what is wrong.
func (c *Console) overview(q *request) (*answer, error) {
	data := c.newOverview(q)
	data.Refused = printDiagnostics(data.Readiness.Refused, nil)
	data.Failing, data.Slowest = c.busiest(q.now)
	return &answer{template: "overview", title: "Overview", data: data}, nil
}

// maxDiagnostics is how many diagnostics a page shows.
const maxDiagnostics = 50

// printDiagnostics returns diagnostics as the terminal prints them.
func printDiagnostics(diags hcl.Diagnostics, sources map[string][]byte) string {
	var out strings.Builder
	diags[:min(len(diags), maxDiagnostics)].Print(&out, sources) // a Builder returns no errors
	if more := len(diags) - maxDiagnostics; more > 0 {
		out.WriteString("\nand " + count(more, "more diagnostic") + ": hatchel validate prints all\n")
	}
	return out.String()
}

// Verdict returns the condition of the server as a whole.
func (o *overviewData) Verdict() condition {
	switch {
	case !o.Ready:
		return condition{"bad", "not ready"}
	case o.Hold != nil:
		return condition{"warn", "a reload waits for its lock"}
	case o.Stale:
		return condition{"bad", "the last reload failed, an earlier configuration is served"}
	case o.Audit != nil && !o.Audit.OK:
		return condition{"bad", "the audit log cannot be written"}
	case o.State != nil && !o.State.OK:
		return condition{"bad", "the state store is not available"}
	}
	for _, connection := range o.Connections {
		if !connection.OK || connection.Breaker == "open" {
			return condition{"warn", "a connection does not answer"}
		}
	}
	for _, upstream := range o.Upstreams {
		if upstream.State == adapters.UpstreamDrifted {
			return condition{"warn", "an MCP server has changed since its review"}
		}
	}
	return condition{"ok", "ready"}
}

// Facts returns the systems that the server depends on, each with its condition.
func (o *overviewData) Facts() (facts []dependency) {
	for _, h := range o.Connections {
		d := dependency{Name: h.Name, condition: conditionOf(h.OK), Note: h.Error}
		if h.Breaker != "" && h.Breaker != "closed" {
			d.condition, d.Note = condition{"warn", "breaker " + h.Breaker}, cmp.Or(h.Error, h.Reason)
		}
		facts = append(facts, d)
	}
	if o.State != nil {
		facts = append(facts, dependency{"state store", conditionOf(o.State.OK), o.State.Error})
	}
	if o.Audit != nil {
		facts = append(facts, dependency{"audit log", auditState(o.Audit.OK), o.Audit.Error})
	}
	return facts
}

// dependency is a system that the server depends on.
type dependency struct {
	Name string
	condition
	Note string
}

// auditState says whether the audit log can be written.
func auditState(ok bool) condition {
	if ok {
		return condition{"ok", "writable"}
	}
	return condition{"bad", "cannot be written"}
}

func conditionOf(ok bool) condition {
	if ok {
		return condition{"ok", "answers"}
	}
	return condition{"bad", "does not answer"}
}
