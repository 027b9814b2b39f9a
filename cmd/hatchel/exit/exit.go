// Package exit has the errors with which commands end the process.
package exit

import (
	"errors"
	"fmt"
	"io/fs"
)

// Exit codes other than 0.
const (
	Failed  = 1
	Usage   = 2
	Partial = 3 // call: it went on after failures; audit --verify: the last line is incomplete
)

// Error is an error with the exit code of the process. An empty text means that everything was
// printed before.
type Error struct {
	Code int
	Text string
}

func (e *Error) Error() string { return e.Text }

// Failf returns the error of a check, a call or another operation that failed.
func Failf(format string, args ...any) error { return &Error{Failed, fmt.Sprintf(format, args...)} }

// Misusef returns the error of a command that was used incorrectly.
func Misusef(format string, args ...any) error { return &Error{Usage, fmt.Sprintf(format, args...)} }

// Reason returns an error of the operating system without the path and the operation, which the
// sentence around it names.
func Reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrExist):
		return "it exists already"
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
