package runtime

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"hatchel/adapters"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// contextCause puts the reason for which the context of the call ended in the place of the error that it led to.
func (c *call) contextCause(err error) error {
	ctx := c.frame.Context
	if ctx.Err() == nil {
		return err
	}
	switch {
	case errors.Is(context.Cause(ctx), errTimeout), c.onlyComputes() && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &adapters.Fault{Message: "timed out after " + failure.FormatDuration(c.operation.decl.Timeout), Cause: err}
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

// failureText is what the caller reads about a failed call: in the words of the author, if there are any.
func (c *call) failureText(f *failure.Failure) string {
	if m := c.operation.errorText; m != nil && !f.Refused {
		c.frame.Failure = f.ErrorRoot(c.failedStep)
		if text, err := m.Append(nil, c.frame); err == nil {
			return string(text)
		}
	}
	return strings.TrimSpace(f.Message)
}

// publicMessage is what leaves the process about a failed call.
func (c *call) publicMessage(f *failure.Failure) string {
	return c.operation.writer.Message(c.failureText(f))
}

// relativePaths writes the paths of a text as they are in the folder of the configuration: who reads a document need not know where on the server that is.
func (b *Build) relativePaths(text string) string {
	if b.Dir == "" || strings.HasSuffix(b.Dir, string(filepath.Separator)) {
		return text
	}
	return strings.ReplaceAll(text, b.Dir+string(filepath.Separator), "")
}

// protocolError is a failure as a request is answered that has no other way to tell of it.
func (c *call) protocolError(failed *failure.Failure) error {
	if failed.Protocol != nil {
		return failed.Protocol
	}
	if failed.Internal {
		failed.Message = failure.InternalMessage(c.operation.kind)
	}
	if failed.NotFound { // which file that is stands in the log
		failed.Message = "a file that the " + c.operation.kind + " is made of is not there"
	}
	out := &mcp.Error{Code: mcp.CodeInternalError, Message: c.operation.generation.build.relativePaths(c.publicMessage(failed))}
	if failed.Refused && !failed.Unrecorded || failed.NotFound && c.operation.kind != "completion" {
		out.Code = mcp.CodeInvalidParams // also of what is not there, as of a name or an address that leads to nothing
	}
	if failed.NotFound && c.operation.kind == "resource" { // the address is told with the error
		return out
	}
	if failed.ID != "" {
		out.Data = []byte(`{"correlationId":"` + failed.ID + `"}`)
	}
	return out
}
