package eval

import (
	"errors"
	"fmt"
	"strconv"

	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// Access says how a member or an element of a value is read.
type Access struct {
	What     string // the phrase for the value in errors
	Optional bool   // a missing member is null; in a program, null as the value ends the traversal with ErrEnded
	Program  bool   // a missing member is null, keys are strings, and a negative index counts from the end
}

// ErrEnded ends a traversal of a program at an optional step; its value is null.
var ErrEnded = errors.New("an optional step has ended the traversal")

// MissingMemberError is the error of a member that an object of a call does not have.
type MissingMemberError struct {
	What, Name string // the phrase for the object, and the name of the member
}

func (e *MissingMemberError) Error() string {
	return fmt.Sprintf("%s has no member %s", e.What, quoteKey(e.Name))
}

// Member reads a member of a value of a call.
func (a *Access) Member(f *Frame, v any, name string) (any, error) {
	if file, ok := v.(value.File); ok && !a.Program {
		return file.Member(name)
	}
	v, err := Resolve(v)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		x, ok := v[name]
		if !ok && !a.Optional && !a.Program && !f.Lenient {
			return nil, &MissingMemberError{a.What, name}
		}
		return x, nil
	case nil:
		switch {
		case a.Program && a.Optional:
			return nil, ErrEnded
		case f.Lenient && !a.Program:
			return nil, nil
		}
		return nil, fmt.Errorf("%s is null and has no member %s", a.What, quoteKey(name))
	}
	return nil, fmt.Errorf("%s is a %s and has no member %s", a.What, value.Kind(v), quoteKey(name))
}

// Element reads an element of a list by its index, or a member of a map by its key.
func (a *Access) Element(f *Frame, v, key any) (any, error) {
	switch v := v.(type) {
	case []any:
		i, ok := value.Int(key)
		if s, isText := key.(string); isText && !a.Program {
			n, err := strconv.Atoi(s)
			i, ok = n, err == nil
		}
		if !ok {
			return nil, fmt.Errorf("an index into %s must be a whole number, got %s", a.What, value.Kind(key))
		}
		at := i
		if at < 0 && a.Program {
			at += len(v)
		}
		if at < 0 || at >= len(v) {
			if f.Lenient && !a.Program {
				return nil, nil
			}
			return nil, fmt.Errorf("%s has %d elements, and there is none at index %d", a.What, len(v), i)
		}
		return v[at], nil
	case map[string]any, nil:
		name, err := value.Text(key)
		if _, isText := key.(string); a.Program && !isText {
			err = fmt.Errorf("a key of %s must be a string, got %s", a.What, value.Kind(key))
		}
		if err != nil {
			return nil, err
		}
		return a.Member(f, v, name)
	}
	return nil, fmt.Errorf("%s is a %s and has no elements", a.What, value.Kind(v))
}

// KeyName returns what computes the name of a member: a text or, but in a program, what can be written as one.
func KeyName(key TypedExpr, program bool) func(*Frame) (string, error) {
	return func(f *Frame) (string, error) {
		k, err := Resolved(key.Eval(f))
		if err != nil {
			return "", err
		}
		name, isText := k.(string)
		if !isText && !program && k != nil {
			name, err = value.Text(k)
			isText = err == nil
		}
		if !isText {
			return "", fmt.Errorf("the key of an object must be a string, got %s", value.Kind(k))
		}
		return name, nil
	}
}

const maxShownKey = 60 // characters

// quoteKey returns the name of a member for an error.
func quoteKey(name string) string {
	return strconv.Quote(cut.Runes(name, maxShownKey))
}
