package call

import (
	"context"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/audit"
	"hatchel/runtime/failure"
	"hatchel/runtime/metrics"
	"hatchel/runtime/policy"
)

// measure counts the call in the metrics. Interim is the outcome of a call that continues later; empty for one that
// has ended. It allocates nothing.
func (c *call) measure(ctx context.Context, f *failure.Failure, interim string) {
	meter := c.operation.meter
	if meter == nil {
		return
	}
	m := metrics.Call{
		HTTP: c.caller.Header != nil, Background: c.progress.inTask,
		Outcome: c.outcome(ctx, f, interim), Replayed: c.reuse.replayedFrom, Duration: time.Since(c.timing.started),
		Subject: c.caller.Subject, MaxCallers: c.operation.Env.MetricCallers,
	}
	if c.action.Span.IsRecorded() {
		m.TraceID = c.traceID()
	}
	if f != nil {
		m.IsError = true
		if f.Protocol != nil {
			m.Code = f.Protocol.Code
		}
		if m.Outcome == audit.Refused {
			m.Refusal = c.refusal(f)
		}
	}
	meter.End(&m)
}

// refusal returns what has refused the call, in a word.
func (c *call) refusal(f *failure.Failure) string {
	switch {
	case f.Protocol != nil && f.Protocol.IsInsufficientScope():
		return metrics.RefusedByScope
	case c.access.decision.Verdict == policy.Denied:
		return metrics.RefusedByPolicy
	}
	return c.access.refusedBy
}

// waitForLimit acquires a limit, and counts the call as waiting meanwhile.
func (p *Program) waitForLimit(c *call, acquire func(context.Context) error) error {
	p.meter.Wait(metrics.WaitLimit, 1)
	defer p.meter.Wait(metrics.WaitLimit, -1)
	return c.waitWithTimeout(acquire)
}

// doMeasured is doRecorded, which it counts in the metrics.
func (s *Step) doMeasured(call *adapters.Call) (any, error) {
	before := call.Attempts
	call.Attempts, call.Pages = 0, 0
	began := time.Now()
	output, err := s.doRecorded(call)
	trace := ""
	if call.Span.IsRecorded() {
		trace = traceID(call.Traceparent)
	}
	s.meter.End(backendOutcome(call.Frame.Context, err), time.Since(began), call.Attempts, call.Pages, trace)
	call.Attempts += before
	return output, err
}

// backendOutcome returns how a backend has ended, in a word.
func backendOutcome(ctx context.Context, err error) string {
	if err == nil {
		return metrics.BackendOK
	}
	f, _ := errors.AsType[*adapters.Fault](err)
	switch {
	case f != nil && f.Unavailable:
		return metrics.BackendUnavailable
	case f != nil && f.NotSent:
		return metrics.BackendNotSent
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return metrics.BackendUnavailable
	case ctx.Err() != nil:
		return metrics.BackendCancelled
	}
	return metrics.BackendFailed
}
