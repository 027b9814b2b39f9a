package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"hatchel/hcl/jsonscan"
)

// ErrBytes reports that a value contains Bytes, which JSON cannot represent.
var ErrBytes = errors.New("bytes cannot be written as JSON; encode them with base64encode")

// AppendJSON appends v as JSON: keys sorted, no white space, no HTML escapes, invalid UTF-8
// replaced by U+FFFD. For Bytes, NaN and infinities it returns an error and the incomplete output.
func AppendJSON(dst []byte, v any) ([]byte, error) { return AppendJSONSteps(dst, v, nil) }

// AppendJSONSteps is AppendJSON within a budget.
func AppendJSONSteps(dst []byte, v any, step Step) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendText(dst, v, step)
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, fmt.Errorf("%v cannot be written as JSON", v)
		}
		return append(dst, FormatFloat(v)...), nil
	case json.Number:
		return append(dst, v...), nil
	case []any:
		return appendList(dst, v, step)
	case map[string]any:
		return appendObject(dst, v, step)
	case LazyJSON:
		return v.AppendJSON(dst), nil
	case Bytes:
		return dst, ErrBytes
	}
	return dst, fmt.Errorf("a %T cannot be written as JSON", v)
}

func appendText(dst []byte, s string, step Step) ([]byte, error) {
	if len(s) <= textPart {
		return AppendString(dst, s), step.Take(len(s) / bytesOfElement)
	}
	dst = append(dst, '"')
	for part, err := range Parts(s, step) {
		if err != nil {
			return dst, err
		}
		dst = jsonscan.AppendStringContent(dst, part)
	}
	return append(dst, '"'), nil
}

func appendList(dst []byte, list []any, step Step) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if err := step.Take(1); err != nil {
			return dst, err
		}
		if dst, err = AppendJSONSteps(dst, e, step); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, m map[string]any, step Step) (_ []byte, err error) {
	dst = append(dst, '{')
	var few [16]string // on the stack
	keys := few[:0]
	if step == nil {
		keys = AppendKeys(keys, m)
	} else if keys, err = KeysSteps(m, step); err != nil {
		return dst, err
	}
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, k), ':')
		if err := step.Take(1); err != nil {
			return dst, err
		}
		if dst, err = AppendJSONSteps(dst, m[k], step); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte { return jsonscan.AppendString(dst, s) }

// MaxDepth is the maximum nesting of arrays and objects in JSON that is decoded or compacted.
const MaxDepth = 512

// SyntaxError reports where and why a text is not JSON.
type SyntaxError = jsonscan.SyntaxError

// ErrTooDeep is wrapped by the SyntaxError about a text that is nested deeper than MaxDepth.
var ErrTooDeep = jsonscan.ErrTooDeep

// ErrDuplicateKey is wrapped by the SyntaxError about an object that has a key twice.
var ErrDuplicateKey = jsonscan.ErrDuplicateKey

// Decode decodes one JSON text. The value does not alias src. Duplicate keys, invalid UTF-8, lone surrogates,
// nesting beyond MaxDepth and text after the value are errors. Every error is a [*SyntaxError].
func Decode(src []byte) (any, error) {
	s := jsonscan.New(src, MaxDepth)
	return decodeText(&s, nil)
}

// decodeText decodes a whole text.
func decodeText(s *jsonscan.Scanner, step Step) (any, error) {
	v, err := decodeValue(s, step)
	if err == nil && !s.AtEnd() {
		err = s.Fail("more text after the value")
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeLossy is Decode, within a budget, for an answer of a backend, which one character must not lose: U+FFFD
// replaces each lone surrogate. It returns how many there were.
func DecodeLossy(src []byte, step Step) (v any, replaced int, err error) {
	s := jsonscan.NewLossy(src, MaxDepth)
	if step != nil {
		s.SetStep(func(bytes int) error { return step(bytes / bytesOfElement) })
	}
	v, err = decodeText(&s, step)
	return v, s.Replaced(), err
}

func decodeValue(s *jsonscan.Scanner, step Step) (any, error) {
	switch c := s.Peek(); c {
	case '"':
		return s.Text()
	case '{':
		return decodeObject(s, step)
	case '[':
		return decodeList(s, step)
	}
	return DecodeScalar(s)
}

// DecodeScalar reads a value that is neither a string nor a list nor an object.
func DecodeScalar(s *jsonscan.Scanner) (any, error) {
	text, err := s.Value()
	if err != nil {
		return nil, err
	}
	switch text[0] {
	case 't', 'f':
		return text[0] == 't', nil
	case 'n':
		return nil, nil
	}
	n, err := decodeNumber(text)
	if err != nil {
		return nil, s.Fail(err.Error())
	}
	return n, nil
}

func decodeList(s *jsonscan.Scanner, step Step) (any, error) {
	if err := s.EnterArray(); err != nil {
		return nil, err
	}
	list := []any{}
	for {
		more, err := s.NextElement()
		if err != nil || !more {
			return list, err
		}
		if err := step.Take(1); err != nil {
			return nil, err
		}
		v, err := decodeValue(s, step)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func decodeObject(s *jsonscan.Scanner, step Step) (any, error) {
	mark, err := s.EnterObject()
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	for {
		key, err := s.Key(mark)
		if err != nil || key == nil {
			return m, err
		}
		if _, duplicate := m[string(key)]; duplicate {
			return nil, s.DuplicateKey(key)
		}
		if err := step.Take(1); err != nil {
			return nil, err
		}
		v, err := decodeValue(s, step)
		if err != nil {
			return nil, err
		}
		m[string(key)] = v
	}
}

// decodeNumber is ParseNumber for a text that is known to be a JSON number.
func decodeNumber(text []byte) (any, error) {
	if len(text) >= 18 { // it may not fit an int
		if err := CheckNumber(text); err != nil { // before its text is copied
			return nil, err
		}
		return ParseNumber(string(text))
	}
	digits, negative := text, text[0] == '-'
	if negative {
		digits = text[1:]
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return ParseNumber(string(text))
		}
		n = n*10 + int(c-'0')
	}
	if negative {
		n = -n
	}
	return n, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// Compact checks that src is one JSON text of at most MaxDepth levels without duplicate keys, or
// empty, and removes a byte order mark and the white space between its tokens, in place. On an error,
// a [*SyntaxError], it returns the text compacted up to the error. U+FFFD replaces lone surrogates, which
// are counted. Compact takes a few nanoseconds a byte, so that a document that is never read need not be
// decoded.
func Compact(src []byte) (text []byte, replaced int, err error) {
	return jsonscan.Compact(bytes.TrimPrefix(src, byteOrderMark), MaxDepth, CheckNumber[[]byte])
}
