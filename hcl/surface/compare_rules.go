package surface

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// may compares who may call.
func (c *comparison) may(kind, at string, a, b *May) {
	c.scopes(at, a.Scopes, b.Scopes)
	c.own(at, a, b)
	c.approvals(at, a.Approval, b.Approval)
	c.checks(at, a.Checks, b.Checks)
	c.limit(at+".limit", a.Limit, b.Limit)
	c.policyRules(kind, at, a, b)
}

// approvals compares consents. One that was needed is kept if it is needed for at least the same calls.
func (c *comparison) approvals(at string, old, new []*Approval) {
	covered := func(a *Approval, by []*Approval) bool {
		return slices.ContainsFunc(by, func(b *Approval) bool { return a.By == b.By && implies(a.When, b.When) })
	}
	same := func(a, b *Approval) bool { return a.By == b.By && a.When.Equal(b.When) }
	if len(old) == len(new) && !slices.EqualFunc(old, new, same) &&
		!slices.ContainsFunc(old, func(a *Approval) bool {
			return !slices.ContainsFunc(new, func(b *Approval) bool { return same(a, b) })
		}) {
		c.add(Behaviour, "approval", at+".approval", "order of approvals")
	}
	for _, a := range new {
		if !covered(a, old) {
			c.restrict("approval", at+".approval", "approval added: %s", a)
		}
	}
	for _, a := range old {
		if !covered(a, new) {
			c.add(Widening, "approval", at+".approval", "approval removed: %s", a)
		}
	}
}

// checks compares the conditions on the arguments, which must all be true.
func (c *comparison) checks(at string, old, new []*eval.Formula) {
	before, after := conjunction(old), conjunction(new)
	for _, check := range new {
		if !implies(before, check) {
			c.add(Breaking, "check", at+".check "+check.String(), "check added: %s", check)
		}
	}
	for _, check := range old {
		if !implies(after, check) {
			c.add(Widening, "check", at+".check "+check.String(), "check removed: %s", check)
		}
	}
}

// restrict adds a stricter rule.
func (c *comparison) restrict(kind, at, format string, args ...any) {
	c.add(Breaking, kind, at, format, args...).Restriction = true
}

func (c *comparison) scopes(at string, old, new []string) {
	for _, name := range missing(new, old) {
		c.restrict("scope", at+".scopes", "scope added: %s", name)
	}
	for _, name := range missing(old, new) {
		c.add(Widening, "scope", at+".scopes", "scope removed: %s", name)
	}
}

// own compares the allow rule of an operation. Where calls without a rule are denied, a first rule lets
// callers in.
func (c *comparison) own(at string, a, b *May) {
	if a.Allow.Equal(b.Allow) {
		return
	}
	deniedBefore := c.old.Server.DenyDefault && a.Allow == nil && !anyAllows(c.old, a.Policies)
	deniedAfter := c.new.Server.DenyDefault && b.Allow == nil && !anyAllows(c.new, b.Policies)
	switch {
	case deniedBefore:
		c.add(Widening, "allow", at+".allow", "allow %s, where every call was denied", b.Allow)
	case deniedAfter:
		c.restrict("allow", at+".allow", "allow %s removed, so that every call is denied", a.Allow)
	default:
		c.rule("allow", at+".allow", a.Allow, b.Allow, true)
	}
}

func anyAllows(s *Surface, policies []string) bool {
	return slices.ContainsFunc(policies, func(name string) bool {
		return s.Policies[name] != nil && s.Policies[name].Allow != nil
	})
}

// rule compares two conditions. Grants says whether a caller for whom it is true is let in; an empty
// condition is true for all then, and false for all otherwise.
func (c *comparison) rule(kind, at string, old, new *eval.Formula, grants bool) {
	stricter, weaker := compareConditions(old, new, grants)
	text := fmt.Sprintf("%s %s → %s", kind, orNothing(old), orNothing(new))
	if stricter {
		c.restrict(kind, at, "%s", text)
	}
	if weaker {
		c.add(Widening, kind, at, "%s", text)
	}
}

func orNothing(condition *eval.Formula) string {
	if condition == nil {
		return "none"
	}
	return condition.String()
}

// compareConditions reports whether the rule refuses more callers than before, and whether it refuses
// fewer. In doubt both are true.
func compareConditions(old, new *eval.Formula, grants bool) (stricter, weaker bool) {
	switch {
	case old.Equal(new):
		return false, false
	case old == nil:
		return true, false
	case new == nil:
		return false, true
	}
	stricter, weaker = !implies(old, new), !implies(new, old)
	if grants {
		return stricter, weaker
	}
	return weaker, stricter
}

// limit compares limits, of which a smaller number is stricter.
func (c *comparison) limit(at string, a, b *Limit) {
	switch {
	case a == nil && b == nil:
		return
	case a == nil:
		c.restrict("limit", at, "limit added: %s", b)
		return
	case b == nil:
		c.add(Widening, "limit", at, "limit removed: %s", a)
		return
	}
	stricter, weaker := false, false
	for _, pair := range [][2]float64{{a.Rate, b.Rate}, {float64(a.Concurrency), float64(b.Concurrency)}} {
		x, y := orUnlimited(pair[0]), orUnlimited(pair[1])
		stricter, weaker = stricter || y < x, weaker || y > x
	}
	stricter = stricter || b.Burst < a.Burst || b.Queue < a.Queue || b.Shared && !a.Shared || b.MaxWait < a.MaxWait
	weaker = weaker || b.Burst > a.Burst && b.Rate > 0 || b.Queue > a.Queue || a.Shared && !b.Shared ||
		b.MaxWait > a.MaxWait
	if stricter {
		c.restrict("limit", at, "limit %s → %s", a, b)
	}
	if weaker {
		c.add(Widening, "limit", at, "limit %s → %s", a, b)
	}
}

func orUnlimited(n float64) float64 {
	if n == 0 {
		return 1e18
	}
	return n
}

func (l *Limit) String() string {
	var parts []string
	if l.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%g calls an hour, burst %d", l.Rate, l.Burst))
	}
	if l.Concurrency > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", l.Concurrency))
	}
	if l.Queue > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for at most %gs", l.Queue, l.MaxWait))
	}
	if l.Shared {
		parts = append(parts, "for all callers together")
	}
	return strings.Join(parts, ", ")
}

// ruleChange is a change of a rule of a policy for what it applies to.
type ruleChange struct {
	policy, rule     string
	text             string
	stricter, weaker bool
}

// policyRules records how the rules of policies changed for one operation. They are reported once for
// each policy.
func (c *comparison) policyRules(kind, at string, a, b *May) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(a.Policies), b.Policies...)))) {
		old, new := applied(c.old, a, name), applied(c.new, b, name)
		c.policyRule(name, "deny", kind+" "+strings.TrimPrefix(at, kind+" "), old.Deny, new.Deny, true, false)
		if kind == "tool" {
			was, is := old.Approve, new.Approve
			if old.Approval != new.Approval {
				was, is = approveRule(old), approveRule(new)
			}
			c.policyRule(name, "approve", "tool "+at, was, is, true, false)
		}
		if !old.Allow.Equal(new.Allow) {
			c.policyAllow(name, kind+" "+strings.TrimPrefix(at, kind+" "), old.Allow, new.Allow, a, b)
		}
	}
}

// applied returns the rules of a policy for an operation; none if it does not apply.
func applied(s *Surface, m *May, name string) Policy {
	if p := s.Policies[name]; p != nil && slices.Contains(m.Policies, name) {
		return *p
	}
	return Policy{}
}

// approveRule returns which calls need approval, and by whom.
func approveRule(p Policy) *eval.Formula {
	if p.Approve == nil || p.Approval == "" {
		return p.Approve
	}
	return &eval.Formula{Text: p.Approve.String() + " by " + p.Approval}
}

func (c *comparison) policyRule(policy, rule, to string, old, new *eval.Formula, addedIsStricter, grants bool) {
	if old.Equal(new) {
		return
	}
	conditions := [2]*eval.Formula{old, new}
	compared, known := c.compared[conditions]
	if !known { // a policy applies to many tools
		compared[0], compared[1] = compareConditions(old, new, grants)
		c.compared[conditions] = compared
	}
	stricter, weaker := compared[0], compared[1]
	if old == nil || new == nil {
		stricter, weaker = (new != nil) == addedIsStricter, (new == nil) == addedIsStricter
	}
	key := ruleChange{policy, rule, fmt.Sprintf("%s → %s", orNothing(old), orNothing(new)), stricter, weaker}
	c.rules[key] = append(c.rules[key], to)
}

// policyAllow records a change of the rule allow. One of those that apply must be true, so a further
// one lets callers in, and the first one keeps them out unless every call was denied before.
func (c *comparison) policyAllow(policy, to string, old, new *eval.Formula, a, b *May) {
	first := new != nil && old == nil && !anyAllows(c.old, a.Policies)
	last := new == nil && old != nil && !anyAllows(c.new, b.Policies)
	addedIsStricter := first && !(c.old.Server.DenyDefault && a.Allow == nil) ||
		last && !(c.new.Server.DenyDefault && b.Allow == nil)
	c.policyRule(policy, "allow", to, old, new, addedIsStricter, true)
}

// policies reports the changes of policies.
func (c *comparison) policies() {
	keys := make(map[string]ruleChange, len(c.rules))
	for key := range c.rules {
		keys[fmt.Sprint(key)] = key
	}
	for _, name := range diag.SortedNames(keys) {
		key := keys[name]
		c.object = "policy " + key.policy
		at := c.object + "." + key.rule
		to := c.rules[key]
		applies := strings.Join(to[:min(len(to), 5)], ", ")
		if len(to) > 5 {
			applies += fmt.Sprintf(" and %d more", len(to)-5)
		}
		if key.stricter {
			c.restrict("policy", at, "%s %s, for %s", key.rule, key.text, applies)
		}
		if key.weaker {
			c.add(Widening, "policy", at, "%s %s, for %s", key.rule, key.text, applies)
		}
	}
	for _, name := range diag.SortedNames(c.new.Policies) {
		if old := c.old.Policies[name]; old != nil {
			c.object = "policy " + name
			c.text(c.object+".message", old.Message, c.new.Policies[name].Message)
			c.otherArguments("policy", old.Args, c.new.Policies[name].Args, nil)
		}
	}
}
