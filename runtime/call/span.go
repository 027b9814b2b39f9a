package call

import (
	"context"
	"log/slog"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/trace"
)

// Tracing is how the calls of a generation are traced.
type Tracing struct {
	Tracer *trace.Tracer
	Trust  *hcl.Condition // whose traceparent decides; nil for callers that are authenticated, and for stdio
}

// callTrace is the trace context that a call passes on, and its span.
type callTrace struct {
	span        adapters.Span // zero unless the call is traced
	traceparent string
	tracestate  string
}

// continueTrace returns the trace context of a request, with the span of its call if that is traced. Texts of it are in
// the memory.
func (o *Operation) continueTrace(
	ctx context.Context, caller *mcp.Caller, meta []byte, frame *hcl.Frame, memory *traceMemory,
) (out callTrace) {
	t := o.Env.Tracing
	parent, link := memory.traceparentOf(meta), traceparentOf(caller.Header)
	if parent == "" || t == nil && link != "" {
		parent, link, meta = link, "", nil
	}
	out.traceparent, out.tracestate = parent, tracestate(parent, caller.Header, meta)
	if t == nil {
		return out
	}
	if !t.Tracer.Samples(o.Env.traceDecision(ctx, caller, parent, frame)) {
		out.traceparent = memory.withoutSampling(parent)
		return out
	}
	out.start(o, parent)
	out.span.AddLink(link)
	network := "pipe"
	if caller.Header != nil {
		network = "tcp"
	}
	out.span.SetText("network.transport", network)
	out.span.SetText("mcp.protocol.version", string(caller.Revision))
	return out
}

// continueRequestTrace is continueTrace for a request that is a call. The span has the name of its session, because the
// id is a credential.
func (o *Operation) continueRequestTrace(
	ctx context.Context, req *mcp.CallRequest, frame *hcl.Frame, memory *traceMemory,
) callTrace {
	t := o.continueTrace(ctx, req.Caller, req.Meta, frame, memory)
	if t.span.IsRecorded() {
		t.span.SetText("jsonrpc.request.id", req.ID())
		t.span.SetText("hatchel.via", req.Via)
		t.span.SetText("mcp.session.id", req.SessionName())
	}
	return t
}

// start begins the span of a call of an operation, which belongs to the trace of parent.
func (t *callTrace) start(o *Operation, parent string) {
	t.span = o.Env.Tracing.Tracer.Start(o.spanName, parent)
	t.span.SetText("mcp.method.name", metrics.Methods[o.Kind])
	switch o.Kind {
	case "tool":
		t.span.SetText("gen_ai.operation.name", "execute_tool")
		t.span.SetText("gen_ai.tool.name", o.Decl.Name)
	case "prompt":
		t.span.SetText("gen_ai.prompt.name", o.Decl.Name)
	}
	t.traceparent = t.span.Traceparent()
}

// traceDecision returns what the trace context of a request decides about its call.
func (e *Environment) traceDecision(
	ctx context.Context, caller *mcp.Caller, parent string, frame *hcl.Frame,
) trace.Decision {
	switch {
	case parent == "" || !e.trustsTraceOf(ctx, caller, frame):
		return trace.Undecided
	case isSampled(parent):
		return trace.Sampled
	}
	return trace.NotSampled
}

// trustsTraceOf reports whether the trace context of a caller decides about its call.
func (e *Environment) trustsTraceOf(ctx context.Context, caller *mcp.Caller, frame *hcl.Frame) bool {
	trust := e.Tracing.Trust
	if trust == nil {
		return caller.Header == nil || caller.Identity != nil
	}
	ok, err := trust.Eval(frame, nil)
	if err != nil {
		const text = "telemetry.otlp.trust failed, the traceparent of the caller decides nothing"
		e.LogFailure(ctx, slog.LevelWarn, text, err)
	}
	return ok && err == nil
}

// resume returns the trace context of a call of an operation with the part of the call that came before. A request of
// a trace of its own is linked to that part. Any other request, and a task, belong to its trace.
func (t callTrace) resume(o *Operation, before string) callTrace {
	tracing := o.Env.Tracing
	switch {
	case before == "":
	case t.span.IsRecorded():
		t.span.AddLink(before)
	case t.traceparent != "":
	case tracing != nil && isSampled(before) && tracing.Tracer.Samples(trace.Sampled):
		t.start(o, before)
	default:
		t.traceparent = before
	}
	return t
}

// isSampled reports whether what Traceparent has returned is traced.
func isSampled(parent string) bool {
	flags := parent[traceparentLength-1]
	return flags&1 == 1 && flags <= '9' || flags > '9' && flags&1 == 0 // a hexadecimal digit in lower case
}

// endSpan ends the span of the call with what the call came to.
func (e *ending) endSpan() {
	if !e.span.IsRecorded() {
		return
	}
	errorType := ""
	e.span.SetText("hatchel.outcome", e.outcome)
	e.span.SetText("hatchel.rule", e.decision.Rule)
	e.span.SetText("hatchel.revision", e.operation.Env.Revision)
	e.span.SetText("hatchel.replayed", e.replayed)
	switch {
	case e.failed == nil:
	case e.outcome == audit.Cancelled:
		errorType = "cancelled"
	case e.failed.Internal:
		errorType = "internal"
	case e.failed.Protocol != nil || e.operation.Kind != "tool":
		errorType = e.outcome
	default:
		errorType = "tool_error" // of the conventions: the result has isError
	}
	e.span.End(errorType)
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
