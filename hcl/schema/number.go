package schema

import (
	"encoding/json"
	"math/big"

	"hatchel/hcl/value"
)

// maxIntegerDigits is how many digits an integer may have to be written without an exponent.
const maxIntegerDigits = 400

// integerOf returns a whole number as an int, or as its digits where an int cannot hold it.
func integerOf(v any) (any, bool) {
	if i, ok := v.(int); ok {
		return i, true
	}
	d := value.DecimalOf(v)
	if !d.IsInteger() {
		return v, false
	}
	if i, ok := d.Int(); ok {
		return i, true
	}
	if d.Exp > maxIntegerDigits {
		return v, true
	}
	return json.Number(d.IntegerText()), true
}

// isMultiple reports whether n is an exact integer multiple of step.
func isMultiple(n, step any) bool {
	if a, ok := n.(int); ok {
		if b, ok := step.(int); ok {
			return a%b == 0
		}
	}
	a, b := value.DecimalOf(n), value.DecimalOf(step)
	if a.Digits == "" {
		return true
	}
	shift := (a.Exp - len(a.Digits)) - (b.Exp - len(b.Digits))
	if shift < 0 {
		return false // a's last digit is not 0, and a multiple would have to end in zeros
	}
	x, _ := new(big.Int).SetString(a.Digits, 10)
	m, _ := new(big.Int).SetString(b.Digits, 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), m)
	return x.Mul(x, power).Mod(x, m).Sign() == 0
}
