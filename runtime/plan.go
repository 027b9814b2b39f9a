package runtime

import (
	"context"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/runtime/mcp"
)

// Plan says what a call with these arguments would send, without sending it: validation and checks are as in a call. What depends on an answer
// that only a call would bring is said to. Where it is said whose call it is, it is decided about as that one is; with a nil caller nobody is asked whether it may be made. An error is a
// sentence for the caller.
func (p *Program) Plan(ctx context.Context, caller *mcp.Caller, arguments []byte) (plan string, err error) {
	c := p.newCall(ctx, callerOf(caller), adapters.Nobody{})
	defer c.reply.release()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s", c.told(failureOf(err)))
		}
	}()
	defer recovered(&err)
	c.shown = true
	if err := p.planAdmitted(c, caller, inputs{raw: arguments}); err != nil {
		return "", err
	}
	if plan, err = p.planned(c); err != nil || len(p.approvals) == 0 {
		return plan, err
	}
	if err := p.demand(c); err != nil {
		return "", err
	}
	return p.needed(c) + plan, nil
}

// planAdmitted is admit for a call that is not made: of nobody it is only asked whether its arguments are as they must be.
func (p *Program) planAdmitted(c *call, caller *mcp.Caller, in inputs) error {
	if caller != nil {
		c.of(caller)
		if err := p.conceals(c, p.decl.Name); err != nil {
			return err
		}
		if err := p.entitled(caller); err != nil {
			return err
		}
		return p.admit(c, in)
	}
	if err := p.validate(c, in); err != nil {
		return err
	}
	if p.attaches {
		if err := p.attach(c); err != nil {
			return err
		}
	}
	return p.check(c)
}

// needed says which approvals the call would need.
func (p *Program) needed(c *call) string {
	if c.consent == nil {
		return ""
	}
	var out strings.Builder
	for _, of := range []struct {
		by    string
		rules []*approvalRule
	}{{"of the client's user", c.consent.caller}, {"of an operator", c.consent.operator}} {
		if len(of.rules) > 0 {
			fmt.Fprintf(&out, "needs the approval %s (%s): %s\n", of.by, strings.Join(namesOf(of.rules), ", "), p.sentenceOf(c, of.rules))
		}
	}
	return out.String()
}

// planned says what a call that was checked would send.
func (p *Program) planned(c *call) (string, error) {
	if len(p.stages) == 0 {
		return "Nothing is sent: the answer is computed from the arguments.\n", nil
	}
	var out strings.Builder
	for i, s := range p.stages {
		text, err := s.plan(c, i > 0)
		if err != nil {
			return "", err
		}
		if s.step.Name != "" {
			fmt.Fprintf(&out, "step %q:\n", s.step.Name)
		}
		out.WriteString(strings.TrimRight(p.generation.scrubber.sentence(text), "\n") + "\n")
	}
	return out.String(), nil
}

// plan says what one step would send; later is set for one that comes after another.
func (s *stage) plan(c *call, later bool) (string, error) {
	var notes []string
	if s.step.When != nil {
		notes = append(notes, "only when "+s.step.When.Source())
	}
	if s.step.Each != nil {
		notes = append(notes, "for each element of its list")
	}
	note := ""
	if len(notes) > 0 {
		note = "(" + strings.Join(notes, ", ") + ")\n"
	}
	planner, ok := s.action.(adapters.Planner)
	if !ok {
		return note + "a " + s.step.Backend.Kind + " block, which cannot say more before it is called", nil
	}
	text, err := planner.Plan(&c.action)
	if err != nil && (later || s.step.Each != nil) {
		return note + "not known before the steps above have answered", nil
	}
	return note + text, err
}

// Plan says which tool would be called.
func (t *toolCall) Plan(call *adapters.Call) (string, error) {
	values, err := t.values(call.Frame)
	if err != nil {
		return "", err
	}
	text, err := appendText([]byte("tool "+t.target.tool.Name+" "), values)
	return string(text), err
}
