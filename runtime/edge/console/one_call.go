package console

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/observe/event"
)

// oneCallData is the data of the page of one call.
type oneCallData struct {
	*callView
	CallID  string
	Kind    string         // of what was called: tool, prompt or resource
	Page    string         // address of the page of the tool; empty for none
	Records []audit.Record // of the audit log, the oldest first
	// Identities are as whom the call has acted in the systems behind connections, as the audit log has it.
	Identities []audit.Identity
	Bars       []bar
	Trace      string // address of its trace; empty for none
	Again      string // address of the form with the same arguments; empty for none
}

// bar is one line of a waterfall, in percent of the whole call.
type bar struct {
	Name, Note   string
	Start, Width float64
	Began        float64 // milliseconds after the call
	Duration     float64 // milliseconds
	condition
}

// barHeight is the height of a line in the picture, with the space below it.
const barHeight = 24

// Y returns the top of the line in the picture.
func (b bar) Y(line int) int { return line * barHeight }

// oneCall shows a call: its steps in time, its arguments and its answer as they were recorded, and its records in the
// audit log.
func (c *Console) oneCall(q *request) (*answer, error) {
	data := &oneCallData{CallID: q.PathValue("id"), Kind: "tool", callView: new(callView)}
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	found, _, err := c.readCalls(q, new(event.Query), data.CallID)
	if err != nil && !errors.As(err, new(*Error)) && !errors.As(err, new(*operator.ForbiddenError)) {
		return nil, err
	}
	if len(found) > 0 {
		data.callView = found[0]
	}
	if permitIdentifiedViewer(c, q) == "" {
		if err := data.findRecords(q.Context(), g); err != nil {
			return nil, err
		}
	}
	if len(found)+len(data.Records) == 0 {
		return nil, notFound("There is no such call among those that are kept. The audit log has calls where the " +
			"configuration has an audit block")
	}
	data.complete()
	if _, ok := g.Program(data.Tool()); ok && data.Kind == "tool" {
		data.Page = toolPath(data.Tool())
		if len(data.Began.Input) > 0 {
			data.Again = data.Page + "?arguments=" + url.QueryEscape(string(data.Began.Input))
		}
	}
	if id := data.Began.TraceID; id != "" {
		data.Trace = q.block.TraceAddress(id)
	}
	return &answer{template: "one-call", title: "Call of " + data.Tool(), data: data}, nil
}

// findRecords reads the records of the call in the audit log.
func (d *oneCallData) findRecords(ctx context.Context, g *served.Served) error {
	log, _ := g.AuditSource()
	if log == nil {
		return nil
	}
	_, err := readBack(ctx, log, 0, func(l *audit.Line) bool {
		if r, ok := l.Record(); ok && r.ID == d.CallID && (r.Event == audit.EventIntent || r.Event == audit.EventCall) {
			d.Records = append([]audit.Record{r}, d.Records...)
		}
		return true
	})
	return err
}

// complete sets what follows from the events and the records.
func (d *oneCallData) complete() {
	for _, r := range d.Records {
		d.Kind = r.Kind
		if r.Identities != nil {
			d.Identities = r.Identities
		}
		if r.Approval != nil {
			d.Approval = cmp.Or(d.Approval, r.Approval.ID)
		}
		name := cmp.Or(r.Name, r.URI)
		if d.Began.ID == "" {
			d.Began = callEvent{
				Time: r.Time.Add(-milliseconds(r.Duration)), Tool: name, ID: r.ID, Input: r.Arguments,
				Caller: callerName{r.Caller.Subject, r.Caller.Client}, TraceID: r.TraceID,
			}
		}
		if d.Ended.ID == "" && r.Event == audit.EventCall {
			d.Ended = callEvent{
				Time: r.Time, Tool: name, ID: r.ID, Duration: r.Duration, Outcome: r.Outcome, Error: r.Message,
				Rule: r.Rule,
			}
		}
	}
	d.Bars = d.waterfall()
}

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// waterfall returns the steps of the call, after the call itself; nil before its end.
func (d *oneCallData) waterfall() (bars []bar) {
	total := d.Ended.Duration
	if total <= 0 {
		return nil
	}
	began := d.Ended.Time.Add(-milliseconds(total))
	bars = []bar{{Name: d.Tool(), Width: 100, Duration: total, condition: d.State()}}
	for _, s := range d.Steps {
		start := float64(s.Time.Add(-milliseconds(s.Duration)).Sub(began)) / float64(time.Millisecond)
		b := bar{
			Name: cmp.Or(s.Step, s.Kind), Note: cmp.Or(s.Target, s.Kind), Duration: s.Duration,
			Began: max(start, 0), Start: min(max(start/total*100, 0), 99), condition: stateOf(s.Outcome),
		}
		b.Width = max(min(s.Duration/total*100, 100-b.Start), 0.5)
		bars = append(bars, b)
	}
	return bars
}
