package call

import (
	"context"
	"log/slog"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/audit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/trace"
)

// Tracing is how the calls of a generation are traced.
type Tracing struct {
	Tracer *trace.Tracer
	Trust  *hcl.Condition // whose traceparent decides; nil for callers that are authenticated, and for stdio
}

// continueTraceOf is continueTrace for a request of the protocol. The span has the name of its session, because the id
// is a credential.
func (c *call) continueTraceOf(ctx context.Context, req *mcp.CallRequest) {
	if c.continueTrace(ctx, req.Caller, req.Meta); c.action.Span.IsRecorded() {
		c.action.Span.SetText("jsonrpc.request.id", req.ID())
		c.action.Span.SetText("mcp.session.id", req.SessionName())
	}
}

// continueTrace takes over the trace context of a request. If the call is traced, its span begins.
func (c *call) continueTrace(ctx context.Context, caller *mcp.Caller, meta []byte) {
	t := c.operation.Env.Tracing
	parent, link := c.trace.traceparentOf(meta), traceparentOf(caller.Header)
	if parent == "" || t == nil && link != "" {
		parent, link, meta = link, "", nil
	}
	c.action.Traceparent, c.action.Tracestate = parent, tracestate(parent, caller.Header, meta)
	if t == nil {
		return
	}
	if !t.Tracer.Samples(c.traceDecision(ctx, caller, parent)) {
		c.action.Traceparent = c.trace.withoutSampling(parent)
		return
	}
	c.startSpan(t, parent)
	c.action.Span.AddLink(link)
	network := "pipe"
	if caller.Header != nil {
		network = "tcp"
	}
	c.action.Span.SetText("network.transport", network)
	c.action.Span.SetText("mcp.protocol.version", string(caller.Revision))
}

// Traceparent implements elicit.Call.
func (c *call) Traceparent() string { return c.action.Traceparent }

// startSpan begins the span of the call, which belongs to the trace of parent.
func (c *call) startSpan(t *Tracing, parent string) {
	o := c.operation
	span := t.Tracer.Start(o.spanName, parent)
	span.SetText("mcp.method.name", mcpMethods[o.Kind])
	switch o.Kind {
	case "tool":
		span.SetText("gen_ai.operation.name", "execute_tool")
		span.SetText("gen_ai.tool.name", o.Decl.Name)
	case "prompt":
		span.SetText("gen_ai.prompt.name", o.Decl.Name)
	}
	c.action.Span, c.action.Traceparent = span, span.Traceparent()
}

// mcpMethods are the methods that call operations, by kind.
var mcpMethods = map[string]string{
	"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read", "completion": "completion/complete",
}

// traceDecision returns what the trace context of a request decides about its call.
func (c *call) traceDecision(ctx context.Context, caller *mcp.Caller, parent string) trace.Decision {
	switch {
	case parent == "" || !c.trustsTraceOf(ctx, caller):
		return trace.Undecided
	case isSampled(parent):
		return trace.Sampled
	}
	return trace.NotSampled
}

// trustsTraceOf reports whether the trace context of a caller decides about its call.
func (c *call) trustsTraceOf(ctx context.Context, caller *mcp.Caller) bool {
	trust := c.operation.Env.Tracing.Trust
	if trust == nil {
		return caller.Header == nil || caller.Identity != nil
	}
	ok, err := trust.Eval(c.frame, nil)
	if err != nil {
		const text = "telemetry.otlp.trust failed, the traceparent of the caller decides nothing"
		c.operation.Env.LogFailure(ctx, slog.LevelWarn, text, err)
	}
	return ok && err == nil
}

// resumeTrace takes over the trace context of the part of a call that came before. A request of a trace of its own is
// linked to that part. Any other request, and a task, belong to its trace.
func (c *call) resumeTrace(before string) {
	t := c.operation.Env.Tracing
	switch {
	case c.action.Span.IsRecorded():
		c.action.Span.AddLink(before)
	case c.action.Traceparent != "":
	case t != nil && isSampled(before) && t.Tracer.Samples(trace.Sampled):
		c.startSpan(t, before)
	default:
		c.action.Traceparent = before
	}
}

// isSampled reports whether what Traceparent has returned is traced.
func isSampled(parent string) bool {
	flags := parent[traceparentLength-1]
	return flags&1 == 1 && flags <= '9' || flags > '9' && flags&1 == 0 // a hexadecimal digit in lower case
}

// endSpan ends the span of the call with what the call came to.
func (c *call) endSpan(ctx context.Context, failed *failure.Failure, interim string) {
	span := c.action.Span
	if !span.IsRecorded() {
		return
	}
	outcome, errorType := c.outcome(ctx, failed, interim), ""
	span.SetText("hatchel.outcome", outcome)
	span.SetText("hatchel.rule", c.access.decision.Rule)
	span.SetText("hatchel.revision", c.operation.Env.Revision)
	span.SetText("hatchel.replayed", c.reuse.replayedFrom)
	switch {
	case failed == nil:
	case outcome == audit.Cancelled:
		errorType = "cancelled"
	case failed.Internal:
		errorType = "internal"
	case failed.Protocol != nil || c.operation.Kind != "tool":
		errorType = outcome
	default:
		errorType = "tool_error" // of the conventions: the result has isError
	}
	span.End(errorType)
	c.action.Span = adapters.Span{}
}

// startSpan begins the span of a named step, in which its backend is called. endSpan must be called with the span
// that it returns, that of the call.
func (s *Step) startSpan(call *adapters.Call) (outer adapters.Span) {
	outer = call.Span
	if outer.IsRecorded() && s.Decl.Name != "" {
		call.Span = outer.Start(s.spanName, adapters.SpanInternal)
		call.Span.SetText("hatchel.step.kind", s.Decl.Backend.Kind)
	}
	return outer
}

// endSpan ends what startSpan has begun.
func (s *Step) endSpan(call *adapters.Call, outer adapters.Span, err error) {
	if call.Span != outer {
		if interimOutcome(err) != "" {
			err = nil
		}
		call.Span.End(adapters.ErrorType(err))
		call.Span = outer
	}
}
