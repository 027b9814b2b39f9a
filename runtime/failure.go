package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// refusal is a call that was not carried out, in a sentence for the model. The error text of the tool is not asked about it: that one is about
// what went wrong while the tool worked.
type refusal string

func (r refusal) Error() string { return string(r) }

// asFault is an error whose text is a sentence for the model, as that of an expression is.
func asFault(err error) error { return &adapters.Fault{Message: err.Error(), Cause: err} }

// panicError is a panic that ended one call.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// recoverError makes a panic the error of the function that defers it.
func recoverError(err *error) {
	if v := recover(); v != nil {
		*err = &panicError{v, debug.Stack()}
	}
}

// contextCause puts the reason for which the context of the call ended in the place of the error that it led to.
func (c *call) contextCause(err error) error {
	ctx := c.frame.Context
	if ctx.Err() == nil {
		return err
	}
	switch {
	case errors.Is(context.Cause(ctx), errTimeout), c.onlyComputes() && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &adapters.Fault{Message: "timed out after " + formatDuration(c.operation.decl.Timeout), Cause: err}
	case errors.Is(context.Cause(c.stopCtx), errStopped):
		return &adapters.Fault{Message: "stopped because the server was stopped", Cause: err}
	case errors.Is(context.Cause(c.stopCtx), errReplaced):
		return &adapters.Fault{Message: "stopped because the server's configuration was replaced while the tool ran; call it again", Cause: err}
	}
	return &adapters.Fault{Message: "the call was cancelled", Cause: err}
}

func (c *call) onlyComputes() bool {
	_, ok := c.frame.Context.(*computeContext)
	return ok
}

// formatDuration writes a duration as an author does: 60s, 500ms, 5m.
func formatDuration(d time.Duration) string {
	switch {
	case d >= 2*time.Minute && d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d >= time.Second && d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
	return d.String()
}

// failure is an error as the model reads it.
type failure struct {
	message    string
	status     int
	code       int
	cause      error         // for the log
	internal   bool          // ours: the message says nothing
	refused    bool          // nothing was carried out
	untouched  bool          // the step that failed has sent nothing
	notFound   bool          // what was to be read is not there
	retryAfter time.Duration // when to come back, or 0
	unrecorded bool          // the audit log could not be written to
	protocol   *mcp.Error    // that the request is answered with; nil where there is a result to tell of the failure
	id         string        // under which the cause is in the log; empty when there is none
}

// internalMessage is all that is said of a failure of ours.
func internalMessage(noun string) string {
	return "the " + noun + " failed because of a problem on the server, not because of its arguments; the server's log has the reason"
}

// newFailure returns nil for no error.
func newFailure(err error) *failure {
	if err == nil {
		return nil
	}
	var hidden *notVisibleError
	if errors.As(err, &hidden) {
		failed := &failure{message: hidden.as.Message, code: hidden.as.Code, refused: true, protocol: hidden.as, cause: hidden.cause}
		if hidden.cause != nil {
			failed.id = rand.Text()[:12]
		}
		return failed
	}
	var e *mcp.Error
	if errors.As(err, &e) {
		return &failure{message: e.Message, code: e.Code, refused: true, protocol: e}
	}
	var f *adapters.Fault
	if errors.As(err, &f) { // its cause may be a refusal, of a tool that a step called
		failed := &failure{message: f.Message, status: f.Status, code: f.Code, cause: f.Cause, untouched: f.Untouched, notFound: f.Missing, retryAfter: f.After}
		if f.Cause != nil {
			failed.id = rand.Text()[:12]
		}
		return failed
	}
	var d *ruleError
	if errors.As(err, &d) {
		return &failure{message: d.Error(), refused: true, cause: d.cause, id: rand.Text()[:12]}
	}
	var u *auditError
	if errors.As(err, &u) {
		return &failure{message: u.Error(), refused: true, unrecorded: true, cause: u.cause, id: rand.Text()[:12]}
	}
	var many *limitError
	if errors.As(err, &many) {
		return &failure{message: many.message, refused: true, retryAfter: many.retryAfter}
	}
	var again replayedError
	if errors.As(err, &again) {
		return &failure{message: again.Message, refused: true, id: again.ID}
	}
	var r refusal
	if errors.As(err, &r) {
		return &failure{message: string(r), refused: true}
	}
	if errors.Is(err, state.ErrAway) {
		return &failure{message: "the server does not get at what it remembers; try again in a moment", cause: err, id: rand.Text()[:12]}
	}
	return &failure{message: internalMessage("tool"), cause: err, internal: true, id: rand.Text()[:12]}
}

// meta is what a program reads of a failure beside its text, as encoded JSON; nil for nothing.
func (f *failure) meta() mcp.Appender {
	var b []byte
	if f.id != "" {
		b = append(mcp.AppendString(append(b, `"correlationId":`...), f.id), ',')
	}
	if f.retryAfter > 0 {
		b = append(strconv.AppendInt(append(b, `"retryAfter":`...), int64((f.retryAfter+time.Second-1)/time.Second), 10), ',')
	}
	if b == nil {
		return nil
	}
	b[len(b)-1] = '}'
	return mcp.Raw(append([]byte{'{'}, b...))
}

// errorRoot is what the root `error` reads.
func (f *failure) errorRoot(step string) map[string]any {
	m := map[string]any{"message": f.message}
	if f.status != 0 {
		m["status"] = f.status
	}
	if f.code != 0 {
		m["code"] = f.code
	}
	if step != "" {
		m["step"] = step
	}
	return m
}

// failureText is what the caller reads about a failed call: in the words of the author, if there are any.
func (c *call) failureText(f *failure) string {
	if m := c.operation.errorText; m != nil && !f.refused {
		c.frame.Failure = f.errorRoot(c.failedStep)
		if text, err := m.Append(nil, c.frame); err == nil {
			return string(text)
		}
	}
	return strings.TrimSpace(f.message)
}

// publicMessage is what leaves the process about a failed call.
func (c *call) publicMessage(f *failure) string {
	text := c.operation.generation.scrubber.text([]byte(c.failureText(f)))
	return string(c.operation.truncate(text, ""))
}

// relativePaths writes the paths of a text as they are in the folder of the configuration: who reads a document need not know where on the server that is.
func (b *Build) relativePaths(text string) string {
	if b.Dir == "" || strings.HasSuffix(b.Dir, string(filepath.Separator)) {
		return text
	}
	return strings.ReplaceAll(text, b.Dir+string(filepath.Separator), "")
}

// protocolError is a failure as a request is answered that has no other way to tell of it.
func (c *call) protocolError(failed *failure) error {
	if failed.protocol != nil {
		return failed.protocol
	}
	if failed.internal {
		failed.message = internalMessage(c.operation.kind)
	}
	if failed.notFound { // which file that is stands in the log
		failed.message = "a file that the " + c.operation.kind + " is made of is not there"
	}
	out := &mcp.Error{Code: mcp.CodeInternalError, Message: c.operation.generation.build.relativePaths(c.publicMessage(failed))}
	if failed.refused && !failed.unrecorded || failed.notFound && c.operation.kind != "completion" {
		out.Code = mcp.CodeInvalidParams // also of what is not there, as of a name or an address that leads to nothing
	}
	if failed.notFound && c.operation.kind == "resource" { // the address is told with the error
		return out
	}
	if failed.id != "" {
		out.Data = []byte(`{"correlationId":"` + failed.id + `"}`)
	}
	return out
}
