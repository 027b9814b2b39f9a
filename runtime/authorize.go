package runtime

import (
	"context"

	"hatchel/adapters"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// checkVisible rejects a caller who may not call the operation whatever the inputs are, as if it did not exist. It
// runs before everything else that tells that it does: scopes, headers, capabilities and arguments.
func (r *operation) checkVisible(c *call, name string) error {
	if !r.rules.DecidesBeforeInputs() {
		return nil
	}
	d := r.rules.Decide(&policy.Evaluation{Frame: c.frame, BeforeInputs: true, CallResults: &c.ruleResults})
	switch {
	case d.Verdict == policy.Denied:
		d.BeforeInputs = true
		c.decision = d
		return &policy.NotVisibleError{As: r.notFound(name), Cause: d.Cause}
	case !r.rules.ReadsInputs():
		c.decision, c.preauthorized = d, true
	}
	return nil
}

// checkVisibleRequest is checkVisible for a request that is no call, logged. Its error is one of the protocol.
func (r *operation) checkVisibleRequest(ctx context.Context, caller *mcp.Caller, name string) error {
	if !r.rules.DecidesBeforeInputs() {
		return nil
	}
	c := r.newCall(ctx, callerRoot(caller), adapters.Nobody{})
	defer c.result.Release()
	c.remoteAddr = caller.Remote
	failed := failure.Of(c.checkVisibleSafe(name))
	if failed == nil {
		return nil
	}
	c.logOutcome(ctx, failed)
	return c.protocolError(failed)
}

// checkVisibleSafe is checkVisible with panics as errors.
func (c *call) checkVisibleSafe(name string) (err error) {
	defer failure.Recover(&err)
	return c.operation.checkVisible(c, name)
}

// notFound returns the answer to a request for a name, or a URI, that does not exist.
func (r *operation) notFound(name string) *mcp.Error {
	switch r.kind {
	case "tool":
		return mcp.UnknownTool(name)
	case "prompt":
		return mcp.UnknownPrompt(name)
	}
	return mcp.UnknownResource(name)
}

// authorize decides whether the caller may make the call, unless that was decided without its inputs.
func (r *operation) authorize(c *call) error {
	if r.rules == nil || c.preauthorized {
		return nil
	}
	c.decision = r.rules.Decide(&policy.Evaluation{Frame: c.frame, CallResults: &c.ruleResults})
	return c.denialError()
}

// deniedWithoutInputs returns why the caller may not make the call whatever the inputs are; nil if they may.
func (r *operation) deniedWithoutInputs(c *call) error {
	if r.rules == nil {
		return nil
	}
	d := r.rules.Decide(&policy.Evaluation{Frame: c.frame, BeforeInputs: true})
	if d.Verdict != policy.Denied {
		return nil
	}
	d.BeforeInputs = true
	c.decision = d
	return c.denialError()
}

// denialError returns why the call is denied; nil when it is not.
func (c *call) denialError() error {
	if cause := c.decision.Cause; cause != nil && c.frame.Context.Err() != nil {
		return c.evalError(cause)
	}
	return c.decision.Err(c.frame)
}
