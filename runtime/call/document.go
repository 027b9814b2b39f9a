package call

import (
	"context"
	"errors"

	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/audit"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// serveDocument serves a request for a prompt or a resource. Write puts the members of the result
// into the blocks of the reply. A failure is an error of the protocol, because no model reads it.
func (o *Operation) serveDocument(
	ctx context.Context, req *mcp.CallRequest, in inputs, write func(*call) error,
) (mcp.Document, error) {
	c := o.newCallOf(ctx, req.Caller, requestClient{req})
	defer c.unpin()
	c.audit = o.beginAudit(req.Caller, req.Meta, req.Arguments)
	if c.audit != nil && o.Kind == "resource" && !o.hasSensitiveInput {
		c.audit.common.URI = o.Env.Scrubber.Text(req.Name)
	}
	err := o.writeDocument(c, req, in, write)
	var paused *elicit.PausedError
	var questions *mcp.Questions
	interim := ""
	if errors.As(err, &paused) {
		interim = audit.Asked
		questions, err = c.sealQuestions(ctx, paused)
	}
	failed := c.recordEnd(ctx, failure.Of(err), interim)
	if questions != nil && failed == nil {
		c.result.Release()
		return mcp.Document{Questions: questions}, nil
	}
	c.logOutcome(ctx, failed)
	if failed != nil {
		defer c.result.Release()
		return mcp.Document{}, c.protocolError(failed)
	}
	return mcp.Document{Members: c.result.DocumentMembers()}, nil
}

// writeDocument runs a call that a client requests, and writes its document. A panic is its error.
func (o *Operation) writeDocument(c *call, req *mcp.CallRequest, in inputs, write func(*call) error) (err error) {
	defer failure.Recover(&err)
	if err := o.checkVisible(c, req.Name); err != nil {
		return err
	}
	if err := c.checkClient(req); err != nil {
		return err
	}
	if err := o.run(c, in); err != nil {
		return err
	}
	return write(c)
}

// Prompt is one compiled prompt.
type Prompt struct {
	Operation
	Prompt *hcl.Prompt
}

// NewPrompt returns a prompt without its steps and rules.
func NewPrompt(env *Environment, decl *hcl.Prompt) *Prompt {
	p := &Prompt{Prompt: decl}
	p.Init(env, "prompt", &decl.Operation, decl.Error)
	return p
}

// Get serves one prompts/get.
func (p *Prompt) Get(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	return p.serveDocument(ctx, req, textArguments(req.Arguments), p.writeMessages)
}

func (p *Prompt) writeMessages(c *call) (err error) {
	dst := c.result.Blocks
	if p.Prompt.Description != "" {
		dst = append(value.AppendString(append(dst, `"description":`...), p.Prompt.Description), ',')
	}
	if dst, err = p.Writer.AppendMessages(append(dst, `"messages":`...), p.Prompt.Messages, c.frame); err != nil {
		return c.evalError(err)
	}
	c.result.Blocks = p.Env.Scrubber.JSON(dst)
	return nil
}
