// Package policy decides who may call what: from the rules of a configuration and a caller to
// allowed, denied or undecided, and to the lists that a caller sees.
//
// [New] compiles the policies of a configuration, [Policies.Rules] gathers the rules about one
// operation, and [Rules.Decide] evaluates no more of them than it takes. A rule that cannot be
// evaluated denies.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"hatchel/hcl"
)

// Rule is one allow or one deny. It is immutable but for whether an error of it was logged.
type Rule struct {
	Name        string // as decisions name it: policy.finance.deny, tool.pay.allow
	Condition   *hcl.Condition
	message     *hcl.TextTemplate // of the policy, for a caller who is denied; nil for none
	readsInputs bool              // the condition reads data of a call, so it cannot filter lists
	readsTool   bool              // the condition differs from one tool to the next for the same caller
	bit         uint64            // in RuleResults; 0 for none
	logged      atomic.Bool       // an error of the rule was logged while a list was filtered
}

// ApprovalName returns the name of an approval of a tool, by its place among those of the tool.
func ApprovalName(tool string, i int) string {
	name := "tool." + tool + ".approval"
	if i > 0 {
		name += "." + strconv.Itoa(i+1)
	}
	return name
}

// NewRule returns a rule that is part of no policy; nil without a condition.
func NewRule(name string, condition *hcl.Condition) *Rule { return newRule(name, condition, nil) }

func newRule(name string, condition *hcl.Condition, message *hcl.TextTemplate) *Rule {
	if condition == nil {
		return nil
	}
	return &Rule{
		Name: name, Condition: condition, message: message,
		readsInputs: condition.DependsOnCall(), readsTool: condition.Reads("tool"),
	}
}

// RuleResults are the results, as bits, of the rules that read no inputs, for one call.
type RuleResults struct{ known, holds uint64 }

// Policies are the compiled policies of a configuration.
type Policies struct {
	all           []policyRules
	denyByDefault bool
	nextBit       int
}

// policyRules are the rules of one policy; nil for those that it does not have.
type policyRules struct {
	policy      *hcl.Policy
	deny, allow *Rule
}

// New compiles the policies of a configuration.
func New(cfg *hcl.Config) *Policies {
	ps := &Policies{denyByDefault: cfg.Server.DenyByDefault}
	for _, p := range cfg.Policies {
		name := "policy." + p.Name
		deny, allow := ps.rule(name+".deny", p.Deny, p.Message), ps.rule(name+".allow", p.Allow, p.Message)
		ps.all = append(ps.all, policyRules{p, deny, allow})
	}
	return ps
}

// rule is newRule for a rule that has a bit in RuleResults. Rules beyond the 64th have none.
func (ps *Policies) rule(name string, condition *hcl.Condition, message *hcl.TextTemplate) *Rule {
	r := newRule(name, condition, message)
	if r != nil {
		r.bit = 1 << ps.nextBit
		ps.nextBit++
	}
	return r
}

// Rules are all rules about one operation. Nil allows everybody.
type Rules struct {
	tool                map[string]any // the root `tool` of the conditions
	denies              []*Rule        // none may be true
	own                 *Rule          // of the operation itself; must be true; nil for none
	allows              []*Rule        // one must be true, if there are any
	allowNames          string
	denyByDefault       bool // calls that neither own nor allows decide are denied
	decidesBeforeInputs bool // a caller may be denied before there is a call
	readsInputs         bool // a rule reads data of a call
	digest              string
}

// Rules gathers the rules about an operation: its own allow rule and those of the policies that
// apply to it. Tool is what conditions read as `tool`. It returns nil when there are none and
// everybody is allowed.
func (ps *Policies) Rules(
	kind string, op *hcl.Operation, tool map[string]any, applies func(*hcl.Policy) bool,
) *Rules {
	own := ps.rule(kind+"."+op.Name+".allow", op.Allow, nil)
	rs := &Rules{tool: tool, own: own, denyByDefault: ps.denyByDefault}
	var names []string
	for _, p := range ps.all {
		if !applies(p.policy) {
			continue
		}
		if p.deny != nil {
			rs.denies = append(rs.denies, p.deny)
		}
		if p.allow != nil {
			rs.allows, names = append(rs.allows, p.allow), append(names, p.allow.Name)
		}
	}
	all := rs.All()
	if len(all) == 0 && !rs.denyByDefault {
		return nil
	}
	rs.allowNames = strings.Join(names, ", ")
	rs.readsInputs = slices.ContainsFunc(all, func(r *Rule) bool { return r.readsInputs })
	rs.decidesBeforeInputs = rs.denyByDefault || slices.ContainsFunc(all, func(r *Rule) bool { return !r.readsInputs })
	rs.digest = rs.computeDigest()
	return rs
}

// All returns the rules in the order in which they are evaluated.
func (rs *Rules) All() []*Rule {
	all := slices.Clone(rs.denies)
	if rs.own != nil {
		all = append(all, rs.own)
	}
	return append(all, rs.allows...)
}

// computeDigest is equal for rules that decide alike.
func (rs *Rules) computeDigest() string {
	sum := sha256.New()
	for _, r := range rs.All() {
		sum.Write([]byte(r.Name + " " + r.Condition.Digest() + "\n"))
	}
	if rs.denyByDefault {
		sum.Write([]byte("closed"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Digest is equal for rules that decide alike.
func (rs *Rules) Digest() string {
	if rs == nil {
		return ""
	}
	return rs.digest
}

// DecidesBeforeInputs reports whether a caller may be denied before there is a call, so that lists
// do not show the operation to them.
func (rs *Rules) DecidesBeforeInputs() bool { return rs != nil && rs.decidesBeforeInputs }

// ReadsInputs reports whether a rule reads what only a call has.
func (rs *Rules) ReadsInputs() bool { return rs.readsInputs }

// HasAllow reports whether a rule can allow a call, so that the default does not apply.
func (rs *Rules) HasAllow() bool { return rs != nil && (rs.own != nil || len(rs.allows) > 0) }

// ToolRoot returns the value of `tool` in rules.
func ToolRoot(t *hcl.Tool) map[string]any {
	return map[string]any{
		"kind": "tool", "name": t.Name, "title": t.Title, "read_only": t.ReadOnly,
		"destructive": t.Destructive, "idempotent": t.Idempotent, "open_world": t.OpenWorld,
		"upstreams": upstreams(&t.Operation),
	}
}

// OperationRoot returns the value of `tool` in rules for a read-only operation that is not a tool.
func OperationRoot(kind string, op *hcl.Operation, title string) map[string]any {
	openWorld := slices.ContainsFunc(op.Steps, func(s *hcl.Step) bool { return s.Backend.Effects.OpenWorld })
	return map[string]any{
		"kind": kind, "name": op.Name, "title": title, "read_only": true,
		"destructive": false, "idempotent": true, "open_world": openWorld,
		"upstreams": upstreams(op),
	}
}

// upstreams returns the connections of an operation to other MCP servers, as a value.
func upstreams(op *hcl.Operation) []any {
	names := []any{}
	for _, name := range op.Upstreams() {
		names = append(names, name)
	}
	return names
}
