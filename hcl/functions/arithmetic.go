package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"

	"hatchel/hcl/value"
)

// Arithmetic of both languages. Integers stay integers: a result that does not fit an int becomes
// an exact json.Number. A float64 is used with its precision; a json.Number is used exactly by Add,
// Subtract and Multiply.

var (
	errTooManyDigits = fmt.Errorf("the number has more than %d digits", value.MaxDigits)
	errDivideByZero  = errors.New("division by zero")
	errNotFinite     = errors.New("the result is not a finite number")
)

// maxBits is how many bits a number of value.MaxDigits digits has at most.
const maxBits = value.MaxDigits*10/3 + 1

// Add returns the sum of two numbers.
func Add(a, b any) (any, error) {
	if x, y, ok := ints(a, b); ok {
		if s := x + y; (s > x) == (y > 0) {
			return s, nil
		}
	}
	return compute(a, b, func(x, y float64) float64 { return x + y }, (*big.Rat).Add)
}

// Subtract returns the difference of two numbers.
func Subtract(a, b any) (any, error) {
	if x, y, ok := ints(a, b); ok {
		if d := x - y; (d < x) == (y > 0) {
			return d, nil
		}
	}
	return compute(a, b, func(x, y float64) float64 { return x - y }, (*big.Rat).Sub)
}

// Multiply returns the product of two numbers.
func Multiply(a, b any) (any, error) {
	if x, y, ok := ints(a, b); ok {
		hi, lo := bits.Mul64(magnitude(x), magnitude(y))
		if hi == 0 && lo <= math.MaxInt64 {
			return x * y, nil
		}
	}
	return compute(a, b, func(x, y float64) float64 { return x * y }, (*big.Rat).Mul)
}

// Divide returns the quotient of two numbers: an int if it is an integer, else a float64.
func Divide(a, b any) (any, error) {
	if x, y, ok := ints(a, b); ok && y != 0 && x%y == 0 && (x != math.MinInt || y != -1) {
		return x / y, nil
	}
	x, y := floats(a, b)
	if y == 0 {
		return nil, errDivideByZero
	}
	return fromFloat(x / y)
}

// Modulo returns the remainder of the division of two numbers, with the sign of the first.
func Modulo(a, b any) (any, error) {
	if x, y, ok := ints(a, b); ok && y != 0 {
		if y == -1 {
			return 0, nil
		}
		return x % y, nil
	}
	x, y := floats(a, b)
	if y == 0 {
		return nil, errDivideByZero
	}
	return fromFloat(math.Mod(x, y))
}

// Power returns a to the power of b. It is exact for integers with a small non-negative exponent,
// and a float64 otherwise.
func Power(a, b any) (any, error) {
	if x, y, ok := ints(a, b); ok && y >= 0 && y <= value.MaxDigits {
		if float64(y)*math.Log10(math.Abs(float64(x))) < value.MaxDigits {
			return fromInt(new(big.Int).Exp(big.NewInt(int64(x)), big.NewInt(int64(y)), nil))
		}
	}
	x, y := floats(a, b)
	return fromFloat(math.Pow(x, y))
}

// Negate returns the negative of a number.
func Negate(v any) (any, error) { return Subtract(0, v) }

func ints(a, b any) (x, y int, ok bool) {
	if x, ok = a.(int); ok {
		y, ok = b.(int)
	}
	return x, y, ok
}

func floats(a, b any) (x, y float64) {
	x, _ = value.Float(a)
	y, _ = value.Float(b)
	return x, y
}

func magnitude(x int) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// compute applies one function if a or b is a float64, and the other one to exact numbers.
func compute(a, b any, float func(x, y float64) float64, exact func(z, x, y *big.Rat) *big.Rat) (any, error) {
	_, floatA := a.(float64)
	_, floatB := b.(float64)
	if floatA || floatB {
		return fromFloat(float(floats(a, b)))
	}
	x, y := rational(a), rational(b)
	if x == nil || y == nil {
		return nil, errTooManyDigits
	}
	return fromRational(exact(new(big.Rat), x, y))
}

// rational returns a number exactly, or nil for one that would be huge, such as 1e999999999.
func rational(v any) *big.Rat {
	switch v := v.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(v))
	case float64:
		return new(big.Rat).SetFloat64(v)
	case json.Number:
		d := value.DecimalOf(v)
		if len(d.Digits) <= value.MaxDigits && d.Exp <= value.MaxDigits && d.Exp >= -value.MaxDigits {
			r, _ := new(big.Rat).SetString(string(v))
			return r
		}
	}
	return nil
}

// fromFloat returns f as a value: an int if it is an integer that a float64 holds exactly.
func fromFloat(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errNotFinite
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f), nil
	}
	return f, nil
}

func fromRational(r *big.Rat) (any, error) {
	if r.IsInt() {
		return fromInt(r.Num())
	}
	digits, exact := r.FloatPrec()
	if !exact || digits > value.MaxDigits || r.Num().BitLen() > 2*maxBits {
		return nil, errTooManyDigits
	}
	n, err := value.ParseNumber(strings.TrimRight(r.FloatString(digits), "0"))
	if err != nil {
		return nil, errTooManyDigits
	}
	return n, nil
}

func fromInt(i *big.Int) (any, error) {
	if i.IsInt64() {
		return int(i.Int64()), nil
	}
	if i.BitLen() > maxBits {
		return nil, errTooManyDigits
	}
	n, err := value.ParseNumber(i.String())
	if err != nil {
		return nil, errTooManyDigits
	}
	return n, nil
}
