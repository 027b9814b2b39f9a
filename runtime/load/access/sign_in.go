package access

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/runtime/call"
)

// signInRuleName names the rule that decides who may sign in.
const signInRuleName = "sign_in.allow"

// signInRule returns the rule that decides who gets in, where callers who are no API key must sign in; nil for none.
func signInRule(cfg *hcl.Config) *hcl.Condition {
	auth := cfg.Auth
	otherWays := auth == nil || len(auth.Issuers)+len(auth.Introspections) > 0 ||
		cfg.TLS != nil && cfg.TLS.ClientCA != ""
	if otherWays || auth.SignIn == nil {
		return nil
	}
	return auth.SignIn.Allow
}

// refuses reports whether the rule is false for the caller. It is not for one of whom it reads what is not known.
func refuses(rule *hcl.Condition, c Caller) bool {
	if rule == nil || c.isKey || c.caller.Identity == nil || slices.ContainsFunc(rule.Traversals(), c.hides) {
		return false
	}
	holds, err := rule.Eval(frameOf(call.CallerRoot(c.caller)), nil)
	return err != nil || !holds
}

// hides reports whether a traversal reads what is not known of the caller: claims, headers, or the subject of one who
// stands for a group.
func (c Caller) hides(path string) bool {
	return c.lacks(path) || path == "caller.subject" && c.caller.Subject == someone
}

// admit returns the callers, where each that sign_in refuses is replaced by one who is also in a group that it admits.
// Those that remain refused are marked.
func (b *callerBuilder) admit(callers []Caller) (out []Caller) {
	rule := signInRule(b.cfg)
	for _, c := range callers {
		if !refuses(rule, c) {
			out = append(out, c)
			continue
		}
		if other, ok := b.withGroup(c, rule); ok {
			c = other
		} else {
			c.isRefused = true
		}
		same := func(o Caller) bool {
			return o.caller.Subject == c.caller.Subject && slices.Equal(o.Groups, c.Groups)
		}
		if c.isRefused || !slices.ContainsFunc(out, same) {
			out = append(out, c)
		}
	}
	return out
}

// withGroup returns a caller in one more group, which sign_in admits. The name ends as that of c does.
func (b *callerBuilder) withGroup(c Caller, rule *hcl.Condition) (Caller, bool) {
	if c.Name == noGroup {
		return c, false
	}
	for _, group := range sortedSet(slices.Clone(rule.Compared()["caller.groups"])) {
		name, isGroup := strings.CutPrefix(c.Name, "group ")
		if name = "group " + group + "+" + name; !isGroup {
			name = "group " + group + ", " + c.Name
		}
		other := b.caller(name, c.caller.Subject, sortedSet(append(slices.Clone(c.Groups), group)), nil)
		other.isCandidate, other.isJoined = c.isCandidate, c.isJoined
		if !refuses(rule, other) {
			return other, true
		}
	}
	return c, false
}

// signInNotes returns what a reader of a matrix has to know about whom sign_in admits.
func signInNotes(cfg *hcl.Config, callers []Caller) (notes []string) {
	rule := signInRule(cfg)
	if rule == nil {
		return nil
	}
	var refused, hidden []string
	joined := ""
	for _, c := range callers {
		switch {
		case c.isKey:
		case c.isRefused:
			refused = append(refused, c.Name)
		case strings.HasPrefix(c.Name, "group ") && len(c.Groups) > 0 && c.Name != "group "+c.Groups[0]:
			joined = c.Name
		}
		for _, path := range rule.Traversals() {
			if !c.isKey && c.hides(path) {
				hidden = append(hidden, eval.ShowPath(path))
			}
		}
	}
	source := fmt.Sprintf("%s (%s:%d)", strings.Join(strings.Fields(rule.Source()), " "), rule.Range.File,
		rule.Range.Start.Line)
	if refused != nil {
		notes = append(notes, fmt.Sprintf("sign_in admits none of these callers: %s. Its allow is %s.",
			strings.Join(refused, ", "), source))
	}
	if joined != "" {
		notes = append(notes, fmt.Sprintf("A column such as %q is for a caller in both, because sign_in refuses a "+
			"caller with the second alone. Its allow is %s.", joined, source))
	}
	if hidden != nil {
		notes = append(notes, fmt.Sprintf("Whom sign_in admits also depends on %s, which the callers of the matrix do "+
			"not have: %s.", strings.Join(sortedSet(hidden), ", "), source))
	}
	return notes
}
