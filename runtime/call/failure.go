package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/runtime/audit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// failureText returns what the caller reads about a failed call: in the words of the author, if
// there are any.
func (c *call) failureText(f *failure.Failure) string {
	text := c.operation.failureText(c.frame, f, c.progress.failedStep)
	if c.nested { // the call that it is a step of adds what was done
		return text
	}
	return strings.TrimSpace(text)
}

// failureText returns what the caller reads about a failure of a step: in the words of the author, if there are any.
func (o *Operation) failureText(f *hcl.Frame, failed *failure.Failure, step string) string {
	if !o.hasOwnText(failed) {
		return failed.Message
	}
	frame := *f
	frame.Failure = failed.ErrorRoot(step)
	text, err := o.errorText.Append(nil, &frame)
	if err != nil {
		return failed.Message
	}
	return string(text)
}

// hasOwnText reports whether the author's text is what the caller reads about a failure.
func (o *Operation) hasOwnText(f *failure.Failure) bool { return o.errorText != nil && !f.Refused }

// publicMessage returns what leaves the process about a failed call; nothing for a call that has
// not failed.
func (c *call) publicMessage(f *failure.Failure) string {
	if f == nil {
		return ""
	}
	return c.operation.Writer.Message(c.operation.Env.relativePaths(c.failureText(f)))
}

// answerText is publicMessage for the answer to a request, with what the author of the tool can change for a caller
// who has started the server: their client does not show them its log.
func (c *call) answerText(f *failure.Failure) string {
	text := c.publicMessage(f)
	if f.Hint == "" || c.caller == nil || !c.caller.Operates {
		return text
	}
	return text + "\nHint for the author of the " + c.operation.Kind + ": " +
		c.operation.Writer.Message(c.operation.Env.relativePaths(f.Hint)) + "."
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
	out := &mcp.Error{Code: mcp.CodeInternalError, Message: c.answerText(f)}
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

// shortenPaths makes the paths of files in the configuration directory relative to it, in the outputs of steps that no
// step reads any more: what is left to do is the result, which callers read.
func (c *call) shortenPaths() {
	shorten := func(output any) {
		members, _ := output.(map[string]any)
		path, _ := members["path"].(string)
		if !filepath.IsAbs(path) {
			return
		}
		if name, err := filepath.Rel(c.operation.Env.Dir, path); err == nil && filepath.IsLocal(name) {
			members["path"] = filepath.ToSlash(name)
		}
	}
	shorten(c.frame.Output)
	for _, s := range c.operation.Steps {
		output := c.frame.Steps[s.Decl.Name]
		shorten(output)
		switch elements := output.(type) {
		case []any:
			for _, e := range elements {
				shorten(e)
			}
		case map[string]any:
			if s.Decl.Each == nil {
				continue
			}
			for _, e := range elements {
				shorten(e)
			}
		}
	}
}

// relativePaths makes paths in the configuration directory relative to it, also where a link leads to it: callers do
// not learn where on the server that is.
func (e *Environment) relativePaths(text string) string {
	if !strings.Contains(text, string(filepath.Separator)) {
		return text
	}
	dirs := []string{e.Dir}
	if real, err := filepath.EvalSymlinks(e.Dir); err == nil && real != e.Dir {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		if len(dir) > len("/") && filepath.IsAbs(dir) {
			text = replaceDir(text, filepath.Clean(dir))
		}
	}
	return text
}

// replaceDir removes a directory from the paths in it, and writes . for the directory itself. Other names that begin
// like it stay.
func replaceDir(text, dir string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, dir)
		out.WriteString(before)
		inPath := before != "" && strings.ContainsAny(before[len(before)-1:], pathBytes)
		switch {
		case !found:
			return out.String()
		case inPath:
			out.WriteString(dir)
		case strings.HasPrefix(rest, "/") && len(rest) > 1 && strings.ContainsAny(rest[1:2], pathBytes):
			rest = rest[1:]
		case rest == "" || !strings.ContainsAny(rest[:1], pathBytes):
			out.WriteByte('.')
			rest = strings.TrimPrefix(rest, "/")
		default:
			out.WriteString(dir)
		}
		text = rest
	}
}

// pathBytes are what a name of a file may go on with.
const pathBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// account records, logs, measures and publishes what the call came to, and ends its span. It returns how the call has
// failed with that, as recordEnd does.
func (c *call) account(ctx context.Context, failed *failure.Failure, interim string) *failure.Failure {
	failed = c.recordEnd(ctx, failed, interim)
	c.recordApproved(ctx, failed, interim)
	c.logOutcome(ctx, failed, interim)
	c.measure(ctx, failed, interim)
	c.publishEnd(ctx, failed, interim)
	c.endSpan(ctx, failed, interim)
	return failed
}

// logOutcome writes the one line that the log has about a request: an error where the server is at
// fault, a warning where there is a cause that the caller does not see, info otherwise. Interim is
// the outcome of a call that continues later; empty for one that has ended.
func (c *call) logOutcome(ctx context.Context, f *failure.Failure, interim string) {
	level, text := slog.LevelInfo, "call answered"
	switch {
	case f == nil && interim != "":
		text = "call continues later"
	case f == nil && c.result.Failures.Failed > 0:
		text = "call partly failed"
		if c.result.Failures.Cause != nil {
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
	log := c.operation.Env.Log
	if !log.Enabled(ctx, level) {
		return
	}
	var buffer [maxLogAttrs]slog.Attr
	// LogAttrs would look up the line of code that calls it, at half of the cost of the line.
	r := slog.NewRecord(time.Now(), level, text, 0)
	r.AddAttrs(c.appendLogAttrs(ctx, buffer[:0], f, interim)...)
	log.Handler().Handle(ctx, r)
}

const maxLogAttrs = 20

// appendLogAttrs appends what the log says of the call, without secrets and sensitive inputs.
func (c *call) appendLogAttrs(
	ctx context.Context, to []slog.Attr, f *failure.Failure, interim string,
) []slog.Attr {
	to = append(to, slog.String(c.operation.Kind, c.operation.Decl.Name))
	if caller := c.caller; caller != nil && caller.Subject != "" {
		to = append(to, slog.String("subject", caller.Subject))
	}
	outcome := c.outcome(ctx, f, interim)
	to = append(to, slog.String("outcome", outcome), slog.Float64("ms", millisecondsSince(c.timing.started)))
	if outcome == audit.OK || outcome == audit.Partial {
		if rows := c.result.CountedRows(); rows > 0 {
			to = append(to, slog.Int("rows", rows))
		}
		to = append(to, slog.Int("bytes", c.result.Size()))
	}
	if c.remoteAddr != "" {
		to = append(to, slog.String("remote", c.remoteAddr))
	}
	if id := c.traceID(); id != "" {
		to = append(to, slog.String("trace_id", id))
	}
	if c.action.Span.IsRecorded() {
		to = append(to, slog.String("span_id", spanID(c.action.Traceparent)))
	}
	if d := c.access.decision; d.Verdict != policy.Undecided {
		to = append(to, slog.String("decision", string(d.Verdict)), slog.String("rule", d.Rule))
	}
	if outcome == audit.Partial {
		return c.appendFailures(to)
	}
	if f == nil {
		return to
	}
	to = append(to, slog.String("message", c.hideInputs(f.Message)))
	if c.progress.failedStep != "" {
		to = append(to, slog.String("step", c.progress.failedStep))
	}
	to = c.appendCause(to, f.Cause)
	if f.ID != "" {
		to = append(to, slog.String("correlation_id", f.ID))
	}
	return to
}

// appendFailures appends what a call came to that has failed in part.
func (c *call) appendFailures(to []slog.Attr) []slog.Attr {
	f := c.result.Failures
	to = append(to, slog.Int("failed", f.Failed), slog.Int("of", f.Of), slog.String("message", c.hideInputs(f.Error)))
	if f.Step != "" {
		to = append(to, slog.String("failed_step", f.Step))
	}
	if f.Key != "" {
		to = append(to, slog.String("failed_key", c.hideInputs(f.Key)))
	}
	return c.appendCause(to, f.Cause)
}

// appendCause appends why a call has failed, if that is not in its message.
func (c *call) appendCause(to []slog.Attr, cause error) []slog.Attr {
	if cause == nil {
		return to
	}
	to = append(to, slog.String("cause", c.hideInputs(cause.Error())))
	if e, ok := errors.AsType[*eval.Error](cause); ok && e.At.File != "" {
		to = append(to, slog.String("at", fmt.Sprintf("%s:%d:%d", e.At.File, e.At.Start.Line, e.At.Start.Column)))
	}
	return to
}

func millisecondsSince(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }
