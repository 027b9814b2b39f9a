package schema

import (
	"errors"
	"fmt"
	"strconv"

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
