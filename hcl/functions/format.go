package functions

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/value"
)

const maxWidth = 4096

// verb is one %... of a format.
type verb struct {
	options  string // flags, width and precision as written
	argument int    // the explicit index, from 1, or 0
	letter   rune
}

func formatText(c *Context, a []any) (any, error) {
	return sprintf(c, a[0].(string), a[1:])
}

func sprintf(c *Context, format string, args []any) (string, error) {
	var out []byte
	next, used, indexed := 0, 0, false
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			break
		}
		out = append(out, format[:i]...)
		if err := c.Step(1); err != nil {
			return "", err
		}
		v, rest, err := parseVerb(format[i+1:])
		if err != nil {
			return "", err
		}
		format = rest
		if v.letter == '%' {
			out = append(out, '%')
			continue
		}
		if v.argument > 0 {
			next, indexed = v.argument-1, true
		}
		if next >= len(args) {
			return "", fmt.Errorf("the value of %%%c is missing; the number of values is %d", v.letter, len(args))
		}
		before := len(out)
		if out, err = v.append(c, out, args[next]); err != nil {
			return "", fmt.Errorf("value %d: %w", next+1, err)
		}
		if err := c.Spend(len(out) - before); err != nil {
			return "", err
		}
		next++
		used = max(used, next)
	}
	if !indexed && used < len(args) {
		return "", fmt.Errorf("the format uses %d of %d values", used, len(args))
	}
	out = append(out, format...)
	return string(out), c.Spend(len(out))
}

func parseVerb(s string) (v verb, rest string, err error) {
	width, rest := leadingNumber(strings.TrimLeft(s, "+-# 0"))
	precision := 0
	if after, ok := strings.CutPrefix(rest, "."); ok {
		precision, rest = leadingNumber(after)
	}
	v.options = s[:len(s)-len(rest)]
	if after, ok := strings.CutPrefix(rest, "["); ok {
		v.argument, rest = leadingNumber(after)
		if rest, ok = strings.CutPrefix(rest, "]"); !ok || v.argument < 1 {
			return v, "", errors.New("an index in the format is written %[1]s")
		}
	}
	if rest == "" {
		return v, "", errors.New("the format ends in the middle of a verb; a percent sign is written %%")
	}
	if width > maxWidth || precision > maxWidth {
		return v, "", fmt.Errorf("a width or precision is more than %d", maxWidth)
	}
	letter, n := utf8.DecodeRuneInString(rest)
	v.letter = letter
	return v, rest[n:], nil
}

// leadingNumber returns the number at the start of s, or 0 if there is none.
func leadingNumber(s string) (n int, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	if len(rest) == len(s) {
		return 0, s
	}
	n, err := strconv.Atoi(s[:len(s)-len(rest)])
	if err != nil {
		n = maxWidth + 1
	}
	return n, rest
}

// spec returns the verb in the notation of package fmt, with another letter.
func (v verb) spec(letter rune) string { return "%" + v.options + string(letter) }

func (v verb) append(c *Context, dst []byte, arg any) ([]byte, error) {
	arg, err := value.Resolve(arg)
	if err != nil {
		return dst, errors.New("it cannot be read")
	}
	switch v.letter {
	case 's', 'q':
		s, err := scalarText(arg)
		if err != nil {
			return dst, fmt.Errorf("%%%c %w", v.letter, err)
		}
		return v.appendText(c, dst, s)
	case 'v':
		if err := c.checkSize(arg); err != nil {
			return dst, err
		}
		s, err := c.Text(arg)
		if err != nil {
			return dst, err
		}
		return verb{v.options, v.argument, 's'}.appendText(c, dst, s)
	case 't':
		b, ok := arg.(bool)
		if !ok {
			return dst, fmt.Errorf("%%t takes a bool, got %s", kindOf(arg))
		}
		return fmt.Appendf(dst, v.spec('t'), b), nil
	case 'd', 'b', 'o', 'x', 'X':
		if s, ok := arg.(string); ok && (v.letter == 'x' || v.letter == 'X') {
			return v.appendText(c, dst, s)
		}
		return v.appendInteger(dst, arg)
	case 'f', 'e', 'E', 'g', 'G':
		return v.appendFloat(dst, arg)
	}
	return dst, fmt.Errorf("unknown verb %%%c; use %%s %%q %%v %%t %%d %%b %%o %%x %%X %%f %%e or %%g", v.letter)
}

// maxFormattedText is how many bytes of a text are formatted other than as they are.
const maxFormattedText = 1 << 20

// appendText appends a text, which is as long as the budget allows if it is appended as it is.
func (v verb) appendText(c *Context, dst []byte, s string) ([]byte, error) {
	if err := c.scan(len(s)); err != nil {
		return dst, err
	}
	if v.letter == 's' && v.options == "" {
		return append(dst, s...), nil
	}
	if len(s) > maxFormattedText {
		return dst, fmt.Errorf("%%%s%c takes a text of at most %d KiB", v.options, v.letter, maxFormattedText>>10)
	}
	return fmt.Appendf(dst, v.spec(v.letter), s), nil
}

func (v verb) appendInteger(dst []byte, arg any) ([]byte, error) {
	if i, ok := value.Int(arg); ok {
		return fmt.Appendf(dst, v.spec(v.letter), i), nil
	}
	if value.IsNumber(arg) {
		r := rational(arg)
		if r == nil {
			return dst, errTooManyDigits
		}
		if r.IsInt() {
			return fmt.Appendf(dst, v.spec(v.letter), r.Num()), nil
		}
	}
	return dst, fmt.Errorf("%%%c takes an integer, got %s", v.letter, kindOf(arg))
}

func (v verb) appendFloat(dst []byte, arg any) ([]byte, error) {
	if !value.IsNumber(arg) {
		return dst, fmt.Errorf("%%%c takes a number, got %s", v.letter, kindOf(arg))
	}
	r := rational(arg)
	if r == nil {
		return dst, errTooManyDigits
	}
	if f, ok := arg.(float64); ok {
		return fmt.Appendf(dst, v.spec(v.letter), f), nil
	}
	return fmt.Appendf(dst, v.spec(v.letter), new(big.Float).SetPrec(512).SetRat(r)), nil
}

func formatList(c *Context, a []any) (any, error) {
	n := -1
	for i, v := range a[1:] {
		list, ok := v.([]any)
		if !ok {
			continue
		}
		if n >= 0 && len(list) != n {
			return nil, fmt.Errorf("value %d is a list of %d elements, but an earlier list has %d", i+1, len(list), n)
		}
		n = len(list)
	}
	if n < 0 { // without a list there is one result
		n = 1
	}
	if err := c.items(n); err != nil {
		return nil, err
	}
	out := make([]any, n)
	args := make([]any, len(a)-1)
	for i := range out {
		for j, v := range a[1:] {
			if list, ok := v.([]any); ok {
				v = list[i]
			}
			args[j] = v
		}
		s, err := sprintf(c, a[0].(string), args)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}
