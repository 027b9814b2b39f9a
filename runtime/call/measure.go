package call

import (
	"context"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/observe/metrics"
)

// doMeasured is doRecorded, which it counts in the metrics.
func (s *Step) doMeasured(call *adapters.Call) (any, error) {
	before := call.Attempts
	call.Attempts, call.Pages, call.Replaced = 0, 0, 0
	began := time.Now()
	output, err := s.doRecorded(call)
	trace := ""
	if call.Span.IsRecorded() {
		trace = traceID(call.Traceparent)
	}
	counts := metrics.BackendCounts{Attempts: call.Attempts, Pages: call.Pages, Replaced: call.Replaced}
	s.meter.End(backendOutcome(call.Frame.Context, err), time.Since(began), counts, trace)
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
