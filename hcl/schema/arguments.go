package schema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// Time is the time that a validation may take. Step is a value.Step.
type Time interface {
	Step(elements int) error
}

// Budget is what validating arguments may take. Reserve is called with the bytes that the decoded arguments take,
// before they are decoded.
type Budget interface {
	Time
	Reserve(bytes int64) error
}

// Unlimited is the Budget of what the author of a configuration has written, and of tests.
var Unlimited Budget = unlimited{}

type unlimited struct{}

func (unlimited) Reserve(int64) error { return nil }
func (unlimited) Step(int) error      { return nil }

// Arguments decodes and validates the arguments of a call: a JSON object, or no bytes at all. It returns them
// converted, with defaults applied at every depth, or every violation. The result does not alias raw.
//
// It first reads raw along the type, which allocates next to nothing: where the type has no list or object, one that
// was sent is not decoded, and after too many values of a wrong kind nothing is. It then reserves the bytes that the
// decoded arguments take. An error is one of the budget.
//
// Patterns, the comparison of the items of a set, alternatives, and objects of many members take Steps. Reading,
// decoding and the other checks take none: they are linear in the text, which is no longer than a body, and formats
// have a maximum length. The library that checks what a JSON Schema has beyond the type takes Steps for each schema
// that it applies to a value.
func (v *Validator) Arguments(raw []byte, budget Budget) (map[string]any, []Violation, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	s := surveys.Get().(*survey)
	defer s.release()
	s.text, s.end, s.scan = raw, len(raw), jsonscan.New(raw, value.MaxDepth)
	s.time.limit = budget
	if v.remembers {
		s.perCollection = sizeOfMemo
	}
	violations := s.read(v.typ)
	if s.time.err != nil || violations != nil {
		return nil, violations, s.time.err
	}
	if v.usesLibrary || v.copiesAfterNull && s.nulls {
		s.size *= 2
	}
	if err := budget.Reserve(s.size); err != nil {
		return nil, nil, err
	}
	decoded, err := s.decode()
	if err != nil {
		return nil, syntaxViolation(err), nil
	}
	p := pass{owned: true, partial: s.end < len(raw), skipped: s.wrong > 0, time: &s.time}
	given, isObject := decoded.(map[string]any)
	if decoded == nil {
		given, isObject = map[string]any{}, true
	}
	if isObject {
		return v.values(given, p)
	}
	return nil, singleViolation("the arguments must be an object, got " + describeValue(decoded)), nil
}

// DecodeWithin is value.Decode with a budget of memory: it reserves the bytes that the value takes, and returns the
// error of reserve before it decodes it.
func DecodeWithin(raw []byte, reserve func(bytes int64) error) (any, error) {
	s := surveys.Get().(*survey)
	defer s.release()
	s.text, s.end, s.scan = raw, len(raw), jsonscan.New(raw, value.MaxDepth)
	err := s.value(0, true, true)
	if err == nil && !s.scan.AtEnd() {
		err = s.scan.Fail("more text after the value")
	}
	if err == nil {
		err = reserve(s.size)
	}
	if err != nil {
		return nil, err
	}
	return s.decode()
}

func syntaxViolation(err error) []Violation {
	syntax, _ := errors.AsType[*value.SyntaxError](err)
	return singleViolation(fmt.Sprintf("the arguments are not valid JSON: %s at byte %d", syntax.Reason, syntax.Offset))
}

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

// Bytes that decoded values take in addition to the interfaces that hold them, which belong to their collection.
const (
	sizeOfText    = 16
	sizeOfList    = 24
	sizeOfElement = 16  // of a list
	sizeOfHash    = 16  // of the element of a set, while it is compared with the others
	sizeOfMemo    = 192 // of the result for a list or an object in a memo
	sizeOfGroup   = 8 + 8*32
	sizeOfHeader  = 48       // of a map
	sizeOfTable   = 40 << 10 // of a map with more than one
)

// roundUp returns about how much memory is allocated for n bytes.
func roundUp(n int) int64 { return int64(n+n/16+7) &^ 7 }

// sizeOfMap returns how many bytes a map takes that was made for n members, without their names.
func sizeOfMap(n int) int64 {
	if n <= 8 {
		return sizeOfHeader + sizeOfGroup*int64(min(n, 1))
	}
	slots := 16
	for slots*7/8 < n && slots < 1024 {
		slots *= 2
	}
	if n <= 896 {
		return sizeOfHeader + roundUp(slots/8*sizeOfGroup)
	}
	tables := 1
	for tables*800 < n { // they hold 896, and are not equally full
		tables *= 2
	}
	return int64(tables) * sizeOfTable
}

// decode decodes the text after it was read.
func (s *survey) decode() (any, error) {
	s.scan = jsonscan.New(s.text, value.MaxDepth)
	return s.decodeValue()
}

func (s *survey) decodeValue() (any, error) {
	c, at := s.scan.Peek(), s.scan.Pos()
	if s.skip < len(s.skips) && s.skips[s.skip].at == at {
		s.skip++
		_, err := s.scan.Value()
		return s.skips[s.skip-1], err
	}
	switch c {
	case '"':
		return s.scan.Text()
	case '[':
		return s.decodeList(s.countOf(at))
	case '{':
		return s.decodeObject(s.countOf(at))
	}
	return value.DecodeScalar(&s.scan)
}

// countOf returns how many elements the collection at an offset has; 0 for a few.
func (s *survey) countOf(at int) int {
	counts := s.counts
	for s.counted < len(counts) && int(counts[s.counted].at) < at { // in what was skipped
		s.counted++
	}
	if s.counted < len(counts) && int(counts[s.counted].at) == at {
		s.counted++
		return int(counts[s.counted-1].n)
	}
	return 0
}

// atEnd reports whether nothing more is decoded.
func (s *survey) atEnd() bool {
	s.ended = s.ended || s.scan.Pos() >= s.end
	return s.ended
}

func (s *survey) decodeList(n int) (any, error) {
	if err := s.scan.EnterArray(); err != nil {
		return nil, err
	}
	if n > 0 {
		list := make([]any, 0, n)
		err := s.decodeElements(func(v any) { list = append(list, v) })
		return list, err
	}
	from := len(s.few)
	err := s.decodeElements(func(v any) { s.few = append(s.few, v) })
	list := append(make([]any, 0, len(s.few)-from), s.few[from:]...)
	clear(s.few[from:])
	s.few = s.few[:from]
	return list, err
}

// decodeElements decodes the elements of a list.
func (s *survey) decodeElements(add func(v any)) error {
	for {
		more, err := s.scan.NextElement()
		if err != nil || !more || s.atEnd() {
			return err
		}
		v, err := s.decodeValue()
		if err != nil {
			return err
		}
		if add(v); s.ended {
			return nil
		}
	}
}

func (s *survey) decodeObject(n int) (any, error) {
	mark, err := s.scan.EnterObject()
	if err != nil {
		return nil, err
	}
	m := make(map[string]any, n)
	for {
		key, err := s.scan.Key(mark)
		if err != nil || key == nil || s.atEnd() {
			return m, err
		}
		if _, duplicate := m[string(key)]; duplicate {
			return nil, s.scan.DuplicateKey(key)
		}
		name := string(key)
		v, err := s.decodeValue()
		if err != nil {
			return nil, err
		}
		if m[name] = v; s.ended {
			return m, nil
		}
	}
}

// pathOf returns the path of the value at an offset of a text.
func pathOf(text []byte, at int) (path string) {
	s := jsonscan.New(text, value.MaxDepth)
	for s.Peek() != 0 && s.Pos() < at {
		if s.Peek() == '{' {
			mark, _ := s.EnterObject()
			for {
				key, err := s.Key(mark)
				if err != nil || key == nil {
					return path
				}
				name := string(key)
				if s.Peek(); holds(&s, at) {
					if name = memberKey(name); path != "" && name[0] != '[' {
						name = "." + name
					}
					path += name
					break
				}
			}
			continue
		}
		if s.Peek() != '[' || s.EnterArray() != nil {
			return path
		}
		for i := 0; ; i++ {
			if more, err := s.NextElement(); err != nil || !more {
				return path
			}
			if s.Peek(); holds(&s, at) {
				path += "[" + strconv.Itoa(i) + "]"
				break
			}
		}
	}
	return path
}

// holds reports whether the next value holds the one at an offset. Otherwise it reads it.
func holds(s *jsonscan.Scanner, at int) bool {
	before := *s
	_, err := s.Value()
	if err == nil && s.Pos() <= at {
		return false
	}
	*s = before
	return true
}
