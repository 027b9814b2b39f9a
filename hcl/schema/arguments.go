package schema

import (
	"strconv"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// decodeArguments decodes the arguments of a call as value.Decode does, and in less time: they are copied once and every text is a piece of that copy.
// What is unusual, and every mistake, is left to value.Decode.
func decodeArguments(raw []byte) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	q := quick{text: string(raw)}
	if utf8.ValidString(q.text) {
		v := q.value(0)
		if q.space(); !q.failed && q.at == len(q.text) {
			return v, nil
		}
	}
	return value.Decode(raw)
}

// A quick reads JSON that is well formed; it sets failed where it is not, and then its value is of no use.
type quick struct {
	text   string
	at     int
	failed bool
}

func (q *quick) fail() any {
	q.failed = true
	return nil
}

func (q *quick) space() {
	for q.at < len(q.text) && (q.text[q.at] == ' ' || q.text[q.at] == '\n' || q.text[q.at] == '\t' || q.text[q.at] == '\r') {
		q.at++
	}
}

// next steps over white space and then over c, if it is there.
func (q *quick) next(c byte) bool {
	q.space()
	if q.at < len(q.text) && q.text[q.at] == c {
		q.at++
		return true
	}
	return false
}

func (q *quick) word(w string, v any) any {
	if len(q.text)-q.at < len(w) || q.text[q.at:q.at+len(w)] != w {
		return q.fail()
	}
	q.at += len(w)
	return v
}

func (q *quick) value(depth int) any {
	q.space()
	if q.at == len(q.text) || depth > value.MaxDepth-1 {
		return q.fail()
	}
	switch c := q.text[q.at]; c {
	case '"':
		return q.string()
	case '{':
		return q.object(depth + 1)
	case '[':
		return q.list(depth + 1)
	case 't':
		return q.word("true", true)
	case 'f':
		return q.word("false", false)
	case 'n':
		return q.word("null", nil)
	default:
		return q.number()
	}
}

func (q *quick) list(depth int) any {
	q.at++
	list := []any{}
	if q.next(']') {
		return list
	}
	for !q.failed {
		list = append(list, q.value(depth))
		if q.next(']') {
			return list
		}
		if !q.next(',') {
			break
		}
	}
	return q.fail()
}

func (q *quick) object(depth int) any {
	q.at++
	m := map[string]any{}
	if q.next('}') {
		return m
	}
	for !q.failed {
		q.space()
		key, plain := q.plain()
		if !plain || !q.next(':') {
			break
		}
		before := len(m)
		m[key] = q.value(depth)
		if len(m) == before {
			break // the key is there twice
		}
		if q.next('}') {
			return m
		}
		if !q.next(',') {
			break
		}
	}
	return q.fail()
}

// plain reads a string without escapes. q.at stays where it was when there is none.
func (q *quick) plain() (string, bool) {
	if q.at == len(q.text) || q.text[q.at] != '"' {
		return "", false
	}
	for i := q.at + 1; i < len(q.text); i++ {
		switch c := q.text[i]; {
		case c == '"':
			s := q.text[q.at+1 : i]
			q.at = i + 1
			return s, true
		case c == '\\' || c < 0x20:
			return "", false
		}
	}
	return "", false
}

func (q *quick) string() any {
	if s, ok := q.plain(); ok {
		return s
	}
	for i := q.at + 1; i < len(q.text); i++ {
		switch q.text[i] {
		case '\\':
			i++
		case '"':
			v, err := value.Decode([]byte(q.text[q.at : i+1]))
			if err != nil {
				return q.fail()
			}
			q.at = i + 1
			return v
		}
	}
	return q.fail()
}

// exactDigits is how many decimal digits every float64 keeps.
const exactDigits = 15

func (q *quick) number() any {
	start, digits, point := q.at, 0, -1
	if q.text[q.at] == '-' {
		q.at++
	}
	first, n := q.at, 0
scan:
	for ; q.at < len(q.text); q.at++ {
		switch c := q.text[q.at]; {
		case c >= '0' && c <= '9':
			n = n*10 + int(c-'0')
			digits++
		case c == '.' && point < 0 && digits > 0:
			point = q.at
		case c == 'e' || c == 'E' || c == '+' || c == '-' || c == '.':
			return q.exact(start)
		default:
			break scan
		}
	}
	if digits == 0 || point == q.at-1 || digits > 1 && q.text[first] == '0' && point != first+1 {
		return q.fail()
	}
	if digits > exactDigits {
		q.at = start
		return q.exact(start)
	}
	negative := first > start
	if point >= 0 {
		f, err := strconv.ParseFloat(q.text[start:q.at], 64)
		if err != nil {
			return q.fail()
		}
		if whole := int(f); float64(whole) == f {
			return whole
		}
		return f
	}
	if negative {
		n = -n
	}
	return n
}

// exact reads a number that takes more than this to keep every digit.
func (q *quick) exact(start int) any {
	for q.at = start; q.at < len(q.text); q.at++ {
		c := q.text[q.at]
		if !(c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E') {
			break
		}
	}
	v, err := value.Decode([]byte(q.text[start:q.at]))
	if err != nil {
		return q.fail()
	}
	return v
}
