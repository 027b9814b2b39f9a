package main

import (
	"errors"
	"fmt"
	"io"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl"
	"hatchel/hcl/spelling"
	"hatchel/runtime/edge/mcp"
)

// writeError returns the error for a result that could not be written, or nil.
func writeError(err error) error {
	if err == nil {
		return nil
	}
	return failf("the result cannot be written: %s", reason(err))
}

func printJSON(w io.Writer, v any) error { return writeError(console.WriteJSON(w, v)) }

// countDiagnostics returns a phrase as in "2 errors and 1 warning".
func countDiagnostics(diags hcl.Diagnostics) string { return console.CountDiagnostics(diags.Counts()) }

// reason returns an error of the operating system without the path and the operation, which the
// sentence around it names.
func reason(err error) string { return exit.Reason(err) }

// notFound returns the error for a name that a directory does not declare, with the nearest
// declared name.
func notFound(kind, name, dir string, names []string) error {
	hint := ""
	if near := spelling.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	return failf("there is no %s %q in %s.%s", kind, name, folderName(dir), hint)
}

// protocolFailure converts an error of the MCP handler to the error of a command.
func protocolFailure(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return failf("%s", e.Message)
	}
	return failf("%s", err)
}
