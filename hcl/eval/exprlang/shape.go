package exprlang

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Kind is the kind of a Shape.
type Kind int

const (
	Any     Kind = iota // nothing is known
	Null                // always null
	Bool                //
	String              //
	Number              //
	Integer             //
	List                // of Elem
	Map                 // any key, values of Elem
	Object              // exactly Members
	Bytes               //
)

var kindPhrases = [...]string{"any value", "null", "a bool", "a string", "a number", "an integer", "a list", "an object", "an object", "bytes"}

// A Shape is what is known at load of a value. Shapes are shared and never changed. A nil *Shape means Any.
type Shape struct {
	Kind     Kind
	Nullable bool              // it may be null
	Elem     *Shape            // of a List or a Map
	Members  map[string]*Shape // of an Object: these and no others
	Values   []string          // every text that a String can be, when that is known
}

var (
	anything  = &Shape{}
	nullShape = &Shape{Kind: Null}
	boolean   = &Shape{Kind: Bool}
	text      = &Shape{Kind: String}
	number    = &Shape{Kind: Number}
	integer   = &Shape{Kind: Integer}
	bytes     = &Shape{Kind: Bytes}
)

func listOf(elem *Shape) *Shape { return &Shape{Kind: List, Elem: elem} }

func (s *Shape) elem() *Shape {
	if s == nil || s.Elem == nil {
		return anything
	}
	return s.Elem
}

func (s *Shape) orNull() *Shape {
	if s.Nullable || s.Kind == Any || s.Kind == Null {
		return s
	}
	t := *s
	t.Nullable = true
	return &t
}

func (s *Shape) notNull() *Shape {
	if !s.Nullable {
		return s
	}
	t := *s
	t.Nullable = false
	return &t
}

func (s *Shape) numeric() bool { return s.Kind == Number || s.Kind == Integer }
func (s *Shape) keyed() bool   { return s.Kind == Object || s.Kind == Map }

// canBe tells whether a value of this shape, when it is not null, can be of the kind.
func (s *Shape) canBe(k Kind) bool {
	switch {
	case s.Kind == Any, s.Kind == k:
		return true
	case k == Number, k == Integer:
		return s.numeric()
	case k == Object, k == Map:
		return s.keyed()
	}
	return false
}

// mayEqual tells whether values of the two shapes can be equal.
func (s *Shape) mayEqual(t *Shape) bool {
	if s.Kind == Null || t.Kind == Null || s.Nullable && t.Nullable {
		return true
	}
	return t.Kind == Any || s.canBe(t.Kind)
}

// unifyTypes is the shape of a value that has one shape or the other.
func unifyTypes(s, t *Shape) *Shape {
	switch {
	case s == t:
		return s
	case s.Kind == Null:
		return t.orNull()
	case t.Kind == Null:
		return s.orNull()
	case s.Kind == Any || t.Kind == Any:
		return anything
	}
	null := s.Nullable || t.Nullable
	out := Shape{Kind: s.Kind, Nullable: null}
	switch {
	case s.numeric() && t.numeric():
		if s.Kind != t.Kind {
			out.Kind = Number
		}
	case s.Kind != t.Kind:
		return anything
	case s.Kind == List || s.Kind == Map:
		out.Elem = unifyTypes(s.elem(), t.elem())
	case s.Kind == Object:
		if len(s.Members) != len(t.Members) {
			return anything
		}
		out.Members = make(map[string]*Shape, len(s.Members))
		for k, m := range s.Members {
			other, ok := t.Members[k]
			if !ok {
				return anything
			}
			out.Members[k] = unifyTypes(m.known(), other.known())
		}
	case s.Values != nil && slices.Equal(s.Values, t.Values):
		out.Values = s.Values
	}
	return &out
}

func (s *Shape) known() *Shape {
	if s == nil {
		return anything
	}
	return s
}

// fingerprint writes a text that equal shapes share.
func (s *Shape) fingerprint(b *strings.Builder) {
	s = s.known()
	b.WriteString(strconv.Itoa(int(s.Kind)))
	if s.Nullable {
		b.WriteByte('?')
	}
	for _, v := range s.Values {
		b.WriteString(strconv.Quote(v))
	}
	if s.Elem != nil {
		b.WriteByte('[')
		s.Elem.fingerprint(b)
		b.WriteByte(']')
	}
	if s.Kind == Object {
		fingerprints(b, s.Members)
	}
}

func fingerprints(b *strings.Builder, members map[string]*Shape) {
	b.WriteByte('{')
	for _, name := range sortedNames(members) {
		b.WriteString(strconv.Quote(name))
		members[name].fingerprint(b)
	}
	b.WriteByte('}')
}

func sortedNames(members map[string]*Shape) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
