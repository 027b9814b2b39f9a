package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/eval"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/policy"
	"hatchel/runtime/stage/result"
)

// facts are what is known of a call when it begins.
type facts struct {
	operation   *Operation
	arguments   callArguments
	caller      *mcp.Caller // nil in a step of another call
	owner       string
	remoteAddr  string // for the log; empty when it is not known
	traceparent string
	span        adapters.Span
}

// ending is what a call came to, for those who record, log, measure and publish it.
type ending struct {
	facts
	failed  *failure.Failure // nil for a call that has not failed
	interim string           // the outcome of a call that continues later; empty for one that has ended
	outcome string           // in the words of the audit log

	started    time.Time
	began      bool // the work has begun
	background bool // no request waits for the call
	decision   policy.Decision
	refusedBy  string // what has refused the call besides the rules; empty for nothing
	replayed   string // as in audit.Record; empty when the call was carried out
	failedStep string
	approval   *audit.Approval
	result     *result.Result
	upstreams  *adapters.UpstreamCalls // that the call has called
}

// setOutcome sets the outcome. Over says that the call had to end.
func (e *ending) setOutcome(over bool) {
	f := e.failed
	switch {
	case f == nil && e.interim != "":
		e.outcome = e.interim
	case f == nil && e.result.Failures.Failed > 0:
		e.outcome = audit.Partial
	case f == nil:
		e.outcome = audit.OK
	case over:
		e.outcome = audit.Cancelled
	case f.Protocol != nil && e.began:
		e.outcome = audit.ProtocolError
	case f.Refused:
		e.outcome = audit.Refused
	default:
		e.outcome = audit.Failed
	}
}

// interimOutcome returns the outcome of a call that continues later, because it pauses, becomes a
// task or is one already; empty for another one.
func interimOutcome(err error) string {
	switch {
	case err == nil: // the usual case allocates nothing
	case errors.As(err, new(*elicit.PausedError)):
		return audit.Asked
	case err == errBecomesTask || errors.As(err, new(*existingTaskError)):
		return audit.Task
	}
	return ""
}

// refusal returns what has refused the call, in a word.
func (e *ending) refusal() string {
	switch {
	case e.failed.Protocol != nil && e.failed.Protocol.IsInsufficientScope():
		return metrics.RefusedByScope
	case e.decision.Verdict == policy.Denied:
		return metrics.RefusedByPolicy
	}
	return e.refusedBy
}

// measure counts the call in the metrics. It allocates nothing.
func (e *ending) measure() {
	meter := e.operation.meter
	if meter == nil {
		return
	}
	m := metrics.Call{
		HTTP: e.caller.Header != nil, Background: e.background,
		Outcome: e.outcome, Replayed: e.replayed, Duration: time.Since(e.started),
		Subject: e.caller.Subject, MaxCallers: e.operation.Env.MetricCallers,
	}
	if e.span.IsRecorded() {
		m.TraceID = traceID(e.traceparent)
	}
	if e.failed != nil {
		m.IsError = true
		if e.failed.Protocol != nil {
			m.Code = e.failed.Protocol.Code
		}
		if m.Outcome == audit.Refused {
			m.Refusal = e.refusal()
		}
	}
	meter.End(&m)
}

// log writes the one line that the log has about a request: an error where the server is at
// fault, a warning where there is a cause that the caller does not see, info otherwise.
func (e *ending) log(ctx context.Context) {
	level, text, f := slog.LevelInfo, "call answered", e.failed
	switch {
	case f == nil && e.interim != "":
		text = "call continues later"
	case f == nil && e.result.Failures.Failed > 0:
		text = "call partly failed"
		if e.result.Failures.Cause != nil {
			level = slog.LevelWarn
		}
	case f == nil:
	case f.Internal, f.Unrecorded:
		level, text = slog.LevelError, "call failed"
	case f.Refused:
		text = "call refused"
	default:
		text = "call failed"
	}
	if f != nil && f.Cause != nil {
		level = max(level, slog.LevelWarn)
	}
	log := e.operation.Env.Log
	if !log.Enabled(ctx, level) {
		return
	}
	var buffer [maxLogAttrs]slog.Attr
	// LogAttrs would look up the line of code that calls it, at half of the cost of the line.
	r := slog.NewRecord(time.Now(), level, text, 0)
	r.AddAttrs(e.appendLogAttrs(buffer[:0])...)
	log.Handler().Handle(ctx, r)
}

const maxLogAttrs = 20

// appendLogAttrs appends what the log says of the call, without secrets and sensitive inputs.
func (e *ending) appendLogAttrs(to []slog.Attr) []slog.Attr {
	f := e.failed
	to = append(to, slog.String(e.operation.Kind, e.operation.Decl.Name))
	if caller := e.caller; caller != nil && caller.Subject != "" {
		to = append(to, slog.String("subject", caller.Subject))
	}
	to = append(to, slog.String("outcome", e.outcome), slog.Float64("ms", millisecondsSince(e.started)))
	if e.outcome == audit.OK || e.outcome == audit.Partial {
		if rows := e.result.CountedRows(); rows > 0 {
			to = append(to, slog.Int("rows", rows))
		}
		to = append(to, slog.Int("bytes", e.result.Size()))
	}
	if e.remoteAddr != "" {
		to = append(to, slog.String("remote", e.remoteAddr))
	}
	if id := traceID(e.traceparent); id != "" {
		to = append(to, slog.String("trace_id", strings.Clone(id))) // a handler may keep it
	}
	if e.span.IsRecorded() {
		to = append(to, slog.String("span_id", spanID(e.traceparent)))
	}
	if d := e.decision; d.Verdict != policy.Undecided {
		to = append(to, slog.String("decision", string(d.Verdict)), slog.String("rule", d.Rule))
	}
	if e.outcome == audit.Partial {
		return e.appendFailures(to)
	}
	if f == nil {
		return to
	}
	to = append(to, slog.String("message", e.arguments.hideMessage(f.Message)))
	if e.failedStep != "" {
		to = append(to, slog.String("step", e.failedStep))
	}
	to = e.appendCause(to, f.Cause)
	if f.ID != "" {
		to = append(to, slog.String("correlation_id", f.ID))
	}
	return to
}

// appendFailures appends what a call came to that has failed in part.
func (e *ending) appendFailures(to []slog.Attr) []slog.Attr {
	f := e.result.Failures
	message := e.arguments.hideMessage(f.Error)
	to = append(to, slog.Int("failed", f.Failed), slog.Int("of", f.Of), slog.String("message", message))
	if f.Step != "" {
		to = append(to, slog.String("failed_step", f.Step))
	}
	if f.Key != "" {
		to = append(to, slog.String("failed_key", e.arguments.hideMessage(f.Key)))
	}
	return e.appendCause(to, f.Cause)
}

// appendCause appends why a call has failed, if that is not in its message.
func (e *ending) appendCause(to []slog.Attr, cause error) []slog.Attr {
	if cause == nil {
		return to
	}
	to = append(to, slog.String("cause", e.arguments.hideMessage(cause.Error())))
	if known, ok := errors.AsType[*eval.Error](cause); ok && known.At.File != "" {
		at := known.At
		to = append(to, slog.String("at", fmt.Sprintf("%s:%d:%d", at.File, at.Start.Line, at.Start.Column)))
	}
	return to
}

func millisecondsSince(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }
