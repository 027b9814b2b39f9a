package runtime

import (
	"time"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/policy"
)

// approvalState is what a call needs that somebody must agree to, and how far that has come. It belongs to the goroutine of the call.
type approvalState struct {
	stage         string
	callerRules   []*approvalRule // that want the user of the client to agree
	operatorRules []*approvalRule // that want an operator to
	given         *approval.Approval
	used          *approval.Approval // given, and used up by this call
	fingerprint   string             // what they are asked to agree to, as approvalPurpose says it
	record        *audit.Approval    // of who has agreed, for the audit log

	maxWait        time.Duration        // for which an operator may let a task wait
	task           string               // that the call has become, while it waits for an operator
	sameKeyStarted func() (bool, error) // of a call with a key: whether another with the same one has begun
}

// How far it has come, as it is remembered while the call is not under way.
const (
	approvalOpen      = ""
	approvalAsked     = "asked"   // the user of the client was
	approvalConfirmed = "agreed"  // they have
	approvalWaiting   = "waiting" // for an operator, as a task
	approvalComplete  = "given"   // nothing is left
)

// findRequiredApprovals finds out what of a call somebody must agree to, unless that was found out when it was under way before.
func (p *Program) findRequiredApprovals(c *call) error {
	if len(p.approvalRules) == 0 || c.approval != nil && c.approval.stage == approvalComplete {
		return nil
	}
	n := c.approval
	if n == nil {
		n = new(approvalState)
	}
	c.frame.Tool = p.toolRoot
	var reading hcl.EvalBuffer
	for _, r := range p.approvalRules {
		if r.when != nil {
			wanted, err := reading.Eval(r.when, c.frame)
			if err != nil {
				c.decision = policy.DeniedByError(r.name, err)
				return c.denialError()
			}
			if !wanted {
				continue
			}
		}
		if r.decl.ByCaller {
			n.callerRules = append(n.callerRules, r)
		} else {
			n.operatorRules = append(n.operatorRules, r)
		}
	}
	if len(n.callerRules)+len(n.operatorRules) > 0 {
		c.approval = n
	}
	if c.approval != nil && c.onlyComputes() {
		c.frame.Context = c.computeCtx.Context // computing takes no longer because people do: its time begins when they have agreed
	}
	return nil
}

// rules are all that want somebody to agree.
func (n *approvalState) rules() []*approvalRule {
	return append(n.callerRules[:len(n.callerRules):len(n.callerRules)], n.operatorRules...)
}

// isComplete reports whether nothing stands in the way but that what an operator has approved must be used up.
func (n *approvalState) isComplete() bool {
	return n == nil || n.stage == approvalComplete || n.given != nil
}

// freeze is what is remembered of it.
func (n *approvalState) freeze() map[string]any {
	m := map[string]any{"stage": n.stage, "of": n.fingerprint}
	if r := n.record; r != nil {
		rules := make([]any, len(r.Rules))
		for i, name := range r.Rules {
			rules[i] = name
		}
		m["id"], m["by"], m["at"], m["reason"], m["rules"] = r.ID, r.By, r.At.Format(time.RFC3339Nano), r.Reason, rules
	}
	return m
}

// thawApprovalState undoes frozen.
func thawApprovalState(m map[string]any) *approvalState {
	n := &approvalState{}
	n.stage, _ = m["stage"].(string)
	n.fingerprint, _ = m["of"].(string)
	rules, recorded := m["rules"].([]any)
	if !recorded {
		return n
	}
	r := &audit.Approval{}
	r.ID, _ = m["id"].(string)
	r.By, _ = m["by"].(string)
	r.Reason, _ = m["reason"].(string)
	at, _ := m["at"].(string)
	r.At, _ = time.Parse(time.RFC3339Nano, at)
	for _, name := range rules {
		text, _ := name.(string)
		r.Rules = append(r.Rules, text)
	}
	n.record = r
	return n
}

// auditRecord is who has decided, for the audit log; nil when nobody was asked.
func (n *approvalState) auditRecord() *audit.Approval {
	if n == nil {
		return nil
	}
	return n.record
}
