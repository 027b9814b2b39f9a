// Package failure describes how a call failed: for the model, for the program that made the
// request, and for the log.
//
// Every error of a call becomes a [Failure] through [Of]. An error type of another package decides
// how it is reported by having a method Failure.
package failure

import (
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
)

// Refusal is why a call was not carried out, in sentences for the model. The error text that a tool
// declares does not apply to it: that text is about failures of the tool's own work.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// NotDone is why a call was not carried out, like [Refusal], in sentences that go on with that nothing was done and
// with what to do now. In a step of a call that has done something, they go on with what that is.
type NotDone struct {
	Message, Advice string
	Cause           error // for the log; nil if the call was refused for a reason of its own
}

const nothingDone = "nothing was done"

func (n NotDone) Error() string { return adapters.JoinFailure(n.Message, nothingDone, n.Advice) }

// Unwrap returns Cause.
func (n NotDone) Unwrap() error { return n.Cause }

// Failure implements the interface of [Of].
func (n NotDone) Failure() *Failure {
	f := &Failure{
		Message: n.Message, Advice: n.Advice, Retryable: n.Advice != "", Unchanged: nothingDone,
		Refused: n.Cause == nil, Cause: n.Cause,
	}
	if n.Cause != nil {
		f.ID = NewID()
	}
	return f
}

// AsFault returns an error whose text is written for the model, as that of an expression is.
func AsFault(err error) error { return &adapters.Fault{Message: err.Error(), Cause: err} }

// panicError is a panic that ended one call.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// Recover turns a panic into the error of the function that defers it.
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = &panicError{v, debug.Stack()}
	}
}

// Try calls do and returns its error. A panic is its error.
func Try(do func() error) (err error) {
	defer Recover(&err)
	return do()
}

// FormatDuration writes a duration as a configuration does: 60s, 500ms, 5m.
func FormatDuration(d time.Duration) string {
	switch {
	case d >= 2*time.Minute && d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d >= time.Second && d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
	return d.String()
}

// Failure is an error of a call, ready to be reported.
type Failure struct {
	Message    string // for the model
	Status     int    // HTTP status of the backend; 0 for none
	Code       int    // exit code, or code of the protocol; 0 for none
	Constraint *adapters.Constraint
	Cause      error         // for the log
	Internal   bool          // the server is at fault, and the message does not give the reason
	Refused    bool          // nothing was carried out
	Hint       string        // what the author of the tool can change, for those who run the server; empty for nothing
	Advice     string        // what to do if the call has changed nothing; empty for nothing
	Retryable  bool          // the call can be made again if it has changed nothing
	Unchanged  string        // the clause that nothing was done, if the call has changed nothing; empty for none
	NotFound   bool          // a file or row to be read does not exist
	RetryAfter time.Duration // when the call may succeed; 0 for unknown
	Unrecorded bool          // the audit log is unavailable
	Protocol   *mcp.Error    // answers the request in place of a result; nil for a result
	ID         string        // correlates with the cause in the log; empty without a cause
}

// NewID returns a correlation id.
func NewID() string { return rand.Text()[:12] }

// InternalMessage is all that callers are told about a failure of the server. Kind is "tool",
// "prompt", ….
func InternalMessage(kind string) string {
	return "the " + kind + " failed because of a problem on the server, not because of its arguments; " +
		"the server's log has the reason"
}

// Of returns how an error is reported, nil for no error.
func Of(err error) *Failure {
	if err == nil {
		return nil
	}
	var f *adapters.Fault
	var e *mcp.Error
	var own interface {
		error
		Failure() *Failure
	}
	var r Refusal
	switch {
	case errors.As(err, &e):
		return &Failure{Message: e.Message, Code: e.Code, Refused: true, Protocol: e}
	case errors.As(err, &f): // before the others: the cause of a fault may be a refusal of a called tool
		change := adapters.ChangeOf(err)
		failed := &Failure{
			Message: f.Message, Status: f.Status, Code: f.Code, Cause: f.Cause, Advice: f.Advice, Hint: f.Hint,
			Retryable: f.Advice != "", Unchanged: adapters.Unchanged(change), NotFound: f.NotFound,
			RetryAfter: f.RetryAfter, Constraint: f.Constraint,
		}
		if change == adapters.ChangeUndone && errors.As(f.Cause, &own) { // of a called tool
			failed.Unchanged = own.Failure().Unchanged
		}
		if f.SaysNotSent {
			failed.Unchanged = adapters.NothingSent
		}
		if f.Cause != nil {
			failed.ID = NewID()
		}
		return failed
	case errors.As(err, &own):
		return own.Failure()
	case errors.As(err, &r):
		return &Failure{Message: string(r), Refused: true}
	case errors.Is(err, state.ErrUnavailable):
		return &Failure{
			Message: "the state store is unavailable", Advice: StateAdvice(err), Cause: err, ID: NewID(),
		}
	}
	return &Failure{Message: InternalMessage("tool"), Cause: err, Internal: true, ID: NewID()}
}

// Meta returns what programs read of a failure, as encoded JSON; nil for nothing.
func (f *Failure) Meta() mcp.Appender {
	var b []byte
	if f.ID != "" {
		b = append(jsonscan.AppendString(append(b, `"correlationId":`...), f.ID), ',')
	}
	if f.RetryAfter > 0 {
		seconds := int64((f.RetryAfter + time.Second - 1) / time.Second)
		b = append(strconv.AppendInt(append(b, `"retryAfter":`...), seconds, 10), ',')
	}
	if b == nil {
		return nil
	}
	b[len(b)-1] = '}'
	return mcp.Raw(append([]byte{'{'}, b...))
}

// ErrorRoot returns what expressions read as `error`. Step is the name of the step that failed;
// empty for none.
func (f *Failure) ErrorRoot(step string) map[string]any {
	m := map[string]any{"message": f.Message}
	if f.Status != 0 {
		m["status"] = f.Status
	}
	if f.Code != 0 {
		m["code"] = f.Code
	}
	if c := f.Constraint; c != nil {
		for name, text := range map[string]string{"constraint": c.Name, "table": c.Table} {
			if text != "" {
				m[name] = text
			}
		}
		if c.Columns != nil {
			columns := make([]any, len(c.Columns))
			for i, name := range c.Columns {
				columns[i] = name
			}
			m["columns"] = columns
		}
	}
	if step != "" {
		m["step"] = step
	}
	return m
}

// StateError marks an error of the state store, so that the log tells it from one of a tool's own
// database.
func StateError(err error) error { return fmt.Errorf("the state store: %w", err) }

// StateAdvice returns when a call that the state store has failed may be made again.
func StateAdvice(err error) string {
	if errors.Is(err, state.ErrNeedsOperator) {
		return "an operator of the server has to repair it before you try again"
	}
	return "try again in a moment"
}

// Render returns a text of the author; when it cannot be rendered, the error in its place.
func Render(m *hcl.TextTemplate, f *hcl.Frame) string {
	text, err := m.Append(nil, f)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Unavailable returns an error as a client reads it: one of a state store that is unavailable asks
// to try again.
func Unavailable(err error) error {
	if errors.Is(err, state.ErrUnavailable) {
		const text = "The state store is unavailable. Try again in a moment"
		return &mcp.Error{Code: mcp.CodeBusy, Message: text}
	}
	return err
}
