package value

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxDigits is how many digits a number may be written with, and the largest exponent. Computing with numbers takes
// time that grows with their digits, so that longer ones are no numbers anywhere.
const MaxDigits = 1000

var (
	errTooManyDigits = fmt.Errorf("a number of more than %d digits", MaxDigits)
	errExponent      = fmt.Errorf("a number with an exponent beyond %d", MaxDigits)
)

// CheckNumber returns an error for a JSON number with more than MaxDigits digits, or with an exponent beyond MaxDigits.
func CheckNumber[T string | []byte](text T) error {
	if len(text) <= len("1e99") {
		return nil
	}
	digits := 0
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			if digits++; digits > MaxDigits {
				return errTooManyDigits
			}
		case c == 'e' || c == 'E':
			if n := parseExponent(string(text[i+1:])); n > MaxDigits || n < -MaxDigits {
				return errExponent
			}
			return nil
		}
	}
	return nil
}

// ParseNumber returns the value of a JSON number: an int if it is an integer that fits, else a float64
// if it prints as the same number, else a json.Number. 1.0 and 1e3 are integers. The error is that of CheckNumber.
func ParseNumber(text string) (any, error) {
	if isInteger(text) {
		if i, err := strconv.Atoi(text); err == nil {
			return i, nil
		}
	}
	if err := CheckNumber(text); err != nil {
		return nil, err
	}
	digits := significantDigits(text)
	if digits > 17 { // no float64 needs as many
		return json.Number(text), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return json.Number(text), nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f), nil
	}
	if digits <= 15 && math.Abs(f) > 1e-300 || parseDecimal(text) == DecimalOf(f) {
		return f, nil // 15 digits are always kept
	}
	return json.Number(text), nil
}

// isInteger reports whether a number is written as an integer that may fit an int. The error of Atoi takes memory.
func isInteger(text string) bool {
	const longest = len("-9223372036854775808")
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c != '-' && c != '+' || i > 0) {
			return false
		}
	}
	return len(text) <= longest
}

// significantDigits returns how many digits of a number follow its leading zeros, without zeros at the end of a
// fraction. It may count more: zeros at the end of an integer.
func significantDigits(text string) (n int) {
	zeros := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == 'e' || c == 'E':
			return n
		case c == '0' && n == 0:
		case c == '0':
			zeros++
		case '1' <= c && c <= '9':
			n, zeros = n+zeros+1, 0
		}
	}
	return n
}

// Float returns a number as the nearest float64. It reports false for any other value.
func Float(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	}
	return 0, false
}

// Int returns a number as an int. It reports false unless it is an integer that fits.
func Int(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int(v), true
		}
	case json.Number:
		i, err := strconv.Atoi(string(v))
		return i, err == nil
	}
	return 0, false
}

// FormatFloat returns f in plain notation, or with an exponent if it is very large or very small.
func FormatFloat(f float64) string {
	if a := math.Abs(f); a == 0 || a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// IsNumber reports whether v is a number.
func IsNumber(v any) bool {
	switch v.(type) {
	case int, float64, json.Number:
		return true
	}
	return false
}

// IsFinite reports whether v is anything but NaN and the infinities, which arithmetic can produce.
func IsFinite(v any) bool {
	f, ok := v.(float64)
	return !ok || !math.IsNaN(f) && !math.IsInf(f, 0)
}

// Compare compares two finite numbers by their exact values. It returns a negative number if a < b,
// zero if they are equal, and a positive one if a > b.
func Compare(a, b any) int {
	x, xIsInt := a.(int)
	y, yIsInt := b.(int)
	if xIsInt && yIsInt {
		return cmp.Compare(x, y)
	}
	f, exactF := exactFloat(a)
	g, exactG := exactFloat(b)
	if exactF && exactG {
		return cmp.Compare(f, g)
	}
	return DecimalOf(a).Compare(DecimalOf(b))
}

// exactFloat returns a number that a float64 holds exactly. It reports false for other numbers.
func exactFloat(v any) (float64, bool) {
	const maxExact = 1 << 53 // every smaller integer is a float64
	switch v := v.(type) {
	case int:
		return float64(v), v > -maxExact && v < maxExact
	case float64:
		return v, true
	}
	return 0, false
}

// Decimal is the exact value of a number: 0.Digits × 10^Exp. Digits has no zeros at its ends and is
// empty for zero, so that two Decimals are the same number exactly if they are ==. A Decimal takes
// no more memory than the notation of the number.
type Decimal struct {
	Negative bool
	Digits   string
	Exp      int
}

// maxExponent replaces exponents that are larger. Such numbers differ by their digits only.
const maxExponent = 1 << 30

// DecimalOf returns the exact value of a finite number.
func DecimalOf(v any) Decimal {
	switch v := v.(type) {
	case int:
		return parseDecimal(strconv.Itoa(v))
	case float64:
		return parseDecimal(strconv.FormatFloat(v, 'e', -1, 64))
	case json.Number:
		return parseDecimal(string(v))
	}
	return Decimal{}
}

func parseDecimal(s string) Decimal {
	var d Decimal
	s, d.Negative = strings.CutPrefix(s, "-")
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, d.Exp = s[:i], parseExponent(s[i+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.Digits, d.Exp = whole+fraction, d.Exp+len(whole)
	trimmed := strings.TrimLeft(d.Digits, "0")
	d.Exp -= len(d.Digits) - len(trimmed)
	d.Digits = strings.TrimRight(trimmed, "0")
	if d.Digits == "" {
		return Decimal{}
	}
	return d
}

func parseExponent(s string) int {
	n, err := strconv.Atoi(s)
	switch {
	case err == nil:
		return min(max(n, -maxExponent), maxExponent)
	case s[0] == '-':
		return -maxExponent
	}
	return maxExponent
}

// Compare returns a negative number if d < o, zero if they are equal, and a positive one if d > o.
func (d Decimal) Compare(o Decimal) int {
	if s, t := d.sign(), o.sign(); s != t {
		return cmp.Compare(s, t)
	} else if s < 0 {
		d, o = o, d
	}
	return cmp.Or(cmp.Compare(d.Exp, o.Exp), strings.Compare(d.Digits, o.Digits))
}

func (d Decimal) sign() int {
	switch {
	case d.Digits == "":
		return 0
	case d.Negative:
		return -1
	}
	return 1
}

// IsInteger reports whether the number is an integer of any size.
func (d Decimal) IsInteger() bool { return d.Exp >= len(d.Digits) }

// Int returns the number as an int. It reports false unless it is an integer that fits.
func (d Decimal) Int() (int, bool) {
	if !d.IsInteger() || d.Exp > 20 {
		return 0, false
	}
	i, err := strconv.Atoi(d.IntegerText())
	return i, err == nil
}

// IntegerText returns an integer in plain notation, which takes Exp digits.
func (d Decimal) IntegerText() string {
	text := d.Digits + strings.Repeat("0", d.Exp-len(d.Digits))
	switch {
	case text == "":
		return "0"
	case d.Negative:
		return "-" + text
	}
	return text
}
