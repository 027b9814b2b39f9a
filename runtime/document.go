package runtime

import (
	"context"
	"errors"

	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// serve runs a call that comes to a document, has write put the members of the result into the blocks of the reply, and accounts for it. What fails is an error of
// the protocol: there is no model to read about it.
func (r *operation) serve(ctx context.Context, req *mcp.CallRequest, in inputs, write func(*call) error) (mcp.Document, error) {
	c := r.newCall(ctx, callerRoot(req.Caller), (*requestClient)(req))
	defer c.unpin()
	c.remoteAddr = req.Caller.Remote
	c.setCaller(req.Caller)
	if c.audit = r.beginAudit(req.Caller, req.Meta, req.Arguments); c.audit != nil && r.kind == "resource" && !r.hasSensitiveInput {
		c.audit.common.URI = r.generation.scrubber.Text(req.Name)
	}
	err := c.checkVisibleSafe(req.Name)
	if err == nil {
		err = c.checkClient(req)
	}
	if err == nil {
		err = c.runRecovered(in, write)
	}
	var pause *elicit.PausedError
	var asked *mcp.Questions
	outcome := ""
	if errors.As(err, &pause) {
		outcome = audit.Asked
		asked, err = c.sealQuestions(ctx, pause)
	}
	failed := c.recordEnd(ctx, failure.Of(err), outcome)
	if asked != nil && failed == nil {
		c.result.Release()
		return mcp.Document{Questions: asked}, nil
	}
	c.logOutcome(ctx, failed)
	if failed != nil {
		defer c.result.Release()
		return mcp.Document{}, c.protocolError(failed)
	}
	return mcp.Document{Members: c.result.DocumentMembers()}, nil
}

// runRecovered runs the call and writes what it came to. A panic in it is its error.
func (c *call) runRecovered(in inputs, write func(*call) error) (err error) {
	defer failure.Recover(&err)
	if err := c.operation.run(c, in); err != nil {
		return err
	}
	return write(c)
}
