package access

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/surface"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// Caller is one column of a matrix.
type Caller struct {
	Name   string   `json:"name"` // "group finance", "no group", "key ada", "subject ada" or "anyone"
	Groups []string `json:"groups"`
	Scopes []string `json:"scopes"`

	caller      *mcp.Caller
	isKey       bool
	isCandidate bool // it is a caller of its own only with other answers than one who is not named
	isJoined    bool // and than those of the candidates before it
	isRefused   bool // sign_in does not admit it, and there is no other way to get in
}

const (
	anyone    = "anyone" // who calls a server without authentication
	keyPrefix = "key "
	noGroup   = "no group" // an authenticated caller in no group

	// someone is the subject of a caller of whom only a group is known.
	someone = "someone"
)

// Callers returns the callers that a configuration tells apart: one in no group, one for each group and each subject
// that its rules or keys name, and one for each API key. Without an auth block the first one is an unknown caller. All
// others have the claims and headers of as, which may be nil.
//
// A caller who is no API key has the scopes of as; without any, every scope that a tool or a rule names, and of people
// who sign in those that sign_in grants them.
func Callers(cfg *hcl.Config, as *mcp.Identity) []Caller {
	return newCallerBuilder(cfg, as, surface.Of(cfg, nil), toolTargets(cfg.Tools)).all(as)
}

// all returns the callers.
func (b *callerBuilder) all(as *mcp.Identity) []Caller {
	b.addNames(append(maskConditions(b.cfg), signInRule(b.cfg))...)
	callers := []Caller{b.first(as)}
	for _, group := range b.groups() {
		callers = append(callers, b.caller("group "+group, "", []string{group}, nil))
	}
	keys := b.keys()
	for _, subject := range b.named["caller.subject"] {
		if keys[subject] == nil {
			callers = append(callers, b.caller("subject "+subject, subject, nil, nil))
		}
	}
	callers = b.admit(append(callers, b.candidates()...))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		scopes := append([]string{}, keys[name].Scopes...)
		c := b.caller(keyPrefix+name, name, keys[name].Groups, scopes)
		c.isKey = true
		callers = append(callers, c)
	}
	return callers
}

// OfCaller returns a caller of whom everything is known.
func OfCaller(name string, caller *mcp.Caller) Caller {
	c := Caller{Name: name, Groups: []string{}, Scopes: []string{}, caller: caller, isKey: true}
	if i := caller.Identity; i != nil {
		c.Groups, c.Scopes = i.Groups, i.Scopes
	}
	return c
}

// IsPerson reports whether the caller is an API key or a subject, and not anybody of a group.
func (c Caller) IsPerson() bool {
	return c.isKey || c.caller.Identity != nil && c.caller.Subject != someone
}

// InGroups returns a caller for each text: a group, or several that are joined with +, as in "finance+board". Otherwise
// the callers are those of Callers.
func InGroups(cfg *hcl.Config, texts []string, as *mcp.Identity) (callers []Caller) {
	b := newCallerBuilder(cfg, as, nil, toolTargets(cfg.Tools))
	b.addNames(maskConditions(cfg)...)
	known := b.groups()
	for _, text := range texts {
		groups := []string{text}
		if !slices.Contains(known, text) {
			groups = strings.Split(text, "+")
		}
		name := "group " + text
		if !slices.ContainsFunc(callers, func(c Caller) bool { return c.Name == name }) {
			c := b.caller(name, "", groups, nil)
			c.isRefused = refuses(signInRule(cfg), c)
			callers = append(callers, c)
		}
	}
	return callers
}

// callerBuilder makes the callers of one configuration.
type callerBuilder struct {
	cfg    *hcl.Config
	as     mcp.Identity
	named  map[string][]string // the texts that rules compare parts of the caller with, sorted
	scopes []string            // of callers who are no key

	subjects, groupNames []candidate
}

// newCallerBuilder returns a builder of the callers that rules about these targets tell apart. A nil surface of the
// configuration gives no candidates.
func newCallerBuilder(cfg *hcl.Config, as *mcp.Identity, s *surface.Surface, targets []Target) *callerBuilder {
	b := &callerBuilder{cfg: cfg, as: *cmp.Or(as, new(mcp.Identity)), named: map[string][]string{}}
	if s != nil {
		rules := rulesOf(s)
		b.subjects, b.groupNames = candidates(rules, "caller.subject"), candidates(rules, "caller.groups")
	}
	b.addNames(conditions(cfg, targets)...)
	b.scopes = b.as.Scopes
	if b.scopes == nil {
		b.scopes = slices.Clone(b.named["caller.scopes"])
		for _, t := range targets {
			b.scopes = append(b.scopes, t.op.Scopes...)
		}
		b.scopes = sortedSet(b.scopes)
	}
	return b
}

// addNames adds the texts that rules compare parts of the caller with. A nil rule has none.
func (b *callerBuilder) addNames(rules ...*hcl.Condition) {
	for _, rule := range rules {
		if rule == nil {
			continue
		}
		for path, texts := range rule.Compared() {
			b.named[path] = append(b.named[path], texts...)
		}
	}
	for path, texts := range b.named {
		b.named[path] = sortedSet(texts)
	}
}

// first returns the caller in no group, who is unknown without an auth block.
func (b *callerBuilder) first(as *mcp.Identity) Caller {
	if b.cfg.Auth == nil && as == nil {
		return Caller{Name: anyone, Groups: []string{}, Scopes: []string{}, caller: &mcp.Caller{}}
	}
	return b.caller(noGroup, "", nil, nil)
}

// caller returns a caller. Without a subject it is that of as, and nil scopes are those of every caller.
func (b *callerBuilder) caller(name, subject string, groups, scopes []string) Caller {
	identity := b.as
	identity.Subject = cmp.Or(subject, b.as.Subject, someone)
	identity.Groups = append([]string{}, groups...)
	if identity.Scopes = scopes; scopes == nil {
		identity.Scopes = b.granted(identity)
	}
	return Caller{
		Name: name, Groups: identity.Groups, Scopes: identity.Scopes,
		caller: &mcp.Caller{Subject: identity.Subject, Identity: &identity, Revision: mcp.Revision20260728},
	}
}

// granted returns the scopes that a caller can have who is no API key. Where tokens come from sign_in alone, these are
// those of its scope blocks that admit the caller; a block that reads claims admits one whose claims are not known.
func (b *callerBuilder) granted(identity mcp.Identity) []string {
	scopes, auth := append([]string{}, b.scopes...), b.cfg.Auth
	if auth == nil || auth.SignIn == nil || len(auth.Issuers)+len(auth.Introspections) > 0 || b.as.Scopes != nil {
		return scopes
	}
	frame := eval.NewLoadFrame("", time.Now)
	frame.Caller = call.CallerRoot(&mcp.Caller{Subject: identity.Subject, Identity: &identity})
	return slices.DeleteFunc(scopes, func(name string) bool {
		i := slices.IndexFunc(auth.SignIn.ScopeBlocks, func(s *hcl.Scope) bool { return s.Name == name })
		if i < 0 {
			return true
		}
		allow := auth.SignIn.ScopeBlocks[i].Allow
		if allow == nil {
			return false
		}
		readsClaims := func(path string) bool { return strings.HasPrefix(path, "caller.claims") }
		if len(identity.Claims) <= len("{}") && slices.ContainsFunc(allow.Traversals(), readsClaims) {
			return false
		}
		holds, err := allow.Eval(frame, nil)
		return err == nil && !holds
	})
}

// candidates returns the callers of the candidates that rules and keys do not name.
func (b *callerBuilder) candidates() (callers []Caller) {
	add := func(all []candidate, named []string, of func(name string) Caller) {
		for _, c := range all {
			if !slices.Contains(named, c.text) {
				caller := of(c.text)
				caller.isCandidate, caller.isJoined = true, c.isJoined
				callers = append(callers, caller)
			}
		}
	}
	add(b.groupNames, b.groups(), func(name string) Caller {
		return b.caller("group "+name, "", []string{name}, nil)
	})
	named := slices.AppendSeq(slices.Clone(b.named["caller.subject"]), maps.Keys(b.keys()))
	add(b.subjects, named, func(name string) Caller { return b.caller("subject "+name, name, nil, nil) })
	return callers
}

// groups returns the groups that rules, keys and sign_in name, sorted.
func (b *callerBuilder) groups() []string {
	all := slices.Clone(b.named["caller.groups"])
	if auth := b.cfg.Auth; auth != nil && auth.SignIn != nil {
		all = slices.AppendSeq(all, maps.Values(auth.SignIn.GroupNames))
	}
	for _, key := range b.keys() {
		all = append(all, key.Groups...)
	}
	return sortedSet(all)
}

// keys returns the API keys by name. Those with one name have the same groups and scopes.
func (b *callerBuilder) keys() map[string]*hcl.APIKey {
	keys := map[string]*hcl.APIKey{}
	if b.cfg.Auth != nil {
		for _, key := range b.cfg.Auth.Keys {
			keys[key.Name] = key
		}
	}
	return keys
}

// conditions returns all rules about calls of some targets.
func conditions(cfg *hcl.Config, targets []Target) (all []*hcl.Condition) {
	for _, t := range targets {
		all = append(all, t.op.Allow)
		if t.tool == nil {
			continue
		}
		for _, a := range t.tool.Approvals {
			all = append(all, a.When)
		}
	}
	for _, p := range cfg.Policies {
		if slices.ContainsFunc(targets, func(t Target) bool { return t.applies(p) }) {
			all = append(all, p.Allow, p.Deny, p.Approve)
		}
	}
	return slices.DeleteFunc(all, func(c *hcl.Condition) bool { return c == nil })
}

// unknownParts returns the claims and headers that rules read and that are not known of a caller in a group.
func unknownParts(cfg *hcl.Config, targets []Target, callers []Caller) []string {
	unknown := []string{}
	for _, rule := range append(conditions(cfg, targets), maskConditions(cfg)...) {
		for _, path := range rule.Traversals() {
			lacks := func(c Caller) bool { return c.lacks(path) }
			if slices.ContainsFunc(callers, lacks) {
				unknown = append(unknown, eval.ShowPath(path))
			}
		}
	}
	return sortedSet(unknown)
}

// lacks reports whether a traversal reads claims or headers, and the caller may have others than none. A key has no
// claims, and an unknown caller has neither.
func (c Caller) lacks(path string) bool {
	i := c.caller.Identity
	switch {
	case i == nil:
		return false
	case strings.HasPrefix(path, "caller.claims"):
		return !c.isKey && len(i.Claims) <= len("{}")
	}
	return strings.HasPrefix(path, "caller.headers") && len(i.Headers) == 0
}

func sortedSet(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
