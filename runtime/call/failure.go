package call

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// failureText returns what the caller reads about a failed call: in the words of the author, if
// there are any.
func (c *call) failureText(f *failure.Failure) string {
	if m := c.operation.errorText; m != nil && !f.Refused {
		c.frame.Failure = f.ErrorRoot(c.progress.failedStep)
		if text, err := m.Append(nil, c.frame); err == nil {
			return string(text)
		}
	}
	return strings.TrimSpace(f.Message)
}

// publicMessage returns what leaves the process about a failed call; nothing for a call that has
// not failed.
func (c *call) publicMessage(f *failure.Failure) string {
	if f == nil {
		return ""
	}
	return c.operation.Writer.Message(c.failureText(f))
}

// protocolError returns a failure as the error that answers a request which has no result.
func (c *call) protocolError(f *failure.Failure) error {
	if f.Protocol != nil {
		return f.Protocol
	}
	kind := c.operation.Kind
	if f.Internal {
		f.Message = failure.InternalMessage(kind)
	}
	if f.NotFound { // the log names the file
		f.Message = "a file of the " + kind + " was not found"
	}
	out := &mcp.Error{Code: mcp.CodeInternalError, Message: c.operation.Env.relativePaths(c.publicMessage(f))}
	if f.Refused && !f.Unrecorded || f.NotFound && kind != "completion" {
		out.Code = mcp.CodeInvalidParams // also for what does not exist, as for an unknown name or URI
	}
	if f.NotFound && kind == "resource" { // the URI becomes the data of the error
		return out
	}
	if f.ID != "" {
		out.Data = []byte(`{"correlationId":"` + f.ID + `"}`)
	}
	return out
}

// relativePaths shortens paths in the configuration directory: callers do not learn where on the
// server that is.
func (e *Environment) relativePaths(text string) string {
	if e.Dir == "" || strings.HasSuffix(e.Dir, string(filepath.Separator)) {
		return text
	}
	return strings.ReplaceAll(text, e.Dir+string(filepath.Separator), "")
}

// logOutcome writes the one line that the log has about a call: an error where the server is at
// fault, a warning where there is a cause that the caller does not see, details otherwise.
func (c *call) logOutcome(ctx context.Context, f *failure.Failure) {
	level, text := slog.LevelDebug, "call answered"
	if f != nil {
		text = "call failed"
		switch {
		case f.Internal, f.Unrecorded:
			level = slog.LevelError
		case f.Refused:
			text = "call refused"
			if f.Cause != nil {
				level = slog.LevelWarn
			}
		case f.Cause != nil:
			level = slog.LevelWarn
		}
	}
	c.log(ctx, level, text, f)
}

// log writes a line about the call; f is nil for a call that has not failed.
func (c *call) log(ctx context.Context, level slog.Level, text string, f *failure.Failure) {
	log := c.operation.Env.Log
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 9),
		slog.String(c.operation.Kind, c.operation.Decl.Name),
		slog.Float64("ms", millisecondsSince(c.timing.started)))
	if c.remoteAddr != "" {
		attrs = append(attrs, slog.String("remote", c.remoteAddr))
	}
	if id := c.traceID(); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if d := c.access.decision; d.Verdict != policy.Undecided {
		attrs = append(attrs, slog.String("decision", string(d.Verdict)), slog.String("rule", d.Rule))
	}
	if f != nil {
		attrs = append(attrs, c.failureAttrs(f)...)
	}
	log.LogAttrs(ctx, level, text, attrs...)
}

func (c *call) failureAttrs(f *failure.Failure) (attrs []slog.Attr) {
	env := c.operation.Env
	attrs = append(attrs, slog.String("message", env.ScrubForReader(f.Message)))
	if c.progress.failedStep != "" {
		attrs = append(attrs, slog.String("step", c.progress.failedStep))
	}
	if f.Cause != nil {
		attrs = append(attrs, slog.String("cause", env.ScrubForReader(f.Cause.Error())))
	}
	if f.ID != "" {
		attrs = append(attrs, slog.String("correlation_id", f.ID))
	}
	return attrs
}

func millisecondsSince(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }
