package call

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
)

// Plan returns the text of PlanEffects.
func (p *Program) Plan(ctx context.Context, caller *mcp.Caller, arguments []byte) (plan string, err error) {
	approvals, effects, err := p.PlanEffects(ctx, caller, arguments)
	return approvals + adapters.RenderEffects(effects), err
}

// planError is why there is no plan, as a sentence for the caller.
type planError struct {
	text  string
	cause error
}

func (e *planError) Error() string { return e.text }

// Unwrap returns what the call would be answered with.
func (e *planError) Unwrap() error { return e.cause }

// PlanEffects says what a call with these arguments would send, without sending it, and which approvals it would need,
// a line each. It validates and checks the arguments as a call does, and authorizes the caller unless that is nil. The
// effects mark what depends on the output of a step. An error is a sentence for the caller.
func (p *Program) PlanEffects(
	ctx context.Context, caller *mcp.Caller, arguments []byte,
) (approvals string, effects []adapters.Effect, err error) {
	c := p.newCallOf(ctx, cmp.Or(caller, new(mcp.Caller)), adapters.NopClient{})
	defer c.result.Release()
	defer c.explainNoPlan(&err)
	defer failure.Recover(&err)
	c.program, c.files.dryRun = p, true
	if err := c.admitPlan(caller, p.Decl.Name, inputs{raw: arguments}); err != nil {
		return "", nil, err
	}
	if effects, err = p.planSteps(&c.action); err != nil || len(p.Approvals) == 0 {
		return "", effects, err
	}
	if err := c.requireApprovals(); err != nil {
		return "", nil, err
	}
	s := c.approvals()
	return s.view.plan(s.approvalState), effects, nil
}

// explainNoPlan makes an error one of a plan.
func (c *engine) explainNoPlan(err *error) {
	if *err != nil {
		w, failed := c.failureWriter(), c.failed(*err)
		*err = &planError{w.public(failed), w.protocolError(failed)}
	}
}

// PlanEffects says what a request for the prompt with these arguments would send, as Program.PlanEffects does.
func (p *Prompt) PlanEffects(
	ctx context.Context, caller *mcp.Caller, arguments map[string]string,
) ([]adapters.Effect, error) {
	return p.planDocument(ctx, caller, p.Decl.Name, arguments)
}

// PlanEffects says what reading a URI with these variables would send, as Program.PlanEffects does.
func (r *Resource) PlanEffects(
	ctx context.Context, caller *mcp.Caller, uri string, variables map[string]string,
) ([]adapters.Effect, error) {
	return r.planDocument(ctx, caller, uri, variables)
}

func (o *Operation) planDocument(
	ctx context.Context, caller *mcp.Caller, name string, texts map[string]string,
) (effects []adapters.Effect, err error) {
	c := o.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	defer c.explainNoPlan(&err)
	defer failure.Recover(&err)
	if err := c.admitPlan(caller, name, inputs{texts: texts}); err != nil {
		return nil, err
	}
	return o.planSteps(&c.action)
}

// admitPlan is admit for a call that is not made. Name is what the caller calls it by. Without a caller nothing is
// authorized.
func (c *engine) admitPlan(caller *mcp.Caller, name string, in inputs) error {
	if caller != nil {
		if err := c.checkVisible(name); err != nil {
			return err
		}
		if err := c.operation.CheckScopes(caller); err != nil {
			return err
		}
		return c.admit(in)
	}
	if err := c.validate(in); err != nil {
		return err
	}
	if err := c.resolveFiles(); err != nil {
		return err
	}
	if err := c.checkInputs(); err != nil {
		return err
	}
	if err := c.checkIdentities(); err != nil {
		return err
	}
	return c.openPage()
}

// plan says which approvals the call would need, nil for none.
func (v *approvalView) plan(needed *approvalState) string {
	if needed == nil {
		return ""
	}
	var out strings.Builder
	for _, group := range []struct {
		by    string
		rules []*ApprovalRule
	}{{"of the client's user", needed.userRules}, {"of an operator", needed.operatorRules}} {
		if len(group.rules) > 0 {
			names := strings.Join(ruleNames(group.rules), ", ")
			fmt.Fprintf(&out, "needs the approval %s (%s): %s\n", group.by, names, v.message(group.rules))
		}
	}
	return out.String()
}

// planSteps says what a call that was admitted would send, without secrets.
func (o *Operation) planSteps(call *adapters.Call) ([]adapters.Effect, error) {
	if len(o.Steps) == 0 {
		return adapters.PlanEffects("", "", "Nothing is sent: the result is computed from the arguments."), nil
	}
	var out []adapters.Effect
	for i, s := range o.Steps {
		effects, err := s.plan(call, i > 0)
		if err != nil {
			return nil, err
		}
		for _, e := range effects {
			e.Step = s.Decl.Name
			out = append(out, e.Map(o.Env.Scrubber.Text))
		}
	}
	return out, nil
}

// remark is an effect that only says something about its step.
func remark(format string, args ...any) adapters.Effect {
	return adapters.Effect{Text: fmt.Sprintf(format, args...)}
}

// plan says what one step would send. Later is set for every step but the first.
func (s *Step) plan(call *adapters.Call, later bool) ([]adapters.Effect, error) {
	var out []adapters.Effect
	if s.Decl.When != nil {
		out = append(out, remark("(only when %s)", s.Decl.When.Source()))
	}
	planner, ok := s.Action.(adapters.Planner)
	if !ok {
		return append(out, remark("a %s block, whose plan is not known before it is called", s.Decl.Backend.Kind)), nil
	}
	plan := planner.Plan
	if s.Decl.Each != nil {
		plan = func(*adapters.Call) ([]adapters.Effect, error) { return s.planElements(call, planner) }
	}
	effects, err := plan(call)
	if err != nil && later {
		return append(out, remark("not known before the steps above have run")), nil
	}
	return append(out, effects...), err
}

// maxPlannedElements bounds the elements of each that a plan spells out.
const maxPlannedElements = 20

// planElements says what a step with each would send, element by element.
func (s *Step) planElements(call *adapters.Call, planner adapters.Planner) ([]adapters.Effect, error) {
	elements, _, err := s.elements(call.Frame)
	if err != nil {
		return nil, err
	}
	defer func() { call.Frame.Each = nil }()
	out := []adapters.Effect{remark("(once for each element, %d in all)", len(elements))}
	for i := range elements[:min(len(elements), maxPlannedElements)] {
		call.Frame.Each = &elements[i]
		effects, err := planner.Plan(call)
		if err != nil {
			return nil, err
		}
		out = append(out, effects...)
	}
	if more := len(elements) - maxPlannedElements; more > 0 {
		out = append(out, remark("(and %d more)", more))
	}
	return out, nil
}
