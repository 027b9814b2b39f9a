package schema

import (
	"bytes"
	"slices"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// Lenience is what a server accepts of clients beyond the types of its tools.
type Lenience struct {
	Coerce bool     // JSON in a string is a value, where the type has no string
	Ignore []string // arguments that clients add
}

// Accept returns the arguments of a call, which are a JSON object, without those that are ignored, and with values in
// place of the strings that hold them. An argument that the type declares or that its object is open for stays. A
// string stays where the type has a string, or not the kind of value that is in it. The result is raw itself if
// nothing changes. An error is one of the budget.
func (v *Validator) Accept(raw []byte, l Lenience, budget Budget) ([]byte, error) {
	if !l.Coerce && len(l.Ignore) == 0 {
		return raw, nil
	}
	s := surveys.Get().(*survey)
	defer s.release()
	s.time.limit = budget
	a := &accepter{types: s, lenience: l, budget: budget}
	if anything, _ := s.push(0, v.typ); anything {
		return raw, nil
	}
	p := &patch{text: raw, scan: jsonscan.New(raw, value.MaxDepth)}
	if err := a.arguments(p); err != nil {
		if a.failed == nil {
			a.failed = s.time.err
		}
		return raw, a.failed // otherwise it is no valid JSON, which Arguments reports
	}
	return p.result(), nil
}

// Ignores reports whether an argument of a prompt is dropped. A text is a value of every type already.
func (v *Validator) Ignores(name string, l Lenience) bool {
	_, declared := v.typ.Lookup(name)
	return !declared && slices.Contains(l.Ignore, name)
}

// accepter reads arguments along a type.
type accepter struct {
	types    *survey // the types that the values being read may have
	lenience Lenience
	budget   Budget
	failed   error // of the budget
}

// patch is a text of which parts are replaced while it is read.
type patch struct {
	text []byte
	scan jsonscan.Scanner
	kept int    // text[kept:] has yet to be copied
	out  []byte // nil as long as nothing is replaced
}

func (p *patch) replace(from, to int, by []byte) {
	p.out = append(append(p.out, p.text[p.kept:from]...), by...)
	p.kept = to
}

func (p *patch) result() []byte {
	if p.kept == 0 {
		return p.text
	}
	return append(p.out, p.text[p.kept:]...)
}

// replace replaces a part of a text. What was replaced takes memory for the whole text, once.
func (a *accepter) replace(p *patch, from, to int, by []byte) error {
	if p.kept == 0 {
		if a.failed = a.budget.Reserve(int64(len(p.text))); a.failed != nil {
			return a.failed
		}
	}
	p.replace(from, to, by)
	return nil
}

// arguments reads the outermost object.
func (a *accepter) arguments(p *patch) error {
	if p.scan.Peek() != '{' {
		_, err := p.scan.Value()
		return err
	}
	return a.object(p, 0, a.isIgnored)
}

// isIgnored reports whether an argument is dropped.
func (a *accepter) isIgnored(name []byte) bool {
	listed := func(ignored string) bool { return ignored == string(name) }
	return slices.ContainsFunc(a.lenience.Ignore, listed) && !slices.ContainsFunc(a.types.types, func(t *Type) bool {
		return t.Kind == Map || t.Open || t.member(name) != nil
	})
}

// value reads a value that has one of the types from an index on, or may be anything or null.
func (a *accepter) value(p *patch, from int, anything, null bool) error {
	c := p.scan.Peek()
	switch {
	case anything || c != '"' && !a.types.takes(from, c):
	case c == '"' && a.lenience.Coerce && !a.types.takes(from, c):
		return a.string(p, from, null)
	case c == '[':
		return a.list(p, from)
	case c == '{':
		return a.object(p, from, func([]byte) bool { return false })
	}
	_, err := p.scan.Value()
	return err
}

// string reads a string where none of the types from an index on has one.
func (a *accepter) string(p *patch, from int, null bool) error {
	start := p.scan.Pos()
	text, err := p.scan.Value()
	if err != nil {
		return err
	}
	if a.failed = a.budget.Reserve(2 * int64(len(text))); a.failed != nil {
		return a.failed
	}
	content, _ := jsonscan.Text(text)
	inner := &patch{text: bytes.TrimSpace([]byte(content))}
	if !isJSON(inner.text) {
		return nil
	}
	inner.scan = jsonscan.New(inner.text, value.MaxDepth)
	if c := inner.scan.Peek(); c == '"' || !a.types.takes(from, c) && !(null && c == 'n') {
		return nil
	}
	if err := a.value(inner, from, false, null); err != nil {
		return err
	}
	return a.replace(p, start, p.scan.Pos(), inner.result())
}

// isJSON reports whether a text is one JSON value.
func isJSON(text []byte) bool {
	var s jsonscan.Scanner
	s.Reset(text, value.MaxDepth)
	_, err := s.Value()
	return err == nil && s.AtEnd()
}

func (a *accepter) list(p *patch, from int) error {
	if err := p.scan.EnterArray(); err != nil {
		return err
	}
	s := a.types
	to, anything, null := len(s.types), false, false
	for i := from; i < to; i++ {
		if t := s.types[i]; t.Kind == List || t.Kind == Set {
			anyElement, orNull := s.push(to, t.Elem)
			anything, null = anything || anyElement, null || orNull
		}
	}
	for {
		more, err := p.scan.NextElement()
		if err != nil || !more {
			s.types = s.types[:to]
			return err
		}
		if err := a.value(p, to, anything, null); err != nil {
			return err
		}
	}
}

// object reads an object without the members that are dropped.
func (a *accepter) object(p *patch, from int, drops func(name []byte) bool) error {
	mark, err := p.scan.EnterObject()
	if err != nil {
		return err
	}
	s := a.types
	to, members := len(s.types), 0
	for _, t := range s.types[from:] {
		members += len(t.Members)
	}
	for first := true; ; {
		if members > fewMembers && !s.time.take(members) {
			return s.time.err
		}
		before := p.scan.Pos() // where the comma or the key follows
		key, err := p.scan.Key(mark)
		if err != nil || key == nil {
			return err
		}
		if drops(key) {
			if _, err := p.scan.Value(); err != nil {
				return err
			}
			if err := a.replace(p, before, p.scan.Pos(), nil); err != nil {
				return err
			}
			continue
		}
		if comma := bytes.IndexByte(p.text[before:], ','); first && p.kept == before && before > 0 && comma >= 0 {
			p.kept += comma + 1 // all before it were dropped
		}
		first = false
		anything, null := false, false
		for i := from; i < to; i++ {
			t, anyMember, orNull := s.types[i], false, false
			if m := t.member(key); m != nil {
				anyMember, orNull = s.push(to, m.Type)
				orNull = orNull || m.dropsNull()
			} else if t.Kind == Map {
				anyMember, orNull = s.push(to, t.Elem)
			} else {
				anyMember = t.Open
			}
			anything, null = anything || anyMember, null || orNull
		}
		if err := a.value(p, to, anything, null); err != nil {
			return err
		}
		s.types = s.types[:to]
	}
}
