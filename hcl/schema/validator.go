package schema

import (
	"slices"
	"strings"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// Validator enforces a type. It is immutable and safe for concurrent use.
type Validator struct {
	check     check
	arguments check // the same check with messages about arguments
	typ       *Type

	usesLibrary     bool // a part is copied for the library that checks it
	copiesAfterNull bool // a part is copied if an alternative has a null that counts as absent
	remembers       bool // a part has alternatives that contain themselves: see memo
}

// Compile returns the type's validator.
func (t *Type) Compile() *Validator {
	c := checkCompiler{sensitive: t.Sensitive}
	if t.Kind != Object || t.OneOf != nil {
		all := c.compile(t)
		return newValidator(t, all, all)
	}
	members := c.objectCheck(t)
	arguments := *members
	arguments.noun = "argument"
	return newValidator(t, c.wrapCheck(t, members.check), c.wrapCheck(t, arguments.check))
}

func newValidator(t *Type, all, arguments check) *Validator {
	return &Validator{
		check: all, arguments: arguments, typ: t,
		usesLibrary: t.holds(func(t *Type) bool { return t.library != nil }),
		copiesAfterNull: t.holds(func(t *Type) bool {
			return t.OneOf != nil && slices.ContainsFunc(t.OneOf, (*Type).leavesOutNulls)
		}),
		remembers: t.holds(func(t *Type) bool { return t.OneOf != nil && t.holdsRef() }),
	}
}

// Values validates decoded arguments of a call, which it may change. It returns them converted,
// with defaults applied at every depth, or every violation. An error is one of the time.
func (v *Validator) Values(arguments map[string]any, time Time) (map[string]any, []Violation, error) {
	return v.values(arguments, pass{owned: true, time: &checkTime{limit: time}})
}

func (v *Validator) values(arguments map[string]any, p pass) (map[string]any, []Violation, error) {
	p.sent = true
	out, _, violations := v.arguments(arguments, p)
	if p.time.err != nil {
		return nil, nil, p.time.err
	} else if len(violations) > 0 {
		return nil, limitViolations(violations), nil
	}
	return out.(map[string]any), nil, nil
}

// Check validates a value and returns it converted, with defaults applied at every depth. It does
// not change v. If there are violations, the returned value is undefined. An error is one of the time.
func (v *Validator) Check(val any, time Time) (any, []Violation, error) {
	p := pass{time: &checkTime{limit: time}}
	out, _, violations := v.check(val, p)
	if p.time.err != nil {
		return nil, nil, p.time.err
	}
	return out, limitViolations(violations), nil
}

// A check converts a value to its type or returns its violations. changed reports whether the
// result differs from the value.
type check func(v any, p pass) (out any, changed bool, violations []Violation)

// pass is what one validation hands from check to check.
type pass struct {
	owned   bool // lists and objects may be changed in place; otherwise they are copied before a change
	partial bool // the rest of the value was not decoded, because so much of it is wrong
	sent    bool // it is about the arguments of a caller
	skipped bool // lists and objects of the wrong kind were not decoded
	time    *checkTime
	memo    memo // the results of types of alternatives that contain themselves
}

// checkTime is the time of the running validation. What is bounded by the size of the value and linear in it does not
// look at it.
type checkTime struct {
	limit Time
	step  value.Step // of limit; nil until it is needed, because it takes memory
	err   error      // of step: the rest is not checked, and what was found does not count
}

// take accounts for n elements. It reports false when the time is over.
func (t *checkTime) take(n int) bool {
	if t.err == nil {
		t.err = t.limit.Step(n)
	}
	return t.err == nil
}

func (t *checkTime) isOver() bool { return t.err != nil }

func (t *checkTime) matches(p *Pattern, s string) (matches bool) {
	if t.step == nil {
		t.step = t.limit.Step
	}
	if t.err == nil {
		matches, t.err = value.MatchSteps(p.re, p.size, s, t.step)
	}
	return matches
}

// checkCompiler compiles types to checks.
type checkCompiler struct {
	sensitive bool // violations do not show values
}

// holds reports whether a condition is true of the type or of a part of it.
func (t *Type) holds(is func(*Type) bool) bool {
	if t.isRef {
		return false
	}
	found := is(t)
	t.eachPart(func(part *Type) { found = found || part.holds(is) })
	return found
}

// leavesOutNulls reports whether the check of the type leaves out the nulls of optional members.
func (t *Type) leavesOutNulls() bool {
	return t.holds(func(t *Type) bool { return slices.ContainsFunc(t.Members, (*Member).dropsNull) })
}

func singleViolation(message string) []Violation { return []Violation{{Message: message}} }

// violation describes a violation: the requirement, and what was found unless it is sensitive.
func (c checkCompiler) violation(need, got string) []Violation {
	if c.sensitive {
		return singleViolation(need)
	}
	return singleViolation(need + ", got " + got)
}

func (c checkCompiler) compile(t *Type) check {
	c.sensitive = c.sensitive || t.Sensitive
	return c.wrapCheck(t, c.kindCheck(t))
}

// wrapCheck adds the parts common to all kinds: the library's check and the handling of null.
func (c checkCompiler) wrapCheck(t *Type, inner check) check {
	if t.library != nil {
		inner = c.withLibrary(t, inner)
	}
	if !t.AllowsNull() || t.isAny() {
		return inner
	}
	return func(v any, p pass) (any, bool, []Violation) {
		if v == nil && t.library == nil {
			return nil, false, nil
		} else if v == nil {
			return nil, false, t.library.validate(nil, p.time, c.sensitive)
		}
		return inner(v, p)
	}
}

// withLibrary adds the checks of the library. The library receives the original value without the
// nulls that count as absent.
func (c checkCompiler) withLibrary(t *Type, inner check) check {
	return func(v any, p pass) (any, bool, []Violation) {
		out, changed, violations := inner(v, p)
		if p.skipped && violations != nil {
			return out, changed, violations // the library cannot read it
		}
		raw := t.library.validate(withoutNulls(t, v, p.time), p.time, c.sensitive)
		for _, r := range raw {
			said := func(v Violation) bool { return strings.HasPrefix(v.Path, r.Path) }
			if t.verbatim == nil || !slices.ContainsFunc(violations, said) {
				violations = append(violations, r)
			}
		}
		return out, changed, violations
	}
}

// withoutNulls returns the value without the nulls of optional members.
func withoutNulls(t *Type, v any, time *checkTime) any {
	if t = t.Unfolded(); t.OneOf != nil {
		if t = t.alternativeOf(v, time); t == nil {
			return v
		}
	}
	if d, ok := v.(value.LazyJSON); ok {
		v, _ = d.Value()
	}
	switch v := v.(type) {
	case []any:
		if t.Elem == nil {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutNulls(t.Elem, e, time)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			m, ok := t.Lookup(k)
			switch {
			case ok && e == nil && m.dropsNull():
			case ok:
				out[k] = withoutNulls(m.Type, e, time)
			case t.Kind == Map:
				out[k] = withoutNulls(t.Elem, e, time)
			default:
				out[k] = e
			}
		}
		return out
	}
	return v
}

// dropsNull reports whether null counts as absent.
func (m *Member) dropsNull() bool { return m.Optional && !m.Type.Nullable && m.Type.Kind != Null }

func (c checkCompiler) kindCheck(t *Type) check {
	switch {
	case t.isRef:
		return c.recursionCheck(t.def)
	case t.OneOf != nil:
		return c.unionCheck(t)
	}
	switch t.Kind {
	case String:
		return c.textCheck(t)
	case Number, Integer:
		return c.numberCheck(t)
	case Bool:
		return c.plain(t, "must be true or false", func(v any) bool { _, ok := v.(bool); return ok })
	case File:
		return c.fileCheck()
	case Bytes:
		return c.plain(t, "must be bytes", func(v any) bool { _, ok := v.(value.Bytes); return ok })
	case Null:
		return c.plain(t, "must be null", func(v any) bool { return v == nil })
	case List, Set:
		return c.listCheck(t)
	case Map:
		return c.mapCheck(t)
	case Object:
		return c.objectCheck(t).check
	}
	return func(v any, _ pass) (any, bool, []Violation) { return v, false, nil }
}

// retryDecoded decodes a deferred value and checks it again, or returns a violation for a value of
// the wrong kind.
func (c checkCompiler) retryDecoded(need string, t *Type, v any, p pass, again check) (any, bool, []Violation) {
	d, ok := v.(value.LazyJSON)
	if !ok {
		violations := c.violation(need, describeValue(v))
		violations[0].Message += unquoteAdvice(v, p, t)
		return v, false, violations
	}
	decoded, err := d.Value()
	if err != nil {
		return v, false, singleViolation("could not be read")
	}
	out, _, violations := again(decoded, pass{time: p.time})
	return out, true, violations
}

// unquoteAdvice returns the end of the message about a string that a caller has sent where no string may be, if it
// holds a value of one of these types.
func unquoteAdvice(v any, p pass, types ...*Type) string {
	text, ok := v.(string)
	if !ok || !p.sent || !p.time.take(1+len(text)/64) {
		return ""
	}
	var s survey
	null := false
	for _, t := range types {
		_, orNull := s.push(0, t)
		null = null || orNull
	}
	if c := jsonscan.FirstByte(text, value.MaxDepth); s.takes(0, '"') || !s.takes(0, c) && !(null && c == 'n') {
		return ""
	}
	return "; send it as JSON, without the quotes"
}

func (c checkCompiler) plain(t *Type, need string, is func(any) bool) check {
	var self check
	self = func(v any, p pass) (any, bool, []Violation) {
		if is(v) {
			return v, false, nil
		}
		return c.retryDecoded(need, t, v, p, self)
	}
	return self
}
