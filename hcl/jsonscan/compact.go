package jsonscan

import "sync"

// Compact checks that data is one JSON text of at most maxDepth levels without duplicate keys and
// removes the white space between its tokens, in place. It returns nothing for a text of white space
// alone. On an error it returns the text compacted up to the error, so that it can be shown. The function checkNumber
// returns why a number is refused; nil for none. U+FFFD replaces lone surrogates, which are counted.
func Compact(
	data []byte, maxDepth int, checkNumber func(text []byte) error,
) (text []byte, replaced int, err error) {
	s := scanners.Get().(*Scanner)
	defer func() {
		s.Reset(nil, 0) // keeps no data alive
		scanners.Put(s)
	}()
	s.Reset(data, maxDepth)
	s.compacting, s.checkNumber, s.lossy = true, checkNumber, true
	if s.AtEnd() {
		return nil, 0, nil
	}
	_, err = s.Value()
	if !s.AtEnd() && err == nil {
		err = s.Fail("more text after the value")
	}
	s.move(len(data))
	return data[:s.end], s.replaced, err
}

var scanners = sync.Pool{New: func() any { return new(Scanner) }}

// discard drops the white space from start to the current position, if s compacts the text.
func (s *Scanner) discard(start int) {
	if s.compacting && start < s.pos {
		s.move(start)
		s.kept = s.pos
	}
}

// move moves what was read up to an offset to its place in the compacted text.
func (s *Scanner) move(to int) {
	s.end += copy(s.data[s.end:], s.data[s.kept:to])
	s.kept = to
}
