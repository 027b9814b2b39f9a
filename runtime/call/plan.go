package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// Plan says what a call with these arguments would send, without sending it. It validates and
// checks the arguments as a call does, and authorizes the caller unless that is nil. The plan
// marks what depends on the output of a step. An error is a sentence for the caller.
func (p *Program) Plan(ctx context.Context, caller *mcp.Caller, arguments []byte) (plan string, err error) {
	c := p.newCallOf(ctx, cmp.Or(caller, new(mcp.Caller)), adapters.NopClient{})
	defer c.result.Release()
	defer func() {
		if err != nil {
			err = errors.New(c.publicMessage(failure.Of(err)))
		}
	}()
	defer failure.Recover(&err)
	c.dryRun = true
	if err := p.admitPlan(c, caller, inputs{raw: arguments}); err != nil {
		return "", err
	}
	if plan, err = p.planSteps(c); err != nil || len(p.Approvals) == 0 {
		return plan, err
	}
	if err := p.findRequiredApprovals(c); err != nil {
		return "", err
	}
	return p.planApprovals(c) + plan, nil
}

// admitPlan is admit for a call that is not made. Without a caller nothing is authorized.
func (p *Program) admitPlan(c *call, caller *mcp.Caller, in inputs) error {
	if caller != nil {
		if err := p.checkVisible(c, p.Decl.Name); err != nil {
			return err
		}
		if err := p.CheckScopes(caller); err != nil {
			return err
		}
		return p.admit(c, in)
	}
	if err := p.validate(c, in); err != nil {
		return err
	}
	if err := p.resolveFiles(c); err != nil {
		return err
	}
	return p.runChecks(c)
}

// planApprovals says which approvals the call would need.
func (p *Program) planApprovals(c *call) string {
	if c.approval == nil {
		return ""
	}
	var out strings.Builder
	for _, group := range []struct {
		by    string
		rules []*ApprovalRule
	}{{"of the client's user", c.approval.userRules}, {"of an operator", c.approval.operatorRules}} {
		if len(group.rules) > 0 {
			names := strings.Join(ruleNames(group.rules), ", ")
			fmt.Fprintf(&out, "needs the approval %s (%s): %s\n", group.by, names, p.approvalMessage(c, group.rules))
		}
	}
	return out.String()
}

// planSteps says what a call that was admitted would send.
func (p *Program) planSteps(c *call) (string, error) {
	if len(p.Steps) == 0 {
		return "Nothing is sent: the result is computed from the arguments.\n", nil
	}
	var out strings.Builder
	for i, s := range p.Steps {
		text, err := s.plan(c, i > 0)
		if err != nil {
			return "", err
		}
		if s.Decl.Name != "" {
			fmt.Fprintf(&out, "step %q:\n", s.Decl.Name)
		}
		out.WriteString(strings.TrimRight(p.Env.Scrubber.Text(text), "\n") + "\n")
	}
	return out.String(), nil
}

// plan says what one step would send. Later is set for every step but the first.
func (s *Step) plan(c *call, later bool) (string, error) {
	note := ""
	if s.Decl.When != nil {
		note = "(only when " + s.Decl.When.Source() + ")\n"
	}
	planner, ok := s.Action.(adapters.Planner)
	if !ok {
		return note + "a " + s.Decl.Backend.Kind + " block, whose plan is not known before it is called", nil
	}
	plan := func() (string, error) { return planner.Plan(&c.action) }
	if s.Decl.Each != nil {
		plan = func() (string, error) { return s.planElements(c, planner) }
	}
	text, err := plan()
	if err != nil && later {
		return note + "not known before the steps above have run", nil
	}
	return note + text, err
}

// maxPlannedElements bounds the elements of each that a plan spells out.
const maxPlannedElements = 20

// planElements says what a step with each would send, element by element.
func (s *Step) planElements(c *call, planner adapters.Planner) (string, error) {
	elements, _, err := result.EvalElements(s.Decl.Each, c.frame)
	if err != nil {
		return "", err
	}
	defer func() { c.frame.Each = nil }()
	var out strings.Builder
	fmt.Fprintf(&out, "(once for each element, %d in all)\n", len(elements))
	for i := range elements[:min(len(elements), maxPlannedElements)] {
		c.frame.Each = &elements[i]
		text, err := planner.Plan(&c.action)
		if err != nil {
			return "", err
		}
		out.WriteString(strings.TrimRight(text, "\n") + "\n")
	}
	if more := len(elements) - maxPlannedElements; more > 0 {
		fmt.Fprintf(&out, "(and %d more)\n", more)
	}
	return out.String(), nil
}
