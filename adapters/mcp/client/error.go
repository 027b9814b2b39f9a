package client

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what is certain of a request that failed.
type Kind int

// The kinds of errors.
const (
	// NotSent: no byte of the request was sent. It may be repeated.
	NotSent Kind = iota + 1
	// Unknown: at least a part of the request was sent, and no answer came. Whether it had an effect is not known.
	Unknown
	// Rejected: the server answered with an error of JSON-RPC, which is Error.RPC.
	Rejected
	// Status: the server answered with an HTTP status and no error of JSON-RPC. The statuses 400 to 499 mean that it
	// did not carry the request out; of others that is not known.
	Status
	// SessionLost: the server no longer knows the session and did not carry the request out. A new session is needed.
	SessionLost
	// Invalid: the server sent something that is no valid answer or exceeds a limit. Whether the request had an
	// effect is not known.
	Invalid
)

// ErrClosed is wrapped by an Error if the session has ended, before or during the request.
var ErrClosed = errors.New("the session has ended")

// ErrDiscoverEnded is returned by Open if a program ended when it was asked server/discover. Options.Memory has it:
// the program is to be started once more, and the next Open begins with initialize.
var ErrDiscoverEnded = errors.New("the server ended during server/discover")

// Error is the failure of a request. It contains no header and nothing of the request. Texts of the server are cut,
// and may contain anything else.
type Error struct {
	Kind       Kind
	RPC        *RPCError     // of Rejected, and of Status and SessionLost if the server sent one
	Status     int           // of HTTP; 0 if there was none
	RetryAfter time.Duration // of the header Retry-After; 0 if there was none
	Location   string        // of a redirect that is not followed, without query and user
	Err        error         // the cause; nil for Rejected and Status
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	switch {
	case e.RPC != nil:
		return e.RPC.Error()
	case e.Err != nil:
		return e.Err.Error()
	}
	return fmt.Sprintf("the server answered with status %d", e.Status)
}

// RPCError is an error of JSON-RPC.
type RPCError struct {
	Code    int
	Message string // at most 4 KiB of the server's text
	Data    []byte // raw JSON; nil for none
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// InputRequired is returned as an error by Session.Call if a server of 2026-07-28 needs answers. The call is repeated
// with Request.Responses and Request.State.
type InputRequired struct {
	Questions []Question // in the order of the server; empty if it only wants to be called again
	State     string     // opaque; at most maxState bytes

	// Answered are the questions for roots, which the session has answered. They belong to Request.Responses, too.
	Answered map[string]Answer
}

func (e *InputRequired) Error() string {
	return fmt.Sprintf("the server requires %d answers", len(e.Questions))
}
