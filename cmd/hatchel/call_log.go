package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"hatchel/cmd/hatchel/exit"
	"hatchel/internal/printable"
)

// callLog is the log of a command that makes one call. The command prints what the call came to, so the line about the
// call is not logged: what it says besides is printed with the result.
type callLog struct {
	slog.Handler
	cause *string // of the last failed call; empty for none
}

// Handle implements slog.Handler.
func (h callLog) Handle(ctx context.Context, r slog.Record) error {
	facts := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		facts[a.Key] = a.Value.String()
		return true
	})
	if facts["outcome"] == "" {
		return h.Handler.Handle(ctx, r)
	}
	*h.cause = strings.TrimSpace(facts["at"] + " " + facts["cause"])
	return nil
}

// partlyFailed returns the error of a call that went on after failures, nil for none. It prints them, in a sentence,
// unless the result that is printed as JSON has them.
func partlyFailed(w io.Writer, failures string, asJSON bool) error {
	if failures == "" {
		return nil
	}
	if !asJSON {
		fmt.Fprintf(w, "partial: %s\n", printable.Line(failures))
	}
	return &exit.Error{Code: exit.Partial}
}

// printCause prints the cause of a failed call, unless its message has it.
func (l *loadFlags) printCause(w io.Writer, message string) {
	if l.cause != "" && !strings.Contains(message, l.cause) {
		fmt.Fprintf(w, "cause: %s\n", printable.Line(l.cause))
	}
}
