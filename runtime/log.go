package runtime

import (
	"context"
	"log/slog"

	"hatchel/runtime/failure"
	"hatchel/runtime/policy"
)

// logOutcome writes the one line that the log has about a call: an error where the fault is ours, a warning where there is a cause that the caller
// does not see, details otherwise.
func (c *call) logOutcome(ctx context.Context, failed *failure.Failure) {
	level, what := slog.LevelDebug, "call answered"
	if failed != nil {
		what = "call failed"
		switch {
		case failed.Internal, failed.Unrecorded:
			level = slog.LevelError
		case failed.Refused:
			what = "call refused"
			if failed.Cause != nil {
				level = slog.LevelWarn
			}
		case failed.Cause != nil:
			level = slog.LevelWarn
		}
	}
	c.log(ctx, level, what, failed)
}

// log writes a line about the call into the log; failed is nil for one that has not.
func (c *call) log(ctx context.Context, level slog.Level, what string, failed *failure.Failure) {
	log := c.operation.generation.log()
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 8),
		slog.String(c.operation.kind, c.operation.decl.Name),
		slog.Float64("ms", millisecondsSince(c.started)))
	if c.remoteAddr != "" {
		attrs = append(attrs, slog.String("remote", c.remoteAddr))
	}
	if c.decision.Verdict != policy.Undecided {
		attrs = append(attrs, slog.String("decision", string(c.decision.Verdict)), slog.String("rule", c.decision.Rule))
	}
	if failed != nil {
		attrs = append(attrs, c.failureAttrs(failed)...)
	}
	log.LogAttrs(ctx, level, what, attrs...)
}

func (c *call) failureAttrs(failed *failure.Failure) (attrs []slog.Attr) {
	g := c.operation.generation
	attrs = append(attrs, slog.String("message", g.scrubForReader(failed.Message)))
	if c.failedStep != "" {
		attrs = append(attrs, slog.String("step", c.failedStep))
	}
	if failed.Cause != nil {
		attrs = append(attrs, slog.String("cause", g.scrubForReader(failed.Cause.Error())))
	}
	if failed.ID != "" {
		attrs = append(attrs, slog.String("correlation_id", failed.ID))
	}
	return attrs
}
