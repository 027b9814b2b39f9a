package eval

import (
	"maps"
	"slices"

	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
)

// Scope says which roots an expression may read, what is known of them, and why others may not be
// read. Each Scope adds one root to an outer Scope, so that the scopes of all tools share what they
// have in common. A Scope is never changed.
type Scope struct {
	outer  *Scope
	name   string
	root   *Root  // nil if the name may not be read here
	reason string // why, if root is nil

	Call    bool // values of a call and functions of the call may be read
	Secrets SecretPolicy
	Sink    *Sink // where the values go; nil for the answer, and for what decides
}

// Sink is a backend that sends its arguments to another system, or to another tool.
type Sink struct {
	Connection string // empty for none
	Tool       string // the tool that is called; empty for none
	// Reveal records that unmasked reads the output of a step, or, with an empty name, an element of each. It returns
	// why that cannot be, as a sentence, or "".
	Reveal func(step string) string
}

// SecretPolicy says whether an expression may read sensitive values.
type SecretPolicy int

const (
	RejectSecrets SecretPolicy = iota // a caller, a log or another process would see them
	AllowSecrets
)

// Find returns the root of that name, or why it may not be read. It returns neither if the language
// has no such root.
func (s *Scope) Find(name string) (r *Root, why string) {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.root, s.reason
		}
	}
	return nil, ""
}

// Readable returns the names of the roots that may be read, sorted.
func (s *Scope) Readable() (names []string) {
	seen := map[string]bool{"": true}
	for ; s != nil; s = s.outer {
		if !seen[s.name] && s.root != nil {
			names = append(names, s.name)
		}
		seen[s.name] = true
	}
	slices.Sort(names)
	return names
}

// With returns the Scope in which name is the root r.
func (s *Scope) With(name string, r *Root) *Scope {
	return &Scope{outer: s, name: name, root: r, Call: s.Call, Secrets: s.Secrets, Sink: s.Sink}
}

// Without returns the Scope in which name may not be read, for the reason given.
func (s *Scope) Without(name, why string) *Scope {
	return &Scope{outer: s, name: name, reason: why, Call: s.Call, Secrets: s.Secrets, Sink: s.Sink}
}

// WithSecrets returns the Scope with another policy for secrets.
func (s *Scope) WithSecrets(rule SecretPolicy) *Scope {
	return &Scope{outer: s, Call: s.Call, Secrets: rule, Sink: s.Sink}
}

// DuringCall returns the Scope in which values of a call may be read.
func (s *Scope) DuringCall() *Scope {
	return &Scope{outer: s, Call: true, Secrets: s.Secrets, Sink: s.Sink}
}

// To returns the Scope of the arguments of a backend.
func (s *Scope) To(sink *Sink) *Scope {
	return &Scope{outer: s, Call: s.Call, Secrets: s.Secrets, Sink: sink}
}

// Root is what the first name of a traversal means: var, input, step, …
type Root struct {
	Type         *schema.Type                // of the whole root
	Facts        Facts                       // of the whole root, if it has no Members
	Members      map[string]*Member          // nil if Type says which there are
	Unavailable  map[string]string           // why members that exist elsewhere cannot be read here
	Partial      bool                        // there may be more members, in files that could not be read
	Value        func(f *Frame) (any, error) // of the whole root; nil if only members may be read
	Noun         string                      // what a member is called in a diagnostic: "input", "variable"
	Hidden       bool                        // from expr programs, because its members may hold secrets
	Delivers     bool                        // the answer carries a notice if a limit has cut what is read
	Kind, Owner  string                      // of a root without Members: what a member names, see Reference
	programType  *schema.Type                // see ProgramType
	programFacts Facts                       // see WholeFacts
}

// Member is one member of a Root.
type Member struct {
	Type *schema.Type
	Facts
	Eval func(*Frame) (any, error) // if it is not Known
	// Written calls do with each text that the author wrote into a value that is not Known, as EachWritten does; nil
	// for none.
	Written func(name string, do func(name, text string))
	Local   bool // it belongs to one operation
	Used    bool
	Reads   int        // how often it is read, if it is Local
	Digest  string     // of its name and value, for globals
	Missing []*Missing // the values that the member is, or is made of, and that are not there
}

// Missing is a secret or a variable that is declared and has no value.
type Missing struct {
	Name       string   // what it is called in a sentence, as in `secret "k"`
	RequiredBy string   // the block that cannot do without it; empty for none
	Refused    []string // the operations that are refused because of it
}

// Typed returns the member as an expression.
func (m *Member) Typed() TypedExpr { return TypedExpr{Type: m.Type, Facts: m.Facts, Eval: m.Resolve} }

// Resolve returns the member's value in one call.
func (m *Member) Resolve(f *Frame) (any, error) {
	if m.Known {
		return m.Value, nil
	}
	return m.Eval(f)
}

// MarkFailed makes the member one of which nothing is known, because its value is invalid. Readers
// of the member report nothing more.
func (m *Member) MarkFailed() {
	m.Type, m.Facts = AnyType, Facts{Marks: m.Marks}
	m.Eval = func(*Frame) (any, error) { return nil, nil }
}

// ProgramValue is the value of the root for expr programs. It has the type ProgramType.
func (r *Root) ProgramValue(f *Frame) (any, error) {
	if r.Value != nil {
		return r.Value(f)
	}
	out := make(map[string]any, len(r.Members))
	for name, m := range r.Members {
		if m.Sensitive {
			continue
		}
		var err error
		if out[name], err = m.Resolve(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ProgramType is the type of the root for expr programs: an object of its members, without
// sensitive ones. It is not safe for concurrent use until it was called once.
func (r *Root) ProgramType() *schema.Type {
	switch {
	case r.Partial:
		return AnyType
	case r.Members == nil:
		return r.Type
	case r.programType != nil:
		return r.programType
	}
	t, seen := &schema.Type{Kind: schema.Object}, map[string]*Member{}
	for _, name := range slices.Sorted(maps.Keys(r.Members)) {
		m := r.Members[name]
		if !m.Sensitive {
			seen[name] = m
			t.Members = append(t.Members, &schema.Member{Name: name, Type: m.Type, Optional: m.NullReason != ""})
		}
	}
	r.programType, r.programFacts = t, factsOf(seen)
	return t
}

// WholeFacts returns the facts of the whole root: of all members, or of those that programs see.
func (r *Root) WholeFacts(program bool) Facts {
	switch {
	case r.Members == nil:
		return r.Facts
	case program:
		r.ProgramType()
		return r.programFacts
	}
	return factsOf(r.Members)
}

func factsOf(members map[string]*Member) Facts {
	f := Facts{Members: make(map[string]*Facts, len(members))}
	for name, m := range members {
		f.Marks = f.Marks.Union(m.Marks)
		f.Call = f.Call || !m.Known
		f.Members[name] = m.Typed().contents()
	}
	return f
}

// OutputRoot is the root output: what a backend returned, of type t.
func OutputRoot(t *schema.Type, facts Facts) *Root {
	return &Root{Noun: "member of output", Type: t, Facts: facts,
		Value: func(f *Frame) (any, error) { return f.Output, nil }}
}

// EachRoot is the root each: the current element of a loop over a list or a map.
func EachRoot(key *schema.Type, elem TypedExpr) *Root {
	elem.NullReason = NullableReason("each.value", elem.Type)
	return &Root{Noun: "member of each", Type: AnyType, Members: map[string]*Member{
		"key": {Local: true, Type: key, Eval: func(f *Frame) (any, error) { return f.Each.Key, nil }},
		"value": {Local: true, Type: elem.Type, Facts: elem.Facts,
			Eval: func(f *Frame) (any, error) { return f.Each.Value, nil }},
	}}
}

// NullableReason says why a value of type t at path may be null. It is empty if it may not.
func NullableReason(path string, t *schema.Type) string {
	if t.Nullable {
		return path + " may be null"
	}
	return ""
}

// ReadSet says what the parts compiled so far depend on. The zero value depends on nothing.
type ReadSet struct {
	Marks
	Loop   int     // MaxLoopVars minus the lowest slot that is read of loops around; 0 for none
	Cuts   []*Cut  // that may have cut what was read
	Masked []*Mask // of what was read
}

const MaxLoopVars = 1 << 30

// Union returns what either set depends on.
func (r ReadSet) Union(s ReadSet) ReadSet {
	return ReadSet{r.Marks.Union(s.Marks), max(r.Loop, s.Loop), addAll(r.Cuts, s.Cuts), addAll(r.Masked, s.Masked)}
}

// Dependencies record what a block reads of other declarations. They belong to one block.
type Dependencies struct {
	Members     []*Member
	Types       []string
	Webhooks    []string // that it notifies
	Caller      bool     // the caller's identity
	ReadsFiles  bool     // files of the configuration directory, other than .hcl
	FilesDigest string   // digest of those files, without those of PinsDigest
	// PinsDigest is the digest of files of which the users of a connection depend on one part each: see Field.ReadPins.
	PinsDigest string
	// Whole are the limits that must not cut anything, with the first use that says so.
	Whole     map[*Cut]diag.Range
	Delivered []*Cut // the limits that may have cut what an answer holds
	Places    []Read // of the block, in the order in which they were compiled
	Files     []ReadFile
	Programs  []ReadProgram
	Written   []ReadType
	Defaults  []uint32 // see Reads
	Branches  []Branch
}
