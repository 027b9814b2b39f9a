package runtime

import (
	"time"

	"hatchel/hcl"
	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
)

// consent is what a call needs that somebody must agree to, and how far that has come. It belongs to the goroutine of the call.
type consent struct {
	stage    string
	caller   []*approvalRule // that want the user of the client to agree
	operator []*approvalRule // that want an operator to
	given    *approval.Approval
	used     *approval.Approval // given, and used up by this call
	of       string             // what they are asked to agree to, as approvalPurpose says it
	record   *audit.Approval    // of who has agreed, for the audit log

	patience time.Duration        // for which an operator may let a task wait
	task     string               // that the call has become, while it waits for an operator
	begun    func() (bool, error) // of a call with a key: whether another with the same one has begun
}

// How far it has come, as it is remembered while the call is not under way.
const (
	consentOpen    = ""
	consentAsked   = "asked"   // the user of the client was
	consentAgreed  = "agreed"  // they have
	consentWaiting = "waiting" // for an operator, as a task
	consentGiven   = "given"   // nothing is left
)

// demand finds out what of a call somebody must agree to, unless that was found out when it was under way before.
func (p *Program) demand(c *call) error {
	if len(p.approvals) == 0 || c.consent != nil && c.consent.stage == consentGiven {
		return nil
	}
	n := c.consent
	if n == nil {
		n = new(consent)
	}
	c.frame.Tool = p.called
	var reading hcl.Reading
	for _, r := range p.approvals {
		if r.when != nil {
			wanted, err := reading.Ask(r.when, c.frame)
			if err != nil {
				c.decision = decision{verdict: denied, rule: r.name, cause: err}
				return c.denied()
			}
			if !wanted {
				continue
			}
		}
		if r.decl.Caller {
			n.caller = append(n.caller, r)
		} else {
			n.operator = append(n.operator, r)
		}
	}
	if len(n.caller)+len(n.operator) > 0 {
		c.consent = n
	}
	if c.consent != nil && c.isComputing() {
		c.frame.Context = c.computing.Context // computing takes no longer because people do: its time begins when they have agreed
	}
	return nil
}

// rules are all that want somebody to agree.
func (n *consent) rules() []*approvalRule {
	return append(n.caller[:len(n.caller):len(n.caller)], n.operator...)
}

// agreed reports whether nothing stands in the way but that what an operator has approved must be used up.
func (n *consent) agreed() bool { return n == nil || n.stage == consentGiven || n.given != nil }

// frozen is what is remembered of it.
func (n *consent) frozen() map[string]any {
	m := map[string]any{"stage": n.stage, "of": n.of}
	if r := n.record; r != nil {
		rules := make([]any, len(r.Rules))
		for i, name := range r.Rules {
			rules[i] = name
		}
		m["id"], m["by"], m["at"], m["reason"], m["rules"] = r.ID, r.By, r.At.Format(time.RFC3339Nano), r.Reason, rules
	}
	return m
}

// thawConsent undoes frozen.
func thawConsent(m map[string]any) *consent {
	n := &consent{}
	n.stage, _ = m["stage"].(string)
	n.of, _ = m["of"].(string)
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

// approved is who has decided, for the audit log; nil when nobody was asked.
func (n *consent) approved() *audit.Approval {
	if n == nil {
		return nil
	}
	return n.record
}
