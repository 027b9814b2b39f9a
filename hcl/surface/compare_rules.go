package surface

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/diag"
)

// may compares who may call.
func (c *comparison) may(kind, at string, a, b *May) {
	c.scopes(at, a.Scopes, b.Scopes)
	c.own(at, a, b)
	for _, line := range missing(b.Approval, a.Approval) {
		c.restrict("approval", at+".approval", "approval added: %s", line)
	}
	for _, line := range missing(a.Approval, b.Approval) {
		c.add(Widening, "approval", at+".approval", "approval removed: %s", line)
	}
	for _, line := range missing(b.Checks, a.Checks) {
		c.add(Breaking, "check", at+".check "+line, "check added: %s", line)
	}
	for _, line := range missing(a.Checks, b.Checks) {
		c.add(Widening, "check", at+".check "+line, "check removed: %s", line)
	}
	c.limit(at+".limit", a.Limit, b.Limit)
	c.policyRules(kind, at, a, b)
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
	if a.Allow == b.Allow {
		return
	}
	deniedBefore := c.old.Server.DenyDefault && a.Allow == "" && !anyAllows(c.old, a.Policies)
	deniedAfter := c.new.Server.DenyDefault && b.Allow == "" && !anyAllows(c.new, b.Policies)
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
		return s.Policies[name] != nil && s.Policies[name].Allow != ""
	})
}

// rule compares two conditions. Grants says whether a caller for whom it is true is let in; an empty
// condition is true for all then, and false for all otherwise.
func (c *comparison) rule(kind, at, old, new string, grants bool) {
	stricter, weaker := compareConditions(old, new, grants)
	text := fmt.Sprintf("%s %s → %s", kind, orNothing(old), orNothing(new))
	if stricter {
		c.restrict(kind, at, "%s", text)
	}
	if weaker {
		c.add(Widening, kind, at, "%s", text)
	}
}

func orNothing(condition string) string {
	if condition == "" {
		return "none"
	}
	return condition
}

// compareConditions reports whether the rule refuses more callers than before, and whether it refuses
// fewer. In doubt both are true.
func compareConditions(old, new string, grants bool) (stricter, weaker bool) {
	switch {
	case old == new:
		return false, false
	case old == "":
		return true, false
	case new == "":
		return false, true
	}
	old, before, _ := strings.Cut(old, valueMark)
	new, after, _ := strings.Cut(new, valueMark)
	if valuesDiffer(before, after) {
		return true, true
	}
	narrower, wider := implies(new, old), implies(old, new)
	if !narrower && !wider {
		return true, true
	}
	if grants {
		return narrower, wider
	}
	return wider, narrower
}

// valuesDiffer reports whether two conditions read another value by the same name.
func valuesDiffer(old, new string) bool {
	values := map[string]string{}
	for _, line := range strings.Split(old, valueMark) {
		name, value, _ := strings.Cut(line, " = ")
		values[name] = value
	}
	for _, line := range strings.Split(new, valueMark) {
		name, value, _ := strings.Cut(line, " = ")
		if was, ok := values[name]; ok && was != value {
			return true
		}
	}
	return strings.Contains(old+new, "file ") && old != new
}

// implies reports whether a condition is certainly false wherever another is: it has all parts of it
// that are joined with "and", or only some of those that are joined with "or".
func implies(a, b string) bool {
	for _, p := range splitCondition(b, "and", "&&") {
		if !slices.Contains(splitCondition(a, "and", "&&"), p) {
			for _, p := range splitCondition(a, "or", "||") {
				if !slices.Contains(splitCondition(b, "or", "||"), p) {
					return false
				}
			}
			return true
		}
	}
	return true
}

// splitCondition splits a condition at an operator outside of parentheses and texts. A condition with
// the other operator at the top is one part.
func splitCondition(text, word, symbol string) []string {
	var parts []string
	other := map[string][2]string{"and": {"or", "||"}, "or": {"and", "&&"}}[word]
	depth, quote, start := 0, byte(0), 0
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0:
			if ch == '\\' {
				i++
			} else if ch == quote {
				quote = 0
			}
		case ch == '"' || ch == '\'' || ch == '`':
			quote = ch
		case strings.IndexByte("([{", ch) >= 0:
			depth++
		case strings.IndexByte(")]}", ch) >= 0:
			depth--
		case depth != 0:
		case ch == '?' || operatorAt(text, i, other[0], other[1]) > 0 && word == "or":
			return []string{strings.TrimSpace(text)} // "and" binds more tightly than "or"
		case operatorAt(text, i, other[0], other[1]) > 0:
			return []string{strings.TrimSpace(text)}
		default:
			if n := operatorAt(text, i, word, symbol); n > 0 {
				parts = append(parts, strings.TrimSpace(text[start:i]))
				start, i = i+n, i+n-1
			}
		}
	}
	return append(parts, strings.TrimSpace(text[start:]))
}

// operatorAt returns the length of an operator at a byte; 0 for none.
func operatorAt(text string, i int, word, symbol string) int {
	rest := text[i:]
	if strings.HasPrefix(rest, symbol) {
		return len(symbol)
	}
	before := i > 0 && (text[i-1] == ' ' || text[i-1] == ')')
	after := len(rest) > len(word) && (rest[len(word)] == ' ' || rest[len(word)] == '(')
	if strings.HasPrefix(rest, word) && before && after {
		return len(word)
	}
	return 0
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
			c.policyRule(name, "approve", "tool "+at, approveText(old), approveText(new), true, false)
		}
		if old.Allow != new.Allow {
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

func approveText(p Policy) string {
	if p.Approve == "" {
		return ""
	}
	return p.Approve + " by " + p.Approval
}

func (c *comparison) policyRule(policy, rule, to, old, new string, addedIsStricter, grants bool) {
	if old == new {
		return
	}
	stricter, weaker := compareConditions(old, new, grants)
	if old == "" || new == "" {
		stricter, weaker = (new != "") == addedIsStricter, (new == "") == addedIsStricter
	}
	key := ruleChange{policy, rule, fmt.Sprintf("%s → %s", orNothing(old), orNothing(new)), stricter, weaker}
	c.rules[key] = append(c.rules[key], to)
}

// policyAllow records a change of the rule allow. One of those that apply must be true, so a further
// one lets callers in, and the first one keeps them out unless every call was denied before.
func (c *comparison) policyAllow(policy, to, old, new string, a, b *May) {
	first := new != "" && old == "" && !anyAllows(c.old, a.Policies)
	last := new == "" && old != "" && !anyAllows(c.new, b.Policies)
	addedIsStricter := first && !(c.old.Server.DenyDefault && a.Allow == "") ||
		last && !(c.new.Server.DenyDefault && b.Allow == "")
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
		}
	}
}
