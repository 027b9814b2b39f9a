// Package rows finds the rows of an encoded result, and writes them as CSV or Markdown.
//
// It works on encoded JSON: the members of an object keep their order, numbers keep their digits, and a result that no
// argument shapes is never read. [Find] returns the [List] of a result; [List.Write] formats it, and [List.First]
// shortens it.
package rows

import (
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// List is the list that an encoded value is, or that the encoded object has.
type List struct {
	Member   string // the name of the member of the object; empty when the value is the list
	value    []byte // encoded
	start    int    // of the list in value
	end      int
	elements []span
	objects  bool // every element is an object
}

// span is a part of a text.
type span struct{ start, end int }

// Find returns the list that an encoded value is, or the only list of objects among the members of an object. T is the
// type of the value, or nil: where it says which member that is, or that there is none, the value does not decide. It
// reports false for a value without a list, and for text that is not JSON.
func Find(encoded []byte, t *schema.Type) (List, bool) {
	s := jsonscan.New(encoded, value.MaxDepth)
	switch s.Peek() {
	case '[':
		return readList(encoded, s.Pos())
	case '{':
		if name, known := listMember(t); !known || name != "" {
			return findMember(&s, encoded, name)
		}
	}
	return List{}, false
}

// listMember returns the name of the only member of an object type that is a list of objects; empty for none. Known is
// false for another type than that of an object, and for one that does not say which of its members are such lists.
func listMember(t *schema.Type) (name string, known bool) {
	if t == nil || t.Kind != schema.Object || t.OneOf != nil {
		return "", false
	}
	lists, unknown := 0, false
	for _, m := range t.Unfolded().Members {
		of := m.Type.Unfolded()
		elem := Elem(of)
		switch {
		case isUnknown(of) || elem != nil && isUnknown(elem):
			unknown = true
		case elem != nil && (elem.Kind == schema.Object || elem.Kind == schema.Map):
			name, lists = m.Name, lists+1
		}
	}
	switch {
	case lists == 1:
		return name, true
	case lists > 1:
		return "", true
	}
	return "", !unknown
}

// isUnknown reports whether the values of a type may be lists, or objects, of which it does not say.
func isUnknown(t *schema.Type) bool { return t == nil || t.Kind == schema.Any || t.OneOf != nil }

// Elem returns the type of the elements of a list; nil for another type.
func Elem(t *schema.Type) *schema.Type {
	if t == nil || t.Kind != schema.List && t.Kind != schema.Set || t.Elem == nil {
		return nil
	}
	return t.Elem.Unfolded()
}

// findMember finds the list among the members of the object that s is at: the named one, or else the only list of
// objects, or else the only empty list.
func findMember(s *jsonscan.Scanner, encoded []byte, named string) (found List, ok bool) {
	mark, err := s.EnterObject()
	empty, lists := List{}, 0
	for err == nil {
		var key, text []byte
		if key, err = s.Key(mark); err != nil || key == nil {
			break
		}
		name := string(key)
		s.Peek()
		start := s.Pos()
		if text, err = s.Value(); err != nil || text[0] != '[' {
			continue
		}
		list, isList := readList(encoded, start)
		list.Member = name
		switch {
		case !isList:
			return List{}, false
		case named != "":
			if name == named {
				found, ok = list, true
			}
		case len(list.elements) == 0:
			empty, lists = list, lists+1
		case list.objects && ok:
			return List{}, false
		case list.objects:
			found, ok = list, true
		}
	}
	if err == nil && !ok && named == "" && lists == 1 {
		return empty, true
	}
	return found, ok && err == nil
}

// readList reads the list at an offset of an encoded value.
func readList(encoded []byte, start int) (List, bool) {
	s := jsonscan.New(encoded[start:], value.MaxDepth)
	l := List{value: encoded, start: start, objects: true}
	s.Peek()
	err := s.EnterArray()
	for err == nil {
		var more bool
		if more, err = s.NextElement(); err != nil || !more {
			break
		}
		s.Peek()
		from := s.Pos()
		var text []byte
		if text, err = s.Value(); err == nil {
			l.elements = append(l.elements, span{start + from, start + s.Pos()})
			l.objects = l.objects && text[0] == '{'
		}
	}
	l.end = start + s.Pos()
	return l, err == nil
}

// Len returns how many elements the list has.
func (l *List) Len() int { return len(l.elements) }

// IsTable reports whether every element is an object.
func (l *List) IsTable() bool { return l.objects }

// Element returns an element as it is encoded.
func (l *List) Element(i int) []byte { return l.value[l.elements[i].start:l.elements[i].end] }

// First returns the encoded value with only the first n elements of its list.
func (l *List) First(n int) []byte {
	if n >= len(l.elements) {
		return l.value
	}
	end := l.start + 1
	if n > 0 {
		end = l.elements[n-1].end
	}
	out := make([]byte, 0, end+1+len(l.value)-l.end)
	out = append(append(out, l.value[:end]...), ']')
	return append(out, l.value[l.end:]...)
}

// Slice returns the elements from one index up to another one as an encoded list.
func (l *List) Slice(from, to int) []byte {
	if from >= to {
		return []byte("[]")
	}
	start, end := l.elements[from].start, l.elements[to-1].end
	out := append(make([]byte, 0, end-start+2), '[')
	return append(append(out, l.value[start:end]...), ']')
}

// others returns the encoded object without its list; nil when the value is the list, or when the object has nothing
// else.
func (l *List) others() []byte {
	if l.Member == "" {
		return nil
	}
	s := jsonscan.New(l.value, value.MaxDepth)
	members, err := s.Object()
	if err != nil || len(members) < 2 {
		return nil
	}
	out := []byte{'{'}
	for _, m := range members {
		if string(m.Name) == l.Member {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonscan.AppendString(out, m.Name), ':'), m.Value...)
	}
	return append(out, '}')
}
