package value

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// A Decimal is the exact value of a number: 0.Digits × 10^Exp. Digits has no zeros at its ends, and none at all for zero, so that two Decimals
// are the same number exactly when they are ==. It takes no more memory than the number's notation, however large the number.
type Decimal struct {
	Negative bool
	Digits   string
	Exp      int
}

// farExponent stands for exponents that are larger: such numbers are told apart by their digits alone.
const farExponent = 1 << 30

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
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > farExponent || n < -farExponent {
			n = farExponent
			if exponent[0] == '-' {
				n = -farExponent
			}
		}
		d.Exp = n
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

// Compare is negative when d < o, zero when they are equal, positive when d > o.
func (d Decimal) Compare(o Decimal) int {
	if s, t := d.sign(), o.sign(); s != t {
		return cmp.Compare(s, t)
	} else if s < 0 {
		d, o = o, d
	}
	if d.Exp != o.Exp {
		return cmp.Compare(d.Exp, o.Exp)
	}
	return strings.Compare(d.Digits, o.Digits)
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

// Whole reports whether the number is an integer of any size.
func (d Decimal) Whole() bool { return d.Exp >= len(d.Digits) }

// Integer returns a number that is an integer and fits an int.
func (d Decimal) Integer() (int, bool) {
	if !d.Whole() || d.Exp > 20 {
		return 0, false
	}
	i, err := strconv.Atoi(d.Text())
	return i, err == nil
}

// Text writes a whole number without an exponent. It has Exp digits.
func (d Decimal) Text() string {
	text := d.Digits + strings.Repeat("0", d.Exp-len(d.Digits))
	switch {
	case text == "":
		return "0"
	case d.Negative:
		return "-" + text
	}
	return text
}
