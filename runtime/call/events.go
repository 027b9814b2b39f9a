package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/eventkind"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/recent"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/result"
)

// callEvents are the events of one call.
type callEvents struct {
	publisher *event.Publisher // nil when nobody wants them
	log       *recent.Log      // nil where calls are not kept for the console
	entry     recent.Entry     // of the call in log
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

// beginEvents decides whether the events of a call are published, and returns its events. When nobody wants them, it is
// one atomic load, and they are kept for the console alone. The request is nil for the call of a task.
func (o *Operation) beginEvents(request *mcp.CallRequest, recorded *auditCall) callEvents {
	e := callEvents{request: request, log: o.recent}
	if o.events.WantsAny(kindsOfCalls) {
		e.publisher = o.events
	}
	if recorded != nil {
		e.hasID = true
		copy(e.id[:], recorded.common.ID)
	}
	return e
}

// callID returns the ID of the call: that of its audit records, if it is recorded. It names the call and grants
// nothing, so it is not read from the operating system, which takes as long as an event.
func (e *callEvents) callID() []byte {
	if !e.hasID {
		e.hasID = true
		var random uint64
		for i := range e.id {
			if i%12 == 0 { // 12 times 5 bits
				random = rand.Uint64()
			}
			e.id[i] = base32Alphabet[random%32]
			random /= 32
		}
	}
	return e.id[:]
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

// areRead reports whether anything reads the events of the call.
func (e *callEvents) areRead() bool { return e.publisher != nil || e.log != nil }

// publishStart publishes and keeps that a call of a tool begins, once its arguments were validated. The call has begun
// at a time before that.
func (e *callEvents) publishStart(f *facts, began time.Time) {
	kind := eventKinds[f.operation.requestKind()].start
	if !e.areRead() || e.started || kind == eventkind.None {
		return
	}
	e.started = true
	if e.log == nil && !e.publisher.Wants(kind) {
		return
	}
	b := buffers.Get().(*buffer)
	defer b.release()
	published := event.Call{Kind: kind, Name: f.operation.Decl.Name}
	e.describe(&published, f)
	e.describeStart(&published, f, b)
	e.entry = e.log.Begin(&published, began)
	e.publisher.Call(f.arguments.frame.Context, &published)
}

// describe adds what both events of a call have.
func (e *callEvents) describe(to *event.Call, f *facts) {
	to.ID, to.Task, to.Owner, to.Caller.Subject = e.callID(), e.task, f.owner, f.caller.Subject
}

// describeStart adds what is known when a call begins.
func (e *callEvents) describeStart(to *event.Call, f *facts, b *buffer) {
	if f.operation.events.Arguments {
		var recorded recordedArguments
		recorded, b.input = f.arguments.record(b.input[:0])
		to.Input, to.InputSize = recorded.text, recorded.size
	}
	to.TraceID = traceID(f.traceparent)
	if i := f.caller.Identity; i != nil {
		to.Caller.Key, to.Caller.Groups = i.Key, i.Groups
	}
	b.client = appendClient(b.client[:0], f.caller.ClientInfo)
	to.Caller.Client = b.client
	if e.request != nil {
		b.session = e.request.AppendSession(b.session[:0])
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

// publishEnd publishes and keeps what the call came to, before it is answered.
func (e *callEvents) publishEnd(ctx context.Context, end *ending) {
	if !e.areRead() {
		return
	}
	e.publishStart(&end.facts, end.started) // of a call that was refused before its arguments were validated
	e.publishRefusal(ctx, end)
	kind := eventKinds[end.operation.requestKind()].end
	if e.entry.IsZero() && !e.publisher.Wants(kind) {
		return
	}
	b := buffers.Get().(*buffer)
	defer b.release()
	published := event.Call{
		Kind: kind, Name: end.operation.Decl.Name, Outcome: end.outcome, Duration: time.Since(end.started),
		Rule: end.decision.Rule, Replayed: end.replayed,
	}
	e.describe(&published, &end.facts)
	if kind != eventkind.ToolResult {
		e.describeStart(&published, &end.facts, b)
	}
	switch {
	case end.failed != nil:
		published.Error = cutMessage(end.arguments.hideMessage(end.failed.Message))
	case end.interim == "":
		published.Rows, published.Bytes = end.result.CountedRows(), end.result.Size()
		if failures := end.result.Failures; failures.Failed > 0 {
			published.Failures, published.Error = describeFailures(failures, end.arguments)
		}
		if end.operation.events.KeepResults && kind == eventkind.ToolResult && len(end.result.Lifted) == 0 {
			b.output, published.OutputSize = appendOutput(b.output[:0], end.result, end.arguments)
			published.Output = b.output
		}
	}
	if !e.entry.IsZero() {
		e.entry.End(&published, end.hiddenCause(), time.Now())
	}
	if !end.operation.events.Results {
		published.Output, published.OutputSize = nil, 0
	}
	e.publisher.Call(ctx, &published)
}

// hiddenCause returns why the call has failed beside its message, for operators: without secrets and sensitive inputs.
func (e *ending) hiddenCause() string {
	cause := e.result.Failures.Cause
	if e.failed != nil {
		cause = e.failed.Cause
	}
	if cause == nil {
		return ""
	}
	return cutMessage(e.arguments.hideMessage(cause.Error()))
}

// describeFailures returns the failures after which the call went on as its events have them, and the message of the
// first one.
func describeFailures(f adapters.Failures, hide callArguments) (described event.Failures, message string) {
	described = event.Failures{
		Failed: f.Failed, Of: f.Of, FailedStep: f.Step, FailedKey: cutMessage(hide.hideMessage(f.Key)),
	}
	return described, cutMessage(hide.hideMessage(f.Error))
}

const (
	maxMessage = 1 << 10 // bytes of a message, as in the audit log
	maxOutput  = 4 << 10 // bytes of a result
)

func cutMessage(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return text[:cut.Before(text, maxMessage)] + "…"
}

// appendOutput appends the text of the result as a JSON string, without secrets and sensitive inputs, and returns the
// size of a text that is not there in full.
func appendOutput(dst []byte, r *result.Result, hide callArguments) (_ []byte, size int) {
	text := r.Text
	for _, other := range [][]byte{r.Blocks, r.Structured} {
		if len(text) == 0 {
			text = other
		}
	}
	shown := hide.hideSent(string(text))
	if len(shown) > maxOutput {
		size, shown = len(shown), shown[:cut.Before(shown, maxOutput)]
	}
	return value.AppendString(dst, shown), size
}

// publishRefusal counts a call that was refused, for an event a second.
func (e *callEvents) publishRefusal(ctx context.Context, end *ending) {
	if e.publisher == nil || end.outcome != audit.Refused || end.failed == nil {
		return
	}
	r := event.Refusal{
		Operation: end.operation.requestKind(), Name: end.operation.Decl.Name, Reason: end.refusal(), Owner: end.owner,
		Subject: end.caller.Subject,
	}
	if r.Limit = r.Reason == metrics.RefusedByLimit; !r.Limit {
		r.Message = cutMessage(end.arguments.hideMessage(end.failed.Message))
	}
	end.operation.Env.Refusals.Add(ctx, e.publisher, r)
}

// wantsSteps reports whether anybody reads what the steps of the call came to.
func (e *callEvents) wantsSteps() bool {
	return !e.entry.IsZero() || e.publisher.Wants(eventkind.ToolStep)
}

// skipped is the outcome of a step or an element whose condition did not hold.
const skipped = "skipped"

// publishStep publishes and keeps what a step came to that began at a time and ran with the call of its backend.
func (e *callEvents) publishStep(f *facts, s *Step, call *adapters.Call, end stepEnd, began time.Time) {
	published := event.Step{
		Tool: f.operation.Decl.Name, ID: e.callID(), Subject: f.caller.Subject, Owner: f.owner,
		Step: s.Decl.Name, Kind: s.Decl.Backend.Kind, Connection: s.connection, Duration: time.Since(began),
		Outcome: backendOutcome(call.Frame.Context, end.err), Attempts: call.Attempts, Pages: call.Pages,
	}
	if s.Decl.Name == "" {
		published.Step = s.Decl.Backend.Kind
	}
	switch {
	case end.err != nil:
	case end.output == nil && s.Decl.When != nil:
		published.Outcome = skipped
	default:
		if end.failures.Failed > 0 {
			published.Outcome = audit.Partial
			if s.Decl.Each == nil && s.Decl.ContinueOnError {
				published.Outcome = audit.Failed
			}
			published.Failures, published.Error = describeFailures(end.failures, f.arguments)
			published.FailedStep = "" // is the step of the event
		}
		published.Rows, published.Bytes = measureOutput(end.output)
	}
	if e.entry.Step(&published, began) && len(end.elements) > 0 {
		e.keepElements(f, s, call, end.elements)
	}
	e.publisher.Step(call.Frame.Context, &published)
}

// keepElements keeps what a step came to for the elements of its each. Events have no elements.
func (e *callEvents) keepElements(f *facts, s *Step, call *adapters.Call, ends []elementEnd) {
	ends = slices.DeleteFunc(slices.Clone(ends), func(end elementEnd) bool { return end.began.IsZero() })
	hide := f.arguments.sentHider()
	e.entry.Elements(len(ends), func(i int) (recent.Element, time.Time) {
		end := &ends[i]
		kept := recent.Element{
			Took: end.took, Key: hide(fmt.Sprint(end.key)), Outcome: backendOutcome(call.Frame.Context, end.err),
		}
		switch {
		case end.skipped:
			kept.Outcome = skipped
		case end.err != nil:
			if fault, ok := errors.AsType[*adapters.Fault](end.err); ok {
				kept.Error = cutMessage(hide(fault.Message))
			}
		case end.failures.Failed > 0 && s.Decl.ContinueOnError:
			kept.Outcome, kept.Error = audit.Failed, cutMessage(hide(end.failures.Error))
		}
		return kept, end.began
	})
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
func (p *Program) publishRequest(ctx context.Context, a *approval.Approval, owner string) {
	if !p.events.Wants(eventkind.ApprovalRequested) {
		return
	}
	body, err := a.AppendJSON(nil)
	if err != nil {
		return
	}
	m := event.Meta{Kind: eventkind.ApprovalRequested, Operation: "tool", Name: p.Decl.Name,
		Subject: a.Caller.Subject, Owner: owner}
	p.events.Publish(ctx, m, event.Member{Name: "tool", Value: p.Decl.Name},
		event.Member{Name: "approval", Value: json.RawMessage(body)})
}
