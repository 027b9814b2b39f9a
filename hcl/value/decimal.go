package value

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

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
