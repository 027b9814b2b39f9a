// Package jsonscan reads JSON text in one pass without decoding it, and writes JSON strings.
//
// [Scanner] is the only JSON reader of the program: package value uses it to decode, and the MCP
// server to split messages. For valid text it allocates nothing, except for keys with escape
// sequences and, if duplicate keys are rejected, one list of keys.
package jsonscan

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// ErrTooDeep is wrapped by the [SyntaxError] about a text that is nested too deeply.
var ErrTooDeep = errors.New("nested too deeply")

// ErrDuplicateKey is wrapped by the [SyntaxError] about an object that has a key twice.
var ErrDuplicateKey = errors.New("duplicate key")

// SyntaxError reports where and why a text is not accepted as JSON.
type SyntaxError struct {
	Offset int    // in bytes from the start of the text
	Reason string // the description of the error at Offset
	cause  error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns ErrTooDeep, ErrDuplicateKey or nil.
func (e *SyntaxError) Unwrap() error { return e.cause }

// Scanner reads one JSON text. It returns slices of the text. Beyond the grammar it rejects input
// that JSON readers interpret differently: invalid UTF-8, nesting beyond a limit and, unless they are
// allowed, lone surrogates and duplicate keys. Every error is a [*SyntaxError], or that of a [Step]. Use [New] or
// [Scanner.Reset] to prepare a Scanner. It must not be used concurrently.
type Scanner struct {
	data     []byte
	pos      int
	depth    int
	maxDepth int
	opened   bool // the last token opened an object or an array

	allowDuplicates bool
	keys            []uint32  // the keys of all open objects, innermost last: see keyAt
	decoded         [2][]byte // two keys with escape sequences, while they are compared
	keyPos          int       // the offset of the last key

	step Step // nil for none

	lossy    bool // U+FFFD replaces a lone surrogate
	replaced int  // how often

	compacting  bool
	checkNumber func(text []byte) error // of Compact; nil for none
	kept        int                     // data[kept:pos] has yet to be moved to data[end:]
	end         int                     // data[:end] is compacted
}

// New returns a Scanner for data that accepts maxDepth levels of nesting and leaves duplicate keys
// to its caller, who can report them with [Scanner.DuplicateKey].
func New(data []byte, maxDepth int) Scanner {
	return Scanner{data: data, maxDepth: maxDepth, allowDuplicates: true}
}

// NewLossy is New for data of others in which a lone surrogate is no error: U+FFFD replaces it. Compact also does that
// in the data.
func NewLossy(data []byte, maxDepth int) Scanner {
	s := New(data, maxDepth)
	s.lossy = true
	return s
}

// Step is a budget of time for long strings. It is called with a number of bytes before as many are read or decoded,
// and its error, which the Scanner returns as it is, ends that.
type Step func(bytes int) error

// stepBytes is of how many bytes of a string a Step is asked at once.
const stepBytes = 64 << 10

func (s Step) take() error {
	if s == nil {
		return nil
	}
	return s(stepBytes)
}

// SetStep makes s call step for strings of more than 64 KiB. Reset ends that.
func (s *Scanner) SetStep(step Step) { s.step = step }

// Replaced returns how many lone surrogates were read.
func (s *Scanner) Replaced() int { return s.replaced }

// Reset prepares s for data, with maxDepth levels of nesting. Duplicate keys are refused. Memory
// that s has allocated is reused.
func (s *Scanner) Reset(data []byte, maxDepth int) {
	keys := s.keys[:0]
	if cap(keys) > maxReusedKeys {
		keys = nil
	}
	*s = Scanner{data: data, maxDepth: maxDepth, keys: keys}
}

// ResetLossy is Reset for data of others in which a lone surrogate is no error, as in NewLossy.
func (s *Scanner) ResetLossy(data []byte, maxDepth int) {
	s.Reset(data, maxDepth)
	s.lossy = true
}

// SetMaxDepth changes how many levels of nesting s accepts, of the whole text, from here on.
func (s *Scanner) SetMaxDepth(levels int) { s.maxDepth = levels }

// maxReusedKeys is the largest list of keys that Reset keeps in memory.
const maxReusedKeys = 4096

// Pos returns the offset of the next byte to read.
func (s *Scanner) Pos() int { return s.pos }

// Since returns the text from an offset up to the current position.
func (s *Scanner) Since(start int) []byte { return s.data[start:s.pos:s.pos] }

// Fail returns a SyntaxError at the current position.
func (s *Scanner) Fail(what string) error { return s.failAt(s.pos, what) }

func (s *Scanner) failAt(offset int, what string) error {
	return &SyntaxError{Offset: offset, Reason: what}
}

// Peek skips white space and returns the byte that follows, or 0 at the end of the text.
func (s *Scanner) Peek() byte {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' {
		return s.data[s.pos]
	}
	return s.skipSpace()
}

func (s *Scanner) skipSpace() byte {
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			s.discard(start)
			return c
		}
	}
	s.discard(start)
	return 0
}

// AtEnd skips white space and reports whether the text ends there.
func (s *Scanner) AtEnd() bool { return s.Peek() == 0 && s.pos >= len(s.data) }

// Value reads one value of any kind and returns its text.
func (s *Scanner) Value() ([]byte, error) {
	c := s.Peek()
	start := s.pos
	var err error
	switch {
	case c == '"':
		_, err = s.readString()
	case c == '{':
		err = s.readObject()
	case c == '[':
		err = s.readArray()
	case c == '-' || '0' <= c && c <= '9':
		if err = s.readNumber(); err == nil && s.checkNumber != nil {
			if refused := s.checkNumber(s.Since(start)); refused != nil {
				err = s.Fail(refused.Error())
			}
		}
	case c == 't':
		err = s.readLiteral("true")
	case c == 'f':
		err = s.readLiteral("false")
	case c == 'n':
		err = s.readLiteral("null")
	default:
		err = s.expected("a value")
	}
	return s.Since(start), err
}

func (s *Scanner) expected(what string) error {
	if s.pos >= len(s.data) {
		return s.Fail("the text ends where " + what + " is expected")
	}
	return s.Fail(what + " is expected")
}

func (s *Scanner) readLiteral(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.expected("a value")
	}
	s.pos += len(word)
	return nil
}

func (s *Scanner) readObject() error {
	mark, err := s.EnterObject()
	for err == nil {
		var more bool
		if _, _, more, err = s.nextKey(mark); !more {
			return err
		}
		_, err = s.Value()
	}
	return err
}

func (s *Scanner) readArray() error {
	if err := s.EnterArray(); err != nil {
		return err
	}
	for {
		more, err := s.NextElement()
		if err != nil || !more {
			return err
		}
		if _, err = s.Value(); err != nil {
			return err
		}
	}
}

// EnterArray reads the bracket that Peek returned. Then NextElement and a value alternate.
func (s *Scanner) EnterArray() error {
	s.pos++
	s.opened = true
	if s.depth++; s.depth > s.maxDepth {
		what := fmt.Sprintf("more than %d levels of nesting", s.maxDepth)
		return &SyntaxError{Offset: s.pos - 1, Reason: what, cause: ErrTooDeep}
	}
	return nil
}

// EnterObject reads the brace that Peek returned. Then Key, called with mark, and a value
// alternate.
func (s *Scanner) EnterObject() (mark int, err error) { return len(s.keys), s.EnterArray() }

// NextElement reads up to the next element of an array. It reports false at the end of the array.
func (s *Scanner) NextElement() (bool, error) {
	first := s.opened
	s.opened = false
	switch c := s.Peek(); {
	case c == ']':
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.pos++
		return true, nil
	}
	return false, s.expected("a comma or a closing bracket")
}

// Key reads the next key of an object and its colon. It returns nil at the end of the object and
// with an error. A key with escape sequences is returned decoded, in memory of its own.
func (s *Scanner) Key(mark int) ([]byte, error) {
	key, escaped, more, err := s.nextKey(mark)
	if !more {
		return nil, err
	}
	switch {
	case !escaped:
		return key, nil
	case len(key) <= maxDecoded:
		return Unescape(make([]byte, 0, len(key)), key), nil
	}
	return unescapedSteps(key, s.step)
}

// nextKey reads the next key of an object, which is returned as it is written. It reports false at the end of the
// object and with an error.
func (s *Scanner) nextKey(mark int) (key []byte, escaped, more bool, err error) {
	first := s.opened
	s.opened = false
	c := s.Peek()
	if c == '}' {
		s.pos++
		s.depth--
		return nil, false, false, s.leaveObject(mark)
	}
	if !first {
		if c != ',' {
			return nil, false, false, s.expected("a comma or a closing brace")
		}
		s.pos++
		c = s.Peek()
	}
	if c != '"' {
		return nil, false, false, s.expected("a key")
	}
	s.keyPos = s.pos
	if escaped, err = s.readString(); err != nil {
		return nil, false, false, err
	}
	at := s.keyPos + 1
	key = s.data[s.keyPos+1 : s.pos-1 : s.pos-1]
	if s.compacting { // the key must stay where it is for as long as it is compared with others
		s.move(s.pos)
		at = s.end - len(key) - 1
		key = s.data[at : s.end-1 : s.end-1]
	}
	if s.Peek() != ':' {
		return nil, false, false, s.expected("a colon")
	}
	s.pos++
	if !s.allowDuplicates {
		if err := s.addKey(mark, at, escaped); err != nil {
			return nil, false, false, err
		}
	}
	return key, escaped, true, nil
}

// maxComparedKeys is how many keys of an object are compared with each new one. The keys of a
// larger object are sorted at its end, so that no text takes quadratic time.
const maxComparedKeys = 16

// isEscaped marks the offset of a key with escape sequences.
const isEscaped = 1 << 31

// addKey adds a key, which begins at an offset of the text, to those of its object. A key takes four bytes.
func (s *Scanner) addKey(mark, at int, escaped bool) error {
	added := uint32(at)
	if escaped {
		added |= isEscaped
	}
	if keys := s.keys[mark:]; len(keys) < maxComparedKeys && len(keys) > 0 {
		key := s.keyAt(added, 0)
		for _, other := range keys {
			if bytes.Equal(s.keyAt(other, 1), key) {
				return s.DuplicateKey(key)
			}
		}
	}
	s.keys = append(grow(s.keys, 1), added)
	return nil
}

// grow returns list with room for n more elements. Unlike append it doubles lists of every size, so that all of its
// lists together take no more than twice the last one.
func grow[T any](list []T, n int) []T {
	if len(list)+n <= cap(list) {
		return list
	}
	return append(make([]T, 0, max(2*cap(list), len(list)+n, 16)), list...)
}

// keyAt returns the decoded key at an offset of the text. One with escape sequences is valid until the next call with
// the same place.
func (s *Scanner) keyAt(at uint32, place int) []byte {
	key := s.data[at&^isEscaped:]
	if at&isEscaped == 0 {
		return key[:bytes.IndexByte(key, '"')]
	}
	end := 0
	for key[end] != '"' {
		if key[end] == '\\' {
			end++
		}
		end++
	}
	s.decoded[place] = Unescape(s.decoded[place][:0], key[:end])
	return s.decoded[place]
}

// DuplicateKey returns the error for a key that Key returned last and that its object has already.
func (s *Scanner) DuplicateKey(key []byte) error {
	return duplicateKey(s.keyPos, "the key %q appears twice in one object", key)
}

func duplicateKey(offset int, format string, key []byte) error {
	return &SyntaxError{Offset: offset, Reason: fmt.Sprintf(format, Excerpt(key)), cause: ErrDuplicateKey}
}

func (s *Scanner) leaveObject(mark int) error {
	if keys := s.keys[mark:]; len(keys) > maxComparedKeys {
		slices.SortFunc(keys, func(a, b uint32) int { return bytes.Compare(s.keyAt(a, 0), s.keyAt(b, 1)) })
		for i := 1; i < len(keys); i++ {
			if key := s.keyAt(keys[i], 0); bytes.Equal(s.keyAt(keys[i-1], 1), key) {
				return duplicateKey(s.pos-1, "the key %q appears twice in the object that ends here", key)
			}
		}
	}
	s.keys = s.keys[:mark]
	return nil
}

// IsNumber reports whether a text is a JSON number, without white space.
func IsNumber(text string) bool {
	s := New([]byte(text), 0)
	if c := s.Peek(); c != '-' && (c < '0' || c > '9') || s.pos != 0 {
		return false
	}
	return s.readNumber() == nil && s.pos == len(text)
}
