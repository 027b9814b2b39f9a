package runtime

import (
	"context"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// Plan says what a call with these arguments would send, without sending it: validation and checks are as in a call. What depends on an answer
// that only a call would bring is said to. Where it is said whose call it is, it is decided about as that one is; with a nil caller nobody is asked whether it may be made. An error is a
// sentence for the caller.
func (p *Program) Plan(ctx context.Context, caller *mcp.Caller, arguments []byte) (plan string, err error) {
	c := p.newCall(ctx, callerRoot(caller), adapters.Nobody{})
	defer c.result.Release()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s", c.publicMessage(failure.Of(err)))
		}
	}()
	defer failure.Recover(&err)
	c.dryRun = true
	if err := p.admitPlan(c, caller, inputs{raw: arguments}); err != nil {
		return "", err
	}
	if plan, err = p.planSteps(c); err != nil || len(p.approvalRules) == 0 {
		return plan, err
	}
	if err := p.findRequiredApprovals(c); err != nil {
		return "", err
	}
	return p.planApprovals(c) + plan, nil
}

// admitPlan is admit for a call that is not made: of nobody it is only asked whether its arguments are as they must be.
func (p *Program) admitPlan(c *call, caller *mcp.Caller, in inputs) error {
	if caller != nil {
		c.setCaller(caller)
		if err := p.checkVisible(c, p.decl.Name); err != nil {
			return err
		}
		if err := p.checkScopes(caller); err != nil {
			return err
		}
		return p.admit(c, in)
	}
	if err := p.validate(c, in); err != nil {
		return err
	}
	if p.takesFiles {
		if err := p.resolveFiles(c); err != nil {
			return err
		}
	}
	return p.runChecks(c)
}

// planApprovals says which approvals the call would need.
func (p *Program) planApprovals(c *call) string {
	if c.approval == nil {
		return ""
	}
	var out strings.Builder
	for _, of := range []struct {
		by    string
		rules []*approvalRule
	}{{"of the client's user", c.approval.callerRules}, {"of an operator", c.approval.operatorRules}} {
		if len(of.rules) > 0 {
			fmt.Fprintf(&out, "needs the approval %s (%s): %s\n", of.by, strings.Join(namesOf(of.rules), ", "), p.approvalMessage(c, of.rules))
		}
	}
	return out.String()
}

// planSteps says what a call that was checked would send.
func (p *Program) planSteps(c *call) (string, error) {
	if len(p.steps) == 0 {
		return "Nothing is sent: the answer is computed from the arguments.\n", nil
	}
	var out strings.Builder
	for i, s := range p.steps {
		text, err := s.plan(c, i > 0)
		if err != nil {
			return "", err
		}
		if s.decl.Name != "" {
			fmt.Fprintf(&out, "step %q:\n", s.decl.Name)
		}
		out.WriteString(strings.TrimRight(p.generation.scrubber.Text(text), "\n") + "\n")
	}
	return out.String(), nil
}

// plan says what one step would send; later is set for one that comes after another.
func (s *boundStep) plan(c *call, later bool) (string, error) {
	var notes []string
	if s.decl.When != nil {
		notes = append(notes, "only when "+s.decl.When.Source())
	}
	if s.decl.Each != nil {
		notes = append(notes, "for each element of its list")
	}
	note := ""
	if len(notes) > 0 {
		note = "(" + strings.Join(notes, ", ") + ")\n"
	}
	planner, ok := s.action.(adapters.Planner)
	if !ok {
		return note + "a " + s.decl.Backend.Kind + " block, which cannot say more before it is called", nil
	}
	text, err := planner.Plan(&c.action)
	if err != nil && (later || s.decl.Each != nil) {
		return note + "not known before the steps above have answered", nil
	}
	return note + text, err
}

// Plan says which tool would be called.
func (t *toolCall) Plan(call *adapters.Call) (string, error) {
	values, err := t.evalInputs(call.Frame)
	if err != nil {
		return "", err
	}
	text, err := result.AppendText([]byte("tool "+t.target.tool.Name+" "), values)
	return string(text), err
}
