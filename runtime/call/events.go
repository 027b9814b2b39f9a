package call

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/eventkind"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/event"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/result"
)

// callEvents are the events of one call.
type callEvents struct {
	publisher *event.Publisher // nil when nobody wants them
	request   *mcp.CallRequest // nil for the call of a task
	task      string           // that the call belongs to; empty for none
	started   bool             // the beginning was published
	hasID     bool
	id        [callIDLength]byte
}

const (
	callIDLength   = 26 // of crypto/rand.Text, which makes the IDs of calls that are recorded
	base32Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// eventKinds are the kinds of the events of calls.
var eventKinds = map[string]struct{ start, end eventkind.Kind }{
	"tool":     {eventkind.ToolCall, eventkind.ToolResult},
	"prompt":   {eventkind.None, eventkind.PromptGet},
	"resource": {eventkind.None, eventkind.ResourceRead},
}

var kindsOfCalls = eventkind.Of(eventkind.ToolCall, eventkind.ToolStep, eventkind.ToolResult, eventkind.PromptGet,
	eventkind.ResourceRead, eventkind.Refused, eventkind.Limit)

// beginEvents decides whether the events of the call are published. When nobody wants them, it is one atomic load.
func (c *call) beginEvents() {
	if p := c.operation.events; p.WantsAny(kindsOfCalls) {
		c.events.publisher = p
	}
}

// callID returns the ID of the call: that of its audit records, if it is recorded. It names the call and grants
// nothing, so it is not read from the operating system, which takes as long as an event.
func (c *call) callID() []byte {
	if e := &c.events; !e.hasID {
		if e.hasID = true; c.audit != nil {
			copy(e.id[:], c.audit.common.ID)
		} else {
			var random uint64
			for i := range e.id {
				if i%12 == 0 { // 12 times 5 bits
					random = rand.Uint64()
				}
				e.id[i] = base32Alphabet[random%32]
				random /= 32
			}
		}
	}
	return c.events.id[:]
}

// buffer is memory for what an event has.
type buffer struct{ input, client, output, session []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

const maxBuffer = 32 << 10 // bytes that are reused

func (b *buffer) release() {
	if cap(b.input) <= maxBuffer {
		buffers.Put(b)
	}
}

// publishStart publishes that a call of a tool begins, once its arguments were validated. It returns true.
func (c *call) publishStart() bool {
	e := &c.events
	kind := eventKinds[c.operation.Kind].start
	if e.publisher == nil || e.started || kind == eventkind.None {
		return true
	}
	e.started = true
	if !e.publisher.Wants(kind) {
		return true
	}
	b := buffers.Get().(*buffer)
	defer b.release()
	published := event.Call{Kind: kind, Name: c.operation.Decl.Name}
	c.describe(&published)
	c.describeStart(&published, b)
	e.publisher.Call(c.frame.Context, &published)
	return true
}

// describe adds what both events of a call have.
func (c *call) describe(to *event.Call) {
	to.ID, to.Task, to.Owner, to.Caller.Subject = c.callID(), c.events.task, c.action.Owner, c.caller.Subject
}

// describeStart adds what is known when a call begins.
func (c *call) describeStart(to *event.Call, b *buffer) {
	if c.events.publisher.Arguments {
		var recorded recordedArguments
		recorded, b.input = c.recordArguments(b.input[:0])
		to.Input, to.InputSize = recorded.text, recorded.size
	}
	to.TraceID = c.traceID()
	if i := c.caller.Identity; i != nil {
		to.Caller.Key, to.Caller.Groups = i.Key, i.Groups
	}
	b.client = appendClient(b.client[:0], c.caller.ClientInfo)
	to.Caller.Client = b.client
	if c.events.request != nil {
		b.session = c.events.request.AppendSession(b.session[:0])
		to.Session = b.session
	}
}

// maxClient is how many bytes of the name of a client an event has.
const maxClient = 256

// appendClient appends the name and the version of a client as a JSON string; nothing for a client that has not
// introduced itself.
func appendClient(dst, info []byte) []byte {
	from := len(dst)
	for _, member := range [...]string{"name", "version"} {
		text, ok := jsonscan.Lookup(info, member)
		if len(info) == 0 || !ok || len(text) < len(`"x"`) || text[0] != '"' || len(text) > maxClient {
			continue
		}
		if len(dst) == from {
			dst = append(dst, '"')
		} else {
			dst = append(dst, ' ')
		}
		dst = append(dst, text[1:len(text)-1]...)
	}
	if len(dst) == from {
		return dst
	}
	return append(dst, '"')
}

// publishEnd publishes what the call came to, before it is answered.
func (c *call) publishEnd(ctx context.Context, f *failure.Failure, interim string) {
	e := &c.events
	if e.publisher == nil {
		return
	}
	c.publishStart() // of a call that was refused before its arguments were validated
	outcome := c.outcome(ctx, f, interim)
	c.publishRefusal(ctx, f, outcome)
	kind := eventKinds[c.operation.Kind].end
	if !e.publisher.Wants(kind) {
		return
	}
	b := buffers.Get().(*buffer)
	defer b.release()
	published := event.Call{
		Kind: kind, Name: c.operation.Decl.Name, Outcome: outcome, Duration: time.Since(c.timing.started),
		Rule: c.access.decision.Rule, Replayed: c.reuse.replayedFrom,
	}
	c.describe(&published)
	if kind != eventkind.ToolResult {
		c.describeStart(&published, b)
	}
	switch {
	case f != nil:
		published.Error = cutMessage(c.hideSentInputs(f.Message))
	case interim == "":
		published.Rows, published.Bytes = c.result.CountedRows(), c.result.Size()
		if failures := c.result.Failures; failures.Failed > 0 {
			published.Failures, published.Error = c.describeFailures(failures)
		}
		if e.publisher.Results && kind == eventkind.ToolResult {
			b.output, published.OutputSize = c.appendOutput(b.output[:0])
			published.Output = b.output
		}
	}
	e.publisher.Call(ctx, &published)
}

// describeFailures returns the failures after which the call went on as its events have them, and the message of the
// first one.
func (c *call) describeFailures(f adapters.Failures) (described event.Failures, message string) {
	described = event.Failures{
		Failed: f.Failed, Of: f.Of, FailedStep: f.Step, FailedKey: cutMessage(c.hideSentInputs(f.Key)),
	}
	return described, cutMessage(c.hideSentInputs(f.Error))
}

const (
	maxMessage = 1 << 10 // bytes of a message, as in the audit log
	maxOutput  = 4 << 10 // bytes of a result
)

func cutMessage(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return text[:cutText([]byte(text), maxMessage)] + "…"
}

// appendOutput appends the text of the result as a JSON string, without secrets and sensitive inputs, and returns the
// size of a text that is not there in full.
func (c *call) appendOutput(dst []byte) (_ []byte, size int) {
	text := c.result.Text
	for _, other := range [][]byte{c.result.Blocks, c.result.Structured} {
		if len(text) == 0 {
			text = other
		}
	}
	shown := c.hideSentInputs(string(text))
	if len(shown) > maxOutput {
		size, shown = len(shown), shown[:cutText([]byte(shown), maxOutput)]
	}
	return value.AppendString(dst, shown), size
}

// publishRefusal counts a call that was refused, for an event a second.
func (c *call) publishRefusal(ctx context.Context, f *failure.Failure, outcome string) {
	if outcome != audit.Refused || f == nil {
		return
	}
	r := event.Refusal{
		Operation: c.operation.Kind, Name: c.operation.Decl.Name, Reason: c.refusal(f), Owner: c.action.Owner,
		Subject: c.caller.Subject,
	}
	if r.Limit = r.Reason == metrics.RefusedByLimit; !r.Limit {
		r.Message = cutMessage(c.hideSentInputs(f.Message))
	}
	c.operation.Env.Refusals.Add(ctx, c.events.publisher, r)
}

// runPublished runs the step and publishes what it came to.
func (s *Step) runPublished(c *call) error {
	p := c.events.publisher
	if c.nested || c.operation.Kind != "tool" || !p.Wants(eventkind.ToolStep) {
		return s.run(c)
	}
	began := time.Now()
	c.action.Attempts = 0
	err := s.run(c)
	if interimOutcome(err) == "" {
		s.publish(c, time.Since(began), err)
	}
	return err
}

func (s *Step) publish(c *call, took time.Duration, err error) {
	published := event.Step{
		Tool: c.operation.Decl.Name, ID: c.callID(), Subject: c.caller.Subject, Owner: c.action.Owner,
		Step: s.Decl.Name, Kind: s.Decl.Backend.Kind, Connection: s.connection, Duration: took,
		Outcome: backendOutcome(c.frame.Context, err), Attempts: c.action.Attempts,
	}
	output := c.frame.Output
	if s.Decl.Name == "" {
		published.Step = s.Decl.Backend.Kind
	} else {
		output = c.frame.Steps[s.Decl.Name]
	}
	switch {
	case err != nil:
	case output == nil && s.Decl.When != nil:
		published.Outcome = "skipped"
	default:
		if f := c.progress.stepFailures; f != nil {
			published.Outcome = audit.Partial
			if s.Decl.Each == nil && s.Decl.ContinueOnError {
				published.Outcome = audit.Failed
			}
			published.Failures, published.Error = c.describeFailures(*f)
			published.FailedStep = "" // is the step of the event
		}
		published.Rows, published.Bytes = measureOutput(output)
	}
	c.events.publisher.Step(c.frame.Context, &published)
}

// rowMembers are the members of the outputs of backends that hold rows.
var rowMembers = [...]string{"rows", "value"}

// textMembers are the members of the outputs of backends that hold a text.
var textMembers = [...]string{"stdout", "text", "body"}

// measureOutput returns how many rows the output of a step has, and how many bytes of text, where that is known without
// decoding it.
func measureOutput(output any) (rows, bytes int) {
	rows = result.CountRows(output)
	members, ok := output.(map[string]any)
	if !ok {
		return rows, textSize(output)
	}
	for _, name := range rowMembers {
		rows += result.CountRows(members[name])
	}
	for _, name := range textMembers {
		bytes += textSize(members[name])
	}
	return rows, bytes
}

func textSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case value.Bytes:
		return len(v)
	}
	return 0
}

// publishRequest publishes that an approval is requested.
func (p *Program) publishRequest(c *call, a *approval.Approval) {
	publisher := p.events
	if !publisher.Wants(eventkind.ApprovalRequested) {
		return
	}
	body, err := a.AppendJSON(nil)
	if err != nil {
		return
	}
	m := event.Meta{Kind: eventkind.ApprovalRequested, Operation: "tool", Name: p.Decl.Name,
		Subject: a.Caller.Subject, Owner: c.action.Owner}
	publisher.Publish(c.frame.Context, m, event.Member{Name: "tool", Value: p.Decl.Name},
		event.Member{Name: "approval", Value: json.RawMessage(body)})
}
