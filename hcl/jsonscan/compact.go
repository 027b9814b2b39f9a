package jsonscan

// Compact checks that data is one JSON text of at most maxDepth levels and removes the white space
// between its tokens, in place. Duplicate keys are accepted. It returns nothing for a text of white
// space alone. On an error it returns the text compacted up to the error, so that it can be shown.
func Compact(data []byte, maxDepth int) ([]byte, error) {
	s := New(data, maxDepth)
	s.compacting = true
	if s.AtEnd() {
		return nil, nil
	}
	_, err := s.Value()
	if !s.AtEnd() && err == nil {
		err = s.Fail("more text after the value")
	}
	s.end += copy(data[s.end:], data[s.kept:])
	return data[:s.end], err
}

// discard drops the white space from start to the current position, if s compacts the text.
func (s *Scanner) discard(start int) {
	if s.compacting && start < s.pos {
		s.end += copy(s.data[s.end:], s.data[s.kept:start])
		s.kept = s.pos
	}
}
