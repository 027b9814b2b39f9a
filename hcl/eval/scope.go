package eval

import (
	"maps"
	"slices"
	"sort"

	"hatchel/hcl/schema"
)

// Scope says which roots an expression may read, what is known of them, and why others may not be
// read. It is a chain: a scope adds one root to the scope around it, so that the scopes of a
// thousand tools share what they have in common. Scopes are never changed.
type Scope struct {
	outer  *Scope
	name   string
	root   *Root  // nil: name exists in the language but may not be read here
	reason string // when root is nil: why, and what to do

	Call    bool // values of a call are readable, and call-time functions may stand
	Secrets SecretPolicy
}

// SecretPolicy says what a sensitive value may do where an expression stands.
type SecretPolicy int

const (
	RejectSecrets SecretPolicy = iota // it would be seen by a caller, a log or another process
	AllowSecrets
)

// Find returns what a name means: a root, or why it may not be read; neither when the language does
// not have it.
func (s *Scope) Find(name string) (r *Root, why string) {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.root, s.reason
		}
	}
	return nil, ""
}

// Readable are the names of the roots, sorted.
func (s *Scope) Readable() (names []string) {
	seen := map[string]bool{"": true}
	for ; s != nil; s = s.outer {
		if !seen[s.name] && s.root != nil {
			names = append(names, s.name)
		}
		seen[s.name] = true
	}
	sort.Strings(names)
	return names
}

// With returns the scope in which name is the root r.
func (s *Scope) With(name string, r *Root) *Scope {
	return &Scope{outer: s, name: name, root: r, Call: s.Call, Secrets: s.Secrets}
}

// Without returns the scope in which name may not be read, for the reason given.
func (s *Scope) Without(name, why string) *Scope {
	return &Scope{outer: s, name: name, reason: why, Call: s.Call, Secrets: s.Secrets}
}

// WithSecrets returns the scope under another rule for secrets.
func (s *Scope) WithSecrets(rule SecretPolicy) *Scope {
	return &Scope{outer: s, Call: s.Call, Secrets: rule}
}

// DuringCall returns the scope in which values of a call are readable.
func (s *Scope) DuringCall() *Scope {
	return &Scope{outer: s, Call: true, Secrets: s.Secrets}
}

// Root is the first name of a traversal: var, input, step, …
type Root struct {
	Type        *schema.Type                // of the whole root
	Members     map[string]*Member          // nil when its members are not listed: then typ decides
	Unavailable map[string]string           // members that exist elsewhere, and why they cannot be read here
	Partial     bool                        // members may be declared in a file that could not be read
	Value       func(f *Frame) (any, error) // the root as a value; nil when it may not be read as a whole
	Noun        string                      // what a member is called in a diagnostic: "input", "variable"
	Hidden      bool                        // its members may hold secrets: never readable in expr
	programType *schema.Type                // as expr programs see it, made when the first one asks
}

// Member is one name of a root.
type Member struct {
	Type           *schema.Type
	NullReason     string // why it may be null, or empty when it never is
	Known          bool
	Value          any
	Eval           func(*Frame) (any, error) // for what is not known at load
	Sensitive      bool
	CallerSpecific bool // it depends on the caller's identity
	Local          bool // of one tool, and of no other
	Used           bool
	Digest         string // of its name and value; of globals only
}

// Resolve is the member's value in one call.
func (m *Member) Resolve(f *Frame) (any, error) {
	if m.Known {
		return m.Value, nil
	}
	return m.Eval(f)
}

// MarkFailed makes a member whose value is wrong one of which nothing is known, so that its mistake
// is reported once.
func (m *Member) MarkFailed() {
	m.Known, m.Type, m.Value, m.NullReason = false, AnyType, nil, ""
	m.Eval = func(*Frame) (any, error) { return nil, nil }
}

// ProgramType is the type of the root as expr programs see it: an object of its members, without
// those that are sensitive. It must be asked for once before the root is used by several
// goroutines.
func (r *Root) ProgramType() *schema.Type {
	switch {
	case r.Partial:
		return AnyType
	case r.Members == nil:
		return r.Type
	case r.programType != nil:
		return r.programType
	}
	t := &schema.Type{Kind: schema.Object}
	for _, name := range slices.Sorted(maps.Keys(r.Members)) {
		m := r.Members[name]
		if !m.Sensitive {
			t.Members = append(t.Members, &schema.Member{Name: name, Type: m.Type, Optional: m.NullReason != ""})
		}
	}
	r.programType = t
	return t
}
