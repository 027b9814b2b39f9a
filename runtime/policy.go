package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync/atomic"

	"hatchel/hcl"
)

// rule is one allow or one deny. It is immutable but for what was said about it in the log.
type rule struct {
	name        string // by which decisions are told: policy.finance.deny, tool.pay.allow
	condition   *hcl.Condition
	message     *hcl.TextTemplate // of its policy, for who is denied; nil when there is none
	readsInputs bool              // it reads what only a call has, so that no list can be made by it
	readsTool   bool              // it may hold for one thing and not for another, whoever asks
	bit         uint64            // of an answered; 0 for those that came after all bits were given away
	reported    atomic.Bool       // that it cannot be computed, while a list was made
}

func newRule(name string, c *hcl.Condition, message *hcl.TextTemplate) *rule {
	if c == nil {
		return nil
	}
	return &rule{name: name, condition: c, message: message, readsInputs: c.DependsOnCall(), readsTool: c.Reads("tool")}
}

// rule is newRule for a rule whose answer can be remembered by its bit.
func (c *compiler) rule(name string, condition *hcl.Condition, message *hcl.TextTemplate) *rule {
	r := newRule(name, condition, message)
	if r != nil {
		r.bit = 1 << c.nextBit
		c.nextBit++
	}
	return r
}

// ruleResults is what rules have answered a call that read nothing of it, by their bits.
type ruleResults struct{ known, hold uint64 }

// rules are all that decides who may call one thing. Nil are those of what everybody may call.
type rules struct {
	tool                map[string]any // what the root `tool` reads
	denies              []*rule        // none of which may hold
	own                 *rule          // which must hold; nil for none
	allows              []*rule        // one of which must hold, if there are any
	allowNames          string         // the names of allows, for when none does
	closed              bool           // what neither own nor allows decide is denied
	decidesBeforeInputs bool           // who may not call may be told before there is a call
	readsInputs         bool           // a rule reads what only a call has
	digest              string
}

// newRules gathers the rules about a routine.
func (c *compiler) newRules(r *operation, tool map[string]any, about func(*hcl.Policy) bool) *rules {
	rs := &rules{tool: tool, own: c.rule(r.kind+"."+r.decl.Name+".allow", r.decl.Allow, nil), closed: c.g.Config.Server.DenyByDefault}
	for _, p := range c.policies {
		if !about(p.policy) {
			continue
		}
		if p.deny != nil {
			rs.denies = append(rs.denies, p.deny)
		}
		if p.allow != nil {
			rs.allows = append(rs.allows, p.allow)
		}
	}
	if all := rs.all(); len(all) == 0 && !rs.closed {
		return nil
	}
	var names []string
	for _, allow := range rs.allows {
		names = append(names, allow.name)
	}
	rs.allowNames = strings.Join(names, ", ")
	rs.readsInputs = slices.ContainsFunc(rs.all(), func(r *rule) bool { return r.readsInputs })
	rs.decidesBeforeInputs = rs.closed || slices.ContainsFunc(rs.all(), func(r *rule) bool { return !r.readsInputs })
	rs.digest = rs.computeDigest()
	return rs
}

// all are the rules, in the order in which they are asked.
func (rs *rules) all() []*rule {
	all := slices.Clone(rs.denies)
	if rs.own != nil {
		all = append(all, rs.own)
	}
	return append(all, rs.allows...)
}

// computeDigest is equal for rules that decide alike.
func (rs *rules) computeDigest() string {
	sum := sha256.New()
	for _, r := range rs.all() {
		sum.Write([]byte(r.name + " " + r.condition.Digest() + "\n"))
	}
	if rs.closed {
		sum.Write([]byte("closed"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// identity is a text that differs when rules do.
func (rs *rules) identity() string {
	if rs == nil {
		return ""
	}
	return rs.digest
}

// hidesFromLists reports whether who may not call can be told before there is a call.
func (rs *rules) hidesFromLists() bool { return rs != nil && rs.decidesBeforeInputs }

// policyRules are the rules of one policy.
type policyRules struct {
	policy      *hcl.Policy
	deny, allow *rule
	approve     *approvalRule // nil for none
}

// authorize makes the rules of all policies, and gives every routine those that are about it.
func (c *compiler) authorize() {
	for _, p := range c.g.Config.Policies {
		name := "policy." + p.Name
		rules := policyRules{policy: p, deny: c.rule(name+".deny", p.Deny, p.Message), allow: c.rule(name+".allow", p.Allow, p.Message)}
		if p.Approve != nil {
			rules.approve = &approvalRule{name + ".approve", p.Approve, p.Approval}
		}
		c.policies = append(c.policies, rules)
	}
	for _, p := range c.g.sortedPrograms {
		p.rules = c.newRules(&p.operation, toolRoot(p.tool), func(policy *hcl.Policy) bool { return policy.AppliesToTool(p.decl.Name) })
		c.approvals(p)
	}
	for _, p := range c.g.prompts {
		p.rules = c.newRules(&p.operation, p.ruleRoot(p.prompt.Title), func(policy *hcl.Policy) bool { return policy.AppliesToPrompt(p.decl.Name) })
	}
	for _, r := range c.g.resources {
		r.rules = c.newRules(&r.operation, r.ruleRoot(r.resource.Title), func(policy *hcl.Policy) bool { return policy.AppliesToResource(r.decl.Name) })
	}
}

// toolRoot is what rules read of a tool.
func toolRoot(t *hcl.Tool) map[string]any {
	return map[string]any{
		"kind": "tool", "name": t.Name, "title": t.Title,
		"read_only": t.ReadOnly, "destructive": t.Destructive, "idempotent": t.Idempotent, "open_world": t.OpenWorld,
	}
}

// ruleRoot is what rules read of what is no tool, and therefore changes nothing.
func (r *operation) ruleRoot(title string) map[string]any {
	open := slices.ContainsFunc(r.decl.Steps, func(s *hcl.Step) bool { return s.Backend.Effects.OpenWorld })
	return map[string]any{"kind": r.kind, "name": r.decl.Name, "title": title, "read_only": true, "destructive": false, "idempotent": true, "open_world": open}
}
