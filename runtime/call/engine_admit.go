package call

import (
	"strings"

	"hatchel/hcl/schema"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/policy"
	"hatchel/runtime/stage/result"
)

// accept rejects a caller who may not call the operation whatever the inputs are, or without the required scopes, and a
// client without the required capabilities. It lets the call ask any other client: while the call waits where the
// client can be asked then, otherwise by pausing.
func (c *engine) accept(req *mcp.CallRequest) (err error) {
	if err := c.checkVisible(req.Name); err != nil {
		return err
	}
	if c.program != nil {
		if err := req.CheckHeaders(c.program.headerInputs); err != nil {
			return err
		}
	}
	o := c.operation
	if err := o.CheckScopes(req.Caller); err != nil {
		return err
	}
	for _, name := range o.RequiredCapabilities {
		if !elicit.HasCapability(req.Caller, name) {
			return elicit.CapabilityError(req.Caller, name)
		}
	}
	if !o.AsksClient {
		if req.State != "" {
			return mcp.InvalidState()
		}
		return nil
	}
	w := c.waiting()
	c.elicitation, err = elicit.New(w, c.action.Client, o.Writer, req)
	c.action.Client, w.client = c.elicitation, c.elicitation
	return err
}

// checkVisible rejects a caller who may not call the operation whatever the inputs are.
func (c *engine) checkVisible(name string) error {
	d, decided, err := c.operation.checkVisible(c.frame, &c.access.results, name)
	if decided {
		c.access.decision, c.access.preauthorized = d, err == nil
	}
	return err
}

// admit validates and authorizes a call. A caller who may not make the call whatever the inputs are does not learn what
// is wrong with them.
func (c *engine) admit(in inputs) error {
	err := c.validate(in)
	if err == nil {
		if c.events.areRead() {
			f := c.facts()
			c.events.publishStart(&f, c.clock.started)
		}
		err = c.resolveFiles()
	}
	if err == nil {
		err = c.checkInputs()
	}
	if err == nil {
		err = c.authorize()
	}
	if err == nil {
		err = c.checkIdentities()
	}
	if err == nil {
		err = c.openPage()
	}
	if err != nil && c.access.decision.Verdict != policy.Denied {
		if d, hides := c.operation.hides(c.frame); hides {
			c.access.decision = d
			return c.clock.denial(d)
		}
	}
	return err
}

// newBudget returns what the arguments of the call may take.
func (c *engine) newBudget() *argumentBudget {
	c.budget = argumentBudget{frame: c.frame, clock: &c.clock, request: c.request}
	if c.progress.mayBecomeTask {
		c.budget.inTask = copiesInTask * int64(len(c.raw))
	}
	return &c.budget
}

// validate reads the arguments, and reports everything that is wrong with them.
func (c *engine) validate(in inputs) error {
	if err := c.operation.unreadable(in); err != nil {
		return err
	}
	budget := c.newBudget()
	err := c.acceptRaw(&in, budget)
	var violations []schema.Violation
	if err == nil {
		c.frame.Input, violations, err = c.operation.readInputs(in, budget)
	}
	if err != nil {
		by, refused := budget.refuse(err)
		if by != "" {
			c.access.refusedBy = by
		}
		return refused
	}
	return c.refuseArguments(violations)
}

// acceptRaw replaces the arguments that a caller has sent by what the server accepts them as.
func (c *engine) acceptRaw(in *inputs, budget *argumentBudget) (err error) {
	if in.texts == nil && in.values == nil {
		in.raw, err = c.operation.Decl.Validator.Accept(in.raw, c.operation.Env.Lenience, budget)
		c.raw = in.raw
	}
	return err
}

// refuseArguments returns the failure of arguments that their types refuse; nil without violations.
func (c *engine) refuseArguments(violations []schema.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	head := invalidArguments
	if c.caller == nil {
		head = "The arguments are not valid:\n"
	} else if o := c.operation.Env.Observer; o != nil {
		o.Refused(violations)
	}
	c.access.refusedBy = metrics.RefusedByArgument
	return failure.Refusal(head + result.ListViolations(violations))
}

// resolveFiles replaces the references of uploaded files in the inputs by the files, and checks
// them against what the inputs accept.
func (c *engine) resolveFiles() error {
	if !c.operation.takesFiles {
		return nil
	}
	input, violations, err := c.files.resolve(c.operation, &c.action)
	if err != nil {
		return c.clock.cause(err)
	}
	if len(violations) == 0 {
		c.frame.Input = input
	}
	return c.refuseArguments(violations)
}

// checkInputs evaluates the check blocks, and reports every one that is false.
func (c *engine) checkInputs() error {
	failed, err := c.operation.checkInputs(c.frame)
	switch {
	case err != nil:
		return c.clock.evalError(err)
	case c.program != nil && c.program.refuse != nil:
		return failure.Refusal(c.program.refuse(c.frame))
	case len(failed) == 0:
		return nil
	}
	c.access.refusedBy = metrics.RefusedByArgument
	return failure.Refusal(strings.Join(failed, "\n"))
}

// authorize decides whether the caller may make the call, unless that was decided without its
// inputs.
func (c *engine) authorize() error {
	rules := c.operation.Rules
	if rules == nil || c.access.preauthorized {
		return nil
	}
	c.access.decision = rules.Decide(&policy.Evaluation{Frame: c.frame, CallResults: &c.access.results})
	return c.clock.denial(c.access.decision)
}
