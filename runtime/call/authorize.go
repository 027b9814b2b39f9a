package call

import (
	"context"

	"hatchel/adapters"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// checkVisible rejects a caller who may not call the operation whatever the inputs are, as if it
// did not exist. It runs before everything else that shows that it does: scopes, headers,
// capabilities and arguments.
func (o *Operation) checkVisible(c *call, name string) error {
	if !o.Rules.DecidesBeforeInputs() {
		return nil
	}
	d := o.Rules.Decide(&policy.Evaluation{Frame: c.frame, BeforeInputs: true, CallResults: &c.access.results})
	switch {
	case d.Verdict == policy.Denied:
		d.BeforeInputs = true
		c.access.decision = d
		return &policy.NotVisibleError{As: o.notFound(name), Cause: d.Cause}
	case !o.Rules.ReadsInputs():
		c.access.decision, c.access.preauthorized = d, true
	}
	return nil
}

// checkVisibleRequest is checkVisible for a request that is no call. Its error, which it logs, is
// one of the protocol.
func (o *Operation) checkVisibleRequest(ctx context.Context, caller *mcp.Caller, name string) error {
	if !o.Rules.DecidesBeforeInputs() {
		return nil
	}
	c := o.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	failed := failure.Of(failure.Try(func() error { return o.checkVisible(c, name) }))
	if failed == nil {
		return nil
	}
	c.logOutcome(ctx, failed)
	return c.protocolError(failed)
}

// authorize decides whether the caller may make the call, unless that was decided without its
// inputs.
func (o *Operation) authorize(c *call) error {
	if o.Rules == nil || c.access.preauthorized {
		return nil
	}
	c.access.decision = o.Rules.Decide(&policy.Evaluation{Frame: c.frame, CallResults: &c.access.results})
	return c.denialError()
}

// hideReason returns why a call is not admitted. A caller who may not make the call whatever the
// inputs are does not learn what is wrong with them.
func (o *Operation) hideReason(c *call, err error) error {
	if o.Rules == nil || c.access.decision.Verdict == policy.Denied {
		return err
	}
	d := o.Rules.Decide(&policy.Evaluation{Frame: c.frame, BeforeInputs: true})
	if d.Verdict != policy.Denied {
		return err
	}
	d.BeforeInputs = true
	c.access.decision = d
	return c.denialError()
}

// denialError returns why the call is denied; nil when it is not.
func (c *call) denialError() error {
	if cause := c.access.decision.Cause; cause != nil && c.frame.Context.Err() != nil {
		return c.evalError(cause)
	}
	return c.access.decision.Err(c.frame)
}
