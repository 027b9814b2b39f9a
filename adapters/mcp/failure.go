package mcp

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/internal/cut"
	"hatchel/internal/neterror"
	"hatchel/internal/sendonce"
)

// failure is an attempt that did not succeed.
type failure struct {
	adapters.Fault
	refused    bool // by the server, for the credentials of the request
	paused     bool // the server asks for a pause before the next request
	repeatable bool // nothing was sent, and the next attempt may succeed

	final error // is returned by Do as it is; nil for none
	err   error // that the failure was made of; it may repeat credentials
}

// isUnknown reports whether nothing is known of what the attempt did.
func (f *failure) isUnknown() bool { return f.Change == adapters.ChangeUnknown }

// failureOf returns the failure of an attempt. Its message has no secrets.
func (s *server) failureOf(r *request, err error) *failure {
	var fault *adapters.Fault
	if errors.As(err, &fault) { // nothing was sent: no session, a tool that is withdrawn, no credentials
		f := &failure{Fault: *fault, err: err}
		f.NotSent = true
		return f
	}
	var question *client.InputRequired
	if errors.As(err, &question) {
		return &failure{err: err} // the conversation asks it
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		const message = "the call of the server of this tool failed"
		fault := adapters.Fault{Message: message, Cause: s.scrubbed(r, err), Change: adapters.ChangeUnknown}
		return &failure{Fault: fault, err: err}
	}
	f := &failure{
		Fault: adapters.Fault{Cause: s.scrubbed(r, err), RetryAfter: e.RetryAfter, Status: e.Status}, err: err,
	}
	switch e.Kind {
	case client.NotSent:
		f.NotSent, f.SaysNotSent, f.Unavailable, f.repeatable = true, true, true, true
		f.Message = unreachable(err)
		if sendonce.IsUnprocessed(err) { // a part of it may have been sent
			f.SaysNotSent = false
			f.Message = "the server of this tool closed the connection or refused the call before processing it"
		}
	case client.Rejected:
		if f.Message, f.Advice = s.requiredPage(e.RPC); f.Message == "" {
			f.Message = "the server of this tool refused the call" + s.quote(r, e.RPC)
		}
	case client.Status:
		s.describeStatus(f, r, e)
	case client.SessionLost:
		f.NotSent, f.repeatable = true, true
		f.Message = "the session with the server of this tool has ended"
	case client.Invalid:
		f.Change, f.Message = adapters.ChangeUnknown, "the server of this tool has sent an answer that is not valid"
	default:
		f.Change, f.Unavailable = adapters.ChangeUnknown, true
		f.Message = "the server of this tool did not answer"
		if errors.Is(err, client.ErrClosed) {
			f.Message = "the server of this tool stopped during the call"
		}
	}
	return f
}

// openFailure returns the failure of an attempt for which no session could be opened, so that nothing of the call was
// sent.
func (s *server) openFailure(r *request, err error) *failure {
	f := s.failureOf(r, err)
	f.repeatable = f.repeatable || f.isUnknown() || f.paused && f.RetryAfter > 0
	f.NotSent, f.SaysNotSent, f.Change, f.paused = true, true, adapters.ChangeAnswered, false
	return f
}

// describeStatus describes an HTTP status without an answer of the protocol.
func (s *server) describeStatus(f *failure, r *request, e *client.Error) {
	status := adapters.StatusText(e.Status)
	switch {
	case e.Status == nethttp.StatusUnauthorized, e.Status == nethttp.StatusForbidden:
		f.refused = e.Status == nethttp.StatusUnauthorized
		f.Message = "the server of this tool does not accept the credentials of the connection (" + status + ")"
	case e.Location != "":
		f.Message = fmt.Sprintf("the server of this tool answered with a redirect that is not followed (%s)", status)
	default:
		f.Message = "the server of this tool answered with " + status
	}
	f.Message += s.quote(r, e.RPC)
	f.paused = e.Status == nethttp.StatusTooManyRequests || e.Status == nethttp.StatusServiceUnavailable
	f.Unavailable = e.Status >= 500 || e.Status == nethttp.StatusTooManyRequests
	if e.Status >= 500 && !f.paused {
		f.Change = adapters.ChangeUnknown
	}
	if f.RetryAfter > 0 {
		f.Advice = fmt.Sprintf("try again in %v", max(f.RetryAfter.Round(time.Second), time.Second))
	}
}

// scrubbed returns an error whose text has no credentials: the error itself if it has none.
func (s *server) scrubbed(r *request, err error) error {
	if text := s.scrub(r, err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

const maxQuote = 1000 // characters of an error of a server in a message

// quote returns what an error of a server says, after a message.
func (s *server) quote(r *request, e *client.RPCError) string {
	if e == nil {
		return ""
	}
	clean := cleaner{}
	text := strings.Join(strings.Fields(s.scrub(r, clean.text(e.Message))), " ")
	if text == "" {
		return fmt.Sprintf(" (error %d)", e.Code)
	}
	return fmt.Sprintf(": %s (error %d)", cut.Runes(text, maxQuote), e.Code)
}

// unreachable returns the message for a server to which nothing could be sent.
func unreachable(err error) string {
	switch reason := neterror.Of(err); {
	case reason.IsTLS():
		return "no secure connection to the server of this tool could be made"
	case reason == neterror.NoSuchHost, reason == neterror.Unresolved:
		return "the host name of the server of this tool could not be resolved"
	case reason == neterror.Refused:
		return "the server of this tool refuses connections; it may be down"
	case neterror.IsTimeout(err):
		return "the server of this tool did not accept a connection in time"
	}
	return "the server of this tool cannot be reached"
}

// afterDeadline returns the error of a call whose time is over, or that was cancelled.
func afterDeadline(ctx context.Context, f *failure) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		message := "the server of this tool did not answer in time"
		if f.NotSent {
			message = "nothing could be sent to the server of this tool in time"
		}
		return &adapters.Fault{
			Message: message, Cause: ctx.Err(), Change: f.change(), NotSent: f.NotSent, SaysNotSent: f.NotSent,
			Unavailable: f.Unavailable,
		}
	}
	return adapters.WithChange(ctx.Err(), f.change())
}

// change returns what the attempt has changed.
func (f *failure) change() adapters.Change {
	if f.NotSent && f.Change == adapters.ChangeAnswered {
		return adapters.ChangeUnsent
	}
	return f.Change
}
