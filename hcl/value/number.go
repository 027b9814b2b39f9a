package value

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
)

// ParseNumber returns the value of a JSON number: an int if it is an integer that fits, else a float64
// if it prints as the same number, else a json.Number. 1.0 and 1e3 are integers.
func ParseNumber(text string) any {
	if i, err := strconv.Atoi(text); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return json.Number(text)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f)
	}
	if parseDecimal(text) == DecimalOf(f) {
		return f
	}
	return json.Number(text)
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
	const maxExact = 1 << 53 // every smaller integer is a float64
	switch x := a.(type) {
	case int:
		switch y := b.(type) {
		case int:
			return cmp.Compare(x, y)
		case float64:
			if x > -maxExact && x < maxExact {
				return cmp.Compare(float64(x), y)
			}
		}
	case float64:
		switch y := b.(type) {
		case float64:
			return cmp.Compare(x, y)
		case int:
			if y > -maxExact && y < maxExact {
				return cmp.Compare(x, float64(y))
			}
		}
	}
	return DecimalOf(a).Compare(DecimalOf(b))
}
