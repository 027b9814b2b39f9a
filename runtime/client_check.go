package runtime

import (
	"context"

	"hatchel/runtime/elicit"
	"hatchel/runtime/mcp"
)

// checkClient rejects a caller without the scopes and a client without the capabilities that the call takes. It lets
// the call ask the others: while it waits where the client can be asked then, otherwise by pausing.
func (c *call) checkClient(req *mcp.CallRequest) (err error) {
	if err := c.operation.checkScopes(req.Caller); err != nil {
		return err
	}
	for _, name := range c.operation.requiredCapabilities {
		if !elicit.HasCapability(req.Caller, name) {
			return elicit.CapabilityError(req.Caller, name)
		}
	}
	if !c.operation.asksClient {
		if req.State != "" {
			return mcp.InvalidState()
		}
		return nil
	}
	c.elicitation, err = elicit.New(c, c.action.Client, c.operation.writer, req)
	c.action.Client = c.elicitation
	return err
}

// BeginAsking implements elicit.Call.
func (c *call) BeginAsking(questions []mcp.Question) (ctx context.Context, end func()) {
	c.audit.addQuestions(questions)
	c.pin()
	resume := c.pauseTimeout()
	ctx, cancel := context.WithCancelCause(c.frame.Context)
	unhook := context.AfterFunc(c.stopCtx, func() { cancel(context.Cause(c.stopCtx)) })
	return ctx, func() {
		unhook()
		cancel(nil)
		resume()
	}
}
