package runtime

import (
	"context"
	"errors"

	"hatchel/runtime/audit"
	"hatchel/runtime/mcp"
)

// membersOf is a reply whose blocks are the members of a result.
type membersOf reply

func (r *membersOf) AppendJSON(dst []byte) []byte {
	dst = append(dst, r.blocks...)
	(*reply)(r).taken()
	return dst
}

// serve runs a call that comes to a document, has write put the members of the result into the blocks of the reply, and accounts for it. What fails is an error of
// the protocol: there is no model to read about it.
func (r *routine) serve(ctx context.Context, req *mcp.CallRequest, in inputs, write func(*call) error) (mcp.Document, error) {
	c := r.newCall(ctx, callerOf(req.Caller), (*client)(req))
	defer c.letGo()
	c.remote = req.Caller.Remote
	c.of(req.Caller)
	if c.entry = r.audited(req.Caller, req.Meta, req.Arguments); c.entry != nil && r.noun == "resource" && !r.hides {
		c.entry.common.URI = r.generation.scrubber.sentence(req.Name)
	}
	err := c.opens(req.Name)
	if err == nil {
		err = c.converse(req)
	}
	if err == nil {
		err = c.write(in, write)
	}
	var pause *paused
	var asked *mcp.Questions
	outcome := ""
	if errors.As(err, &pause) {
		outcome = audit.Asked
		asked, err = c.waits(ctx, pause)
	}
	failed := c.written(ctx, failureOf(err), outcome)
	if asked != nil && failed == nil {
		c.reply.release()
		return mcp.Document{Questions: asked}, nil
	}
	c.account(ctx, failed)
	if failed != nil {
		defer c.reply.release()
		return mcp.Document{}, c.protocolError(failed)
	}
	c.reply.due = 1
	return mcp.Document{Members: (*membersOf)(c.reply)}, nil
}

// write runs the call and writes what it came to. A panic in it is its error.
func (c *call) write(in inputs, write func(*call) error) (err error) {
	defer recovered(&err)
	if err := c.routine.run(c, in); err != nil {
		return err
	}
	return write(c)
}
