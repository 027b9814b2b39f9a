package hcl

import (
	"sort"

	"hatchel/hcl/program"
	"hatchel/hcl/schema"
)

// A scope says which roots an expression may read, what is known of them, and why others may not be read. It is a chain: a scope adds one
// root to the scope around it, so that the scopes of a thousand tools share what they have in common. Scopes are never changed.
type scope struct {
	around *scope
	name   string
	root   *root  // nil: name exists in the language but may not be read here
	why    string // when root is nil: why, and what to do

	call    bool // values of a call are readable, and call-time functions may stand
	secrets secretRule
}

// secretRule says what a sensitive value may do where an expression stands.
type secretRule int

const (
	secretsRefused secretRule = iota // it would be seen by a caller, a log or another process
	secretsAllowed
)

// find returns what a name means: a root, or why it may not be read; neither when the language does not have it.
func (s *scope) find(name string) (r *root, why string) {
	for ; s != nil; s = s.around {
		if s.name == name {
			return s.root, s.why
		}
	}
	return nil, ""
}

// readable are the names of the roots, sorted.
func (s *scope) readable() (names []string) {
	seen := map[string]bool{"": true}
	for ; s != nil; s = s.around {
		if !seen[s.name] && s.root != nil {
			names = append(names, s.name)
		}
		seen[s.name] = true
	}
	sort.Strings(names)
	return names
}

// with returns the scope in which name is the root r.
func (s *scope) with(name string, r *root) *scope {
	return &scope{around: s, name: name, root: r, call: s.call, secrets: s.secrets}
}

// without returns the scope in which name may not be read, for the reason given.
func (s *scope) without(name, why string) *scope {
	return &scope{around: s, name: name, why: why, call: s.call, secrets: s.secrets}
}

// allowing returns the scope under another rule for secrets.
func (s *scope) allowing(rule secretRule) *scope {
	return &scope{around: s, call: s.call, secrets: rule}
}

// during returns the scope in which values of a call are readable.
func (s *scope) during() *scope {
	return &scope{around: s, call: true, secrets: s.secrets}
}

// A root is the first name of a traversal: var, input, step, …
type root struct {
	typ     *schema.Type                // of the whole root
	members map[string]*member          // nil when its members are not listed: then typ decides
	later   map[string]string           // members that exist elsewhere, and why they cannot be read here
	partial bool                        // members may be declared in a file that could not be read
	whole   func(f *Frame) (any, error) // the root as a value; nil when it may not be read as a whole
	noun    string                      // what a member is called in a diagnostic: "input", "variable"
	sealed  bool                        // its members may hold secrets: never readable in expr
	seen    *program.Shape              // as programs see it, made when the first one asks
}

// A member is one name of a root.
type member struct {
	typ       *schema.Type
	nullable  string // why it may be null, or empty when it never is
	known     bool
	value     any
	eval      func(*Frame) (any, error) // for what is not known at load
	sensitive bool
	caller    bool // it depends on the caller's identity
	own       bool // of one tool, and of no other
	used      bool
	digest    string // of its name and value; of globals only
}

// get is the member's value in one call.
func (m *member) get(f *Frame) (any, error) {
	if m.known {
		return m.value, nil
	}
	return m.eval(f)
}

// fail makes a member whose value is wrong one of which nothing is known, so that its mistake is reported once.
func (m *member) fail() {
	m.known, m.typ, m.value, m.nullable = false, anyType, nil, ""
	m.eval = func(*Frame) (any, error) { return nil, nil }
}

// knownRoot is a root whose members are all known at load.
func (l *loader) knownRoot(noun string, members map[string]*member) *root {
	return &root{noun: noun, members: members, typ: anyType, partial: l.partial, whole: func(*Frame) (any, error) {
		all := make(map[string]any, len(members))
		for name, m := range members {
			all[name] = m.value
		}
		return all, nil
	}}
}
