package jsonscan

// Lookup returns the text of the value at path, a list of keys from the outermost object inwards,
// in an object that a Scanner has accepted. It reports false if there is none.
func Lookup(object []byte, path ...string) ([]byte, bool) {
	for _, name := range path {
		var ok bool
		if object, ok = member(object, name); !ok {
			return nil, false
		}
	}
	return object, true
}

// LookupText returns the string at path, like Lookup. It reports false if there is none.
func LookupText(object []byte, path ...string) (string, bool) {
	value, ok := Lookup(object, path...)
	if !ok {
		return "", false
	}
	return Text(value)
}

func member(object []byte, name string) ([]byte, bool) {
	s := New(object, len(object))
	if s.Peek() != '{' {
		return nil, false
	}
	mark, err := s.EnterObject()
	for err == nil {
		var key, value []byte
		if key, err = s.Key(mark); err != nil || key == nil {
			return nil, false
		}
		if value, err = s.Value(); string(key) == name {
			return value, err == nil
		}
	}
	return nil, false
}

// Members calls do for each member of an object, with its decoded name and the text of its value, until do reports that
// there is no more to do. A member that appears twice is an error. It does nothing for any other value.
func Members(object []byte, maxDepth int, do func(name, value []byte) bool) error {
	var s Scanner
	s.Reset(object, maxDepth)
	if s.Peek() != '{' {
		_, err := s.Value()
		return err
	}
	mark, err := s.EnterObject()
	for err == nil {
		var key, value []byte
		if key, err = s.Key(mark); err != nil || key == nil {
			break
		}
		if value, err = s.Value(); err == nil && !do(key, value) {
			return nil
		}
	}
	if err == nil && !s.AtEnd() {
		err = s.Fail("more text after the value")
	}
	return err
}

// Object is the members of an object, in their order.
type Object []Member

// Member is a member of an object: its decoded name and the text of its value.
type Member struct{ Name, Value []byte }

// Get returns the text of the value of a member; nil if there is none.
func (o Object) Get(name string) []byte {
	for i := range o {
		if string(o[i].Name) == name {
			return o[i].Value
		}
	}
	return nil
}

// Text returns the decoded string that a member is. It reports false if there is none, or if it is any other value.
func (o Object) Text(name string) (string, bool) { return Text(o.Get(name)) }

// Object reads an object and returns its members, so that they need not be looked for one by one.
func (s *Scanner) Object() (Object, error) {
	if s.Peek() != '{' {
		return nil, s.expected("an object")
	}
	var o Object
	mark, err := s.EnterObject()
	for err == nil {
		var m Member
		if m.Name, err = s.Key(mark); err != nil || m.Name == nil {
			break
		}
		if m.Value, err = s.Value(); err == nil {
			o = append(o, m)
		}
	}
	return o, err
}
