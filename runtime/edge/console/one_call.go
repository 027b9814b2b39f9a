package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hatchel/internal/tokens"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/observe/recent"
)

// oneCallData is the data of the page of one call.
type oneCallData struct {
	callView
	Kind    string         // of what was called: tool, prompt or resource
	Via     string         // the tool of a search that was asked to make the call; empty for none
	Records []audit.Record // of the audit log, the oldest first
	// Identities are as whom the call has acted in the systems behind connections, as the audit log has it.
	Identities []audit.Identity
	Masks      []string  // what became of the masks of its outputs, as the audit log has it
	Timeline   *timeline // nil where nothing is known of what the call did when
	Trace      string    // address of its trace; empty for none
	Format     string    // of the answer; empty for a tool without formats
	Again      string    // address of the form with the same arguments; empty for none
}

// oneCall shows a call: what it did when, its arguments and its answer as they were recorded, and its records in the
// audit log.
func (c *Console) oneCall(q *request) (*answer, error) {
	id := q.PathValue("id")
	data := &oneCallData{Kind: "tool"}
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	found, _, err := c.recentCalls(q, operator.CallQuery{ID: id}, 1, nil)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		data.callView = *found[0]
		data.Timeline = newTimeline(&data.callView, q.now, c.isOperator(q))
	}
	if permitIdentifiedViewer(c, q) == "" {
		if err := data.findRecords(q.Context(), g, id); err != nil {
			return nil, err
		}
	}
	if len(found)+len(data.Records) == 0 {
		return nil, notFound("There is no such call among those that are kept. The audit log has calls where the " +
			"configuration has an audit block")
	}
	data.complete(id)
	if p, ok := g.Program(data.Tool); ok && data.Kind == "tool" {
		data.Page = toolPath(data.Tool)
		data.Format = formatOf(p.Tool(), data.Input)
		if len(data.Input) > 0 && data.InputSize == 0 {
			data.Again = data.Page + "?arguments=" + url.QueryEscape(string(data.Input))
		}
	}
	if data.TraceID != "" {
		data.Trace = q.block.TraceAddress(data.TraceID)
	}
	return &answer{template: "one-call", title: "Call of " + data.Tool, data: data}, nil
}

// Answer returns the text that was recorded of the answer, or its beginning.
func (d *oneCallData) Answer() (text string) {
	if json.Unmarshal(d.End.Output, &text) != nil {
		return string(d.End.Output)
	}
	return text
}

// Tokens estimates how many tokens the text of the answer takes, from its beginning if no more was recorded.
func (d *oneCallData) Tokens() int {
	if d.End == nil || d.End.Error != "" || len(d.End.Output) == 0 {
		return 0
	}
	n := tokens.Estimate(d.Answer())
	if d.End.OutputSize > len(d.End.Output) {
		n = n * d.End.OutputSize / len(d.End.Output)
	}
	return n
}

// AnswerJSON returns the object or list that the text of the answer is; nil for any other text.
func (d *oneCallData) AnswerJSON() json.RawMessage {
	text := strings.TrimSpace(d.Answer())
	if text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// findRecords reads the records of the call in the audit log.
func (d *oneCallData) findRecords(ctx context.Context, g *served.Served, id string) error {
	log, _ := g.AuditSource()
	if log == nil {
		return nil
	}
	_, err := readBack(ctx, log, 0, func(l *audit.Line) bool {
		if r, ok := l.Record(); ok && r.ID == id && (r.Event == audit.EventIntent || r.Event == audit.EventCall) {
			d.Records = append([]audit.Record{r}, d.Records...)
		}
		return true
	})
	return err
}

// complete sets what follows from the records, and for a call that is not kept all that they have of it.
func (d *oneCallData) complete(id string) {
	isKept := d.Call != nil
	if !isKept {
		d.Call = &recent.Call{ID: id}
	}
	for _, r := range d.Records {
		d.Kind, d.Via = r.Kind, r.Via
		if r.Identities != nil {
			d.Identities = r.Identities
		}
		if r.Masks != nil {
			d.Masks = maskTexts(r.Masks)
		}
		if r.Approval != nil {
			d.Approval = cmp.Or(d.Approval, r.Approval.ID)
		}
		if isKept {
			continue
		}
		d.Tool, d.Subject, d.TraceID = cmp.Or(r.Name, r.URI), r.Caller.Subject, r.TraceID
		d.Client, d.Input, d.InputSize = strconv.Quote(r.Caller.Client), r.Arguments, r.ArgumentsSize
		took := milliseconds(r.Duration)
		if d.Began.IsZero() {
			d.Began = r.Time.Add(-took)
		}
		if r.Event == audit.EventCall {
			d.End = &recent.End{
				After: r.Time.Sub(d.Began), Took: took, Outcome: r.Outcome, Error: r.Message, Rule: r.Rule,
			}
		}
	}
}

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
