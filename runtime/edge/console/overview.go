package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/approval"
)

// overviewData is the data of the first page.
type overviewData struct {
	*loadData
	Refused string // what is refused of what is served, with diagnostics

	Pending     []*approval.Approval // the most urgent ones
	MorePending string               // how many more there are; empty for none

	Lately  *lately   // nil while no history is kept
	Chart   chartData // of the whole server
	Spans   []span
	History string // says where the history is kept, and since when

	// Failing and Slowest are the tools of the last hour with the most failed calls, and the slowest ones.
	Failing, Slowest []metrics.LastHour

	Systems     []dependency // those that do not work first
	MoreSystems int          // that work and are not shown
	SystemsPath string       // of the page with all of them; empty if the person may not see it
}

const (
	maxBusiest    = 5 // tools in each list of the overview
	maxSystems    = 8 // systems, but for those that do not work
	maxFirst      = 5 // pending approvals
	latelyMinutes = 5
)

// overview shows what waits for people, what calls come to, and what is wrong.
func (c *Console) overview(q *request) (*answer, error) {
	data := &overviewData{loadData: c.newLoadData(q)}
	data.Refused = printDiagnostics(data.Readiness.Refused, nil)
	data.Pending, data.MorePending = c.firstPending(q)
	c.addHistory(q, data)
	data.Systems = data.systems(q.now)
	slices.SortStableFunc(data.Systems, func(a, b dependency) int { return cmp.Compare(a.rank(), b.rank()) })
	for len(data.Systems) > maxSystems && data.Systems[len(data.Systems)-1].Class == "ok" {
		data.Systems = data.Systems[:len(data.Systems)-1]
		data.MoreSystems++
	}
	if permitIdentifiedViewer(c, q) == "" {
		data.SystemsPath = statePath
	}
	return &answer{template: "overview", title: "Overview", data: data}, nil
}

// firstPending returns the most urgent of the pending approvals that the person may see, and how many more there are.
func (c *Console) firstPending(q *request) (first []*approval.Approval, more string) {
	ctx, cancel := context.WithTimeout(q.Context(), countTimeout)
	defer cancel()
	reader, err := c.openApprovals(ctx, q)
	if err != nil {
		return nil, "" // the page of the approvals says why
	}
	defer reader.close()
	entries, next, err := reader.store.List(ctx, approval.ListQuery{Status: approval.Pending, Limit: maxCounted})
	if err != nil {
		return nil, ""
	}
	left := 0
	for _, e := range entries {
		if !reader.sees(e) {
			continue
		}
		a, err := e.Approval()
		if err != nil || len(first) == maxFirst {
			left++
			continue
		}
		first = append(first, a)
	}
	switch {
	case next != "":
		more = fmt.Sprintf("more than %d", left)
	case left > 0:
		more = fmt.Sprint(left)
	}
	return first, more
}

// lately is what calls came to in the latest minutes.
type lately struct {
	metrics.Point
	Span    string  // of time, in words
	minutes float64 // in Span, at least one
}

// span is a length of time of the chart.
type span struct {
	Label, Path string
	Current     bool
}

// addHistory adds what is known of the latest calls.
func (c *Console) addHistory(q *request, data *overviewData) {
	history, kept := c.Host.Telemetry().History(q.Context())
	if history == nil {
		return
	}
	began := history.Began()
	data.Lately = newLately(history, q.now, began)
	chart, isDay := history.Server(), q.URL.Query().Get("span") == "day"
	if data.Chart = newHourChart(&chart, began); isDay {
		data.Chart = newDayChart(&chart, began)
	}
	data.Spans = []span{{"Last hour", home, !isDay}, {"Last 24 hours", home + "?span=day", isDay}}
	data.History = historyText(kept, began, q.now)
	g := c.Host.Current().Served
	called := slices.DeleteFunc(history.LastHours(), func(t metrics.LastHour) bool {
		_, isServed := g.Program(t.Tool)
		return !isServed
	})
	data.Failing, data.Slowest = busiest(called)
}

// busiest returns the tools with the most failed calls, and those with the slowest ones.
func busiest(called []metrics.LastHour) (failing, slowest []metrics.LastHour) {
	shown := min(len(called), maxBusiest)
	slices.SortStableFunc(called, func(a, b metrics.LastHour) int { return cmp.Compare(b.Failed, a.Failed) })
	for _, t := range called[:shown] {
		if t.Failed > 0 {
			failing = append(failing, t)
		}
	}
	slices.SortStableFunc(called, func(a, b metrics.LastHour) int { return cmp.Compare(b.P95, a.P95) })
	return failing, called[:shown]
}

// newLately returns what calls came to in the latest whole minutes and in the one that has begun; less if a history
// began later.
func newLately(h *metrics.History, now, began time.Time) *lately {
	l := &lately{Point: h.Lately(latelyMinutes + 1), Span: fmt.Sprintf("In the last %d minutes", latelyMinutes)}
	from := now.Truncate(time.Minute).Add(-latelyMinutes * time.Minute)
	if began.After(from) {
		from, l.Span = began, "Since counting began at "+sinceText(began, now)
	}
	l.minutes = max(now.Sub(from).Minutes(), 1)
	return l
}

// PerMinute returns how many calls a minute a number of them is, for people.
func (l *lately) PerMinute(n uint32) string {
	rate := float64(n) / l.minutes
	if n > 0 && rate < 9.95 {
		return fmt.Sprintf("%.1f", rate)
	}
	return thousands(fmt.Sprintf("%.0f", rate))
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

// systems returns the systems that the server depends on, each with its condition.
func (o *overviewData) systems(now time.Time) (all []dependency) {
	for _, h := range o.Connections {
		d := dependency{Name: h.Name, condition: conditionOf(h.OK), Note: h.Error}
		if h.Breaker != "" && h.Breaker != "closed" {
			d.condition, d.Note = condition{"warn", "breaker " + h.Breaker}, cmp.Or(h.Error, h.Reason)
		}
		for _, u := range o.Upstreams {
			if u.State == adapters.UpstreamDrifted && h.Name == "mcp."+u.Connection {
				d.condition, d.Note = stateOf(u.State), "definitions of tools are not as reviewed"
			}
		}
		all = append(all, d)
	}
	if o.State != nil {
		all = append(all, dependency{"state store", conditionOf(o.State.OK), o.State.Error})
	}
	if o.Audit != nil {
		all = append(all, dependency{"audit log", auditState(o.Audit.OK), o.Audit.Error})
	}
	for _, h := range o.Webhooks {
		d := dependency{"webhook " + h.Name, condition{"ok", "delivered"}, h.Error}
		switch {
		case h.Disabled:
			d.condition = condition{"off", "disabled"}
		case h.Pending > 0 && h.Error != "":
			d.condition = condition{"bad", count(h.Pending, "pending event")}
		case h.Pending > 0:
			d.condition = condition{"warn", count(h.Pending, "pending event")}
		}
		if h.Oldest != nil {
			d.Note = strings.TrimSpace("The oldest is from " + ago(*h.Oldest, now) + ". " + h.Error)
		}
		all = append(all, d)
	}
	return all
}

// dependency is a system that the server depends on.
type dependency struct {
	Name string
	condition
	Note string
}

// ID returns the id of the row of the system.
func (d dependency) ID() string { return "system-" + strings.ReplaceAll(d.Name, " ", "-") }

// rank orders systems: those that do not work come first.
func (d dependency) rank() int { return slices.Index([]string{"bad", "warn", "ok", "off"}, d.Class) }

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
