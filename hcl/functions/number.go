package functions

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strings"

	"hatchel/hcl/value"
)

// The arithmetic of both languages. Integers stay integers: a result that no int holds becomes its exact json.Number.
// A float64 takes part with the precision it has; a json.Number takes part exactly in +, - and *.

var (
	errDigits = errors.New("the number has too many digits")
	errZero   = errors.New("division by zero")
	errFinite = errors.New("the result is not a finite number")
)

const maxDigits = 4096

// Add returns a + b. Both are numbers.
func Add(a, b any) (any, error) {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			if s := x + y; (s > x) == (y > 0) {
				return s, nil
			}
		}
	}
	return compute(a, b, func(x, y float64) float64 { return x + y }, (*big.Rat).Add)
}

// Subtract returns a - b. Both are numbers.
func Subtract(a, b any) (any, error) {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			if d := x - y; (d < x) == (y > 0) {
				return d, nil
			}
		}
	}
	return compute(a, b, func(x, y float64) float64 { return x - y }, (*big.Rat).Sub)
}

// Multiply returns a * b. Both are numbers.
func Multiply(a, b any) (any, error) {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			hi, lo := bits.Mul64(magnitude(x), magnitude(y))
			if hi == 0 && lo <= math.MaxInt64 {
				return x * y, nil
			}
		}
	}
	return compute(a, b, func(x, y float64) float64 { return x * y }, (*big.Rat).Mul)
}

func magnitude(x int) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// Divide returns a / b: an int where the quotient is whole, else a float64. Both are numbers.
func Divide(a, b any) (any, error) {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok && y != 0 && x%y == 0 && (x != math.MinInt || y != -1) {
			return x / y, nil
		}
	}
	x, _ := value.Float(a)
	y, _ := value.Float(b)
	if y == 0 {
		return nil, errZero
	}
	return whole(x / y)
}

// Modulo returns the remainder of a / b, with the sign of a. Both are numbers.
func Modulo(a, b any) (any, error) {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok && y != 0 {
			if y == -1 {
				return 0, nil
			}
			return x % y, nil
		}
	}
	x, _ := value.Float(a)
	y, _ := value.Float(b)
	if y == 0 {
		return nil, errZero
	}
	return whole(math.Mod(x, y))
}

// Power returns a raised to b: exact for integers with a small exponent that is not negative, else a float64.
func Power(a, b any) (any, error) {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok && y >= 0 && y <= maxDigits {
			if float64(y)*math.Log10(math.Abs(float64(x))) < maxDigits {
				return fromInt(new(big.Int).Exp(big.NewInt(int64(x)), big.NewInt(int64(y)), nil))
			}
		}
	}
	x, _ := value.Float(a)
	y, _ := value.Float(b)
	return whole(math.Pow(x, y))
}

// Negate returns -v. It is a number.
func Negate(v any) (any, error) { return Subtract(0, v) }

func compute(a, b any, float func(x, y float64) float64, exact func(z, x, y *big.Rat) *big.Rat) (any, error) {
	_, fa := a.(float64)
	_, fb := b.(float64)
	if fa || fb {
		x, _ := value.Float(a)
		y, _ := value.Float(b)
		return whole(float(x, y))
	}
	x, err := rational(a)
	if err != nil {
		return nil, err
	}
	y, err := rational(b)
	if err != nil {
		return nil, err
	}
	return fromRational(exact(new(big.Rat), x, y))
}

// whole returns f in the form that the value model has for it.
func whole(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errFinite
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f), nil
	}
	return f, nil
}

// rational refuses numbers whose exact form would be huge: 1e999999999 is eleven characters.
func rational(v any) (*big.Rat, error) {
	switch v := v.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(v)), nil
	case float64:
		return new(big.Rat).SetFloat64(v), nil
	case json.Number:
		d := value.DecimalOf(v)
		if len(d.Digits) > maxDigits || d.Exp > maxDigits || d.Exp < -maxDigits {
			return nil, errDigits
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return r, nil
		}
	}
	return nil, errDigits
}

func fromRational(r *big.Rat) (any, error) {
	if r.IsInt() {
		return fromInt(r.Num())
	}
	digits, exact := r.FloatPrec()
	if !exact || digits > maxDigits || r.Num().BitLen() > maxDigits*4 {
		return nil, errDigits
	}
	return value.Number(strings.TrimRight(r.FloatString(digits), "0")), nil
}

func fromInt(i *big.Int) (any, error) {
	if i.IsInt64() {
		return int(i.Int64()), nil
	}
	if i.BitLen() > maxDigits*3 {
		return nil, errDigits
	}
	return json.Number(i.String()), nil
}
