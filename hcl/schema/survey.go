package schema

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// survey is what is known of the JSON text of arguments before it is decoded.
type survey struct {
	text   []byte
	scan   jsonscan.Scanner
	types  []*Type      // that the values being read may have, innermost last
	size   int64        // bytes that the decoded arguments take
	wrong  int          // values of a wrong kind, and unknown members
	skips  []skipped    // lists and objects where the type has none, in order
	counts []collection // the large lists and objects, and some others, in order
	end    int          // where decoding ends: after too many wrong values, or at the end

	perCollection int64 // bytes that a list or an object takes for a memo

	skip    int   // of skips, how many were decoded
	counted int   // of counts
	few     []any // elements of lists that were not counted, innermost last
	nulls   bool  // a null counts as absent
	ended   bool  // nothing more is decoded

	time checkTime
}

var surveys = sync.Pool{New: func() any { return new(survey) }}

// maxReused is how many elements of a list are kept in memory for the next survey.
const maxReused = 256

func (s *survey) release() {
	if cap(s.types) > maxReused || cap(s.counts) > maxReused || cap(s.few) > maxReused {
		return
	}
	clear(s.types[:cap(s.types)])
	*s = survey{types: s.types[:0], counts: s.counts[:0], few: s.few[:0]}
	surveys.Put(s)
}

// collection is a list or an object with the number of its elements; 0 for unknown.
type collection struct{ at, n uint32 }

// skipped stands for a list or an object that is not decoded, because the type has none there.
type skipped struct {
	at     int
	object bool
	n      int // elements of a list
}

func (s skipped) kind() string {
	if s.object {
		return Object.String()
	}
	return List.String()
}

// kindOf is value.Kind for what a survey decodes.
func kindOf(v any) string {
	if s, ok := v.(skipped); ok {
		return s.kind()
	}
	return value.Kind(v)
}

// errTooManyWrong ends a survey.
var errTooManyWrong = errors.New("too many wrong values")

// read reads the text along a type. It returns what makes decoding pointless.
func (s *survey) read(t *Type) []Violation {
	anything, null := s.push(0, t)
	if c := s.scan.Peek(); c != '{' && c != 'n' { // whatever the type: arguments are an object
		anything, s.types = false, append(s.types[:0], t)
	}
	err := s.value(0, anything, null || s.scan.Peek() == 'n')
	if err == nil && !s.scan.AtEnd() {
		err = s.scan.Fail("more text after the value")
	}
	if long, ok := err.(longNumberError); ok {
		return []Violation{{pathOf(s.text, long.at), "is " + long.Error() + ", which no number may have"}}
	}
	if err == errTooManyWrong || err == nil || s.time.err != nil {
		return nil
	}
	return syntaxViolation(err)
}

// longNumberError is a number that value.CheckNumber refuses.
type longNumberError struct {
	at int
	error
}

// push adds the types that a value of type t may have to those from an index on, each once: alternatives that contain
// each other would otherwise double them at every level. It reports whether the value may be anything, and whether it
// may be null.
func (s *survey) push(from int, t *Type) (anything, null bool) {
	if t == nil {
		return true, true
	}
	if null = t.AllowsNull(); t.isRef {
		if t = t.def.target(); t == nil {
			return true, true
		}
		null = null || t.AllowsNull()
	}
	switch {
	case t.isAny() || t.Kind == File || t.Kind == Bytes:
		return true, null
	case t.OneOf != nil:
		for _, a := range t.OneOf {
			anyOther, orNull := s.push(from, a)
			anything, null = anything || anyOther, null || orNull
		}
		return anything, null
	}
	if !slices.Contains(s.types[from:], t) {
		s.types = append(s.types, t)
	}
	return false, null
}

// takes reports whether one of the types from an index on has values that begin with c.
func (s *survey) takes(from int, c byte) bool {
	for _, t := range s.types[from:] {
		ok := false
		switch t.Kind {
		case String:
			ok = c == '"'
		case Number, Integer:
			ok = c == '-' || '0' <= c && c <= '9'
		case Bool:
			ok = c == 't' || c == 'f'
		case List, Set:
			ok = c == '['
		case Map, Object:
			ok = c == '{'
		}
		if ok {
			return true
		}
	}
	return false
}

// value reads a value that has one of the types from an index on, or may be anything or null.
func (s *survey) value(from int, anything, null bool) error {
	c := s.scan.Peek()
	if !anything && !(null && c == 'n') && !s.takes(from, c) {
		return s.wrongValue(c)
	}
	switch c {
	case '[':
		return s.list(from, anything)
	case '{':
		return s.object(from, anything)
	}
	return s.scalar(c)
}

func (s *survey) scalar(c byte) error {
	at := s.scan.Pos()
	text, err := s.scan.Value()
	if err != nil {
		return err
	}
	switch {
	case c == '"':
		s.size += sizeOfText + roundUp(len(text)-2)
	case c == '-' || '0' <= c && c <= '9':
		if err := value.CheckNumber(text); err != nil {
			return longNumberError{at, err}
		}
		if s.size += 8; len(text) > 18 || bytes.ContainsAny(text, ".eE") { // its text is copied
			s.size += sizeOfText + roundUp(len(text))
		}
	}
	return nil
}

// wrongValue reads a value that none of the types has.
func (s *survey) wrongValue(c byte) error {
	skip := skipped{at: s.scan.Pos(), object: c == '{'}
	var err error
	switch c {
	case '[':
		if err = s.scan.EnterArray(); err == nil {
			skip.n, err = s.countElements()
		}
	case '{':
		_, err = s.scan.Value()
	default:
		err = s.scalar(c)
	}
	if err != nil {
		return err
	}
	if c == '[' || c == '{' {
		s.skips = append(s.skips, skip)
	}
	if s.wrong++; s.wrong > maxViolations {
		s.end = s.scan.Pos()
		return errTooManyWrong
	}
	return nil
}

func (s *survey) countElements() (n int, err error) {
	for {
		more, err := s.scan.NextElement()
		if err != nil || !more {
			return n, err
		}
		n++
		if _, err := s.scan.Value(); err != nil {
			return n, err
		}
	}
}

func (s *survey) list(from int, anything bool) error {
	at := s.begin()
	if err := s.scan.EnterArray(); err != nil {
		return err
	}
	to, perElement, null := len(s.types), int64(sizeOfElement), anything
	for i := from; i < to; i++ {
		if t := s.types[i]; t.Kind == List || t.Kind == Set {
			anyElement, orNull := s.push(to, t.Elem)
			if anything, null = anything || anyElement, null || orNull; t.Kind == Set {
				perElement = sizeOfElement + sizeOfHash
			}
		}
	}
	for n := 0; ; n++ {
		more, err := s.scan.NextElement()
		if err != nil {
			return err
		}
		if !more {
			s.types = s.types[:to]
			s.size += sizeOfList + perElement*int64(n) + s.perCollection
			s.finish(at, n)
			return nil
		}
		if err := s.value(to, anything, null); err != nil {
			return err
		}
	}
}

func (s *survey) object(from int, anything bool) error {
	at := s.begin()
	mark, err := s.scan.EnterObject()
	if err != nil {
		return err
	}
	to, members, defaults := len(s.types), 0, 0
	for _, t := range s.types[from:] {
		if t.Kind == Object {
			members, defaults = members+len(t.Members), max(defaults, t.countDefaults())
		}
	}
	for n := 0; ; n++ {
		if members > fewMembers && !s.time.take(members) {
			return s.time.err
		}
		key, err := s.scan.Key(mark)
		if err != nil {
			return err
		}
		if key == nil {
			if s.size += sizeOfMap(n+defaults) + s.perCollection; defaults > 0 { // the map was made for n, and grows
				s.size += sizeOfMap(n + defaults)
			}
			s.finish(at, n)
			return nil
		}
		s.size += roundUp(len(key))
		known, anyMember, null := anything, anything, anything
		for i := from; i < to && !anything; i++ {
			t := s.types[i]
			anyOther, orNull := false, false
			switch m := t.member(key); {
			case t.Kind == Map:
				anyOther, orNull = s.push(to, t.Elem)
			case m != nil:
				anyOther, orNull = s.push(to, m.Type)
				orNull = orNull || m.dropsNull()
				s.nulls = s.nulls || m.dropsNull() && s.scan.Peek() == 'n'
			case t.Kind == Object && t.Open:
				anyOther, orNull = true, true
			default:
				continue
			}
			known, anyMember, null = true, anyMember || anyOther, null || orNull
		}
		if known {
			err = s.value(to, anyMember, null)
		} else {
			err = s.wrongValue(s.scan.Peek())
		}
		if err != nil {
			return err
		}
		s.types = s.types[:to]
	}
}

// fewMembers is how many members an object may have that are looked up without a look at the time.
const fewMembers = 16

// countDefaults returns how many members an object may get that were not sent.
func (t *Type) countDefaults() (n int) {
	for _, m := range t.Members {
		if m.HasDefault {
			n++
		}
	}
	return n
}

// member is Lookup for the text of a name; nil for none.
func (t *Type) member(name []byte) *Member {
	for _, m := range t.Members {
		if m.Name == string(name) {
			return m
		}
	}
	return nil
}

// fewElements is how many elements a list or an object may have that is not counted before it is decoded.
const fewElements = 8

// begin notes the beginning of a list or an object, and finish its size.
func (s *survey) begin() (index int) {
	if len(s.counts) == cap(s.counts) { // doubles, so that the lists together take no more than twice the last one
		s.counts = append(make([]collection, 0, max(16, 2*len(s.counts))), s.counts...)
	}
	s.counts = append(s.counts, collection{at: uint32(s.scan.Pos())})
	return len(s.counts) - 1
}

func (s *survey) finish(index, n int) {
	if s.counts[index].n = uint32(n); n <= fewElements && index == len(s.counts)-1 {
		s.counts = s.counts[:index]
	}
}
