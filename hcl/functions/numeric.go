package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"

	"hatchel/hcl/value"
)

func numberFunctions() []Function {
	number, some := param("number", Number), param("number", Any).variadic()
	return []Function{
		New("abs", "Gives a number without its sign.", params(number), follow(SameAsFirst), abs),
		New("ceil", "Gives the nearest integer that is not less.", params(number), fixed(Integer), rounding(math.Ceil, up)),
		New("floor", "Gives the nearest integer that is not more.", params(number), fixed(Integer), rounding(math.Floor, down)),
		New("round", "Gives the nearest integer; a half goes away from zero.", params(number), fixed(Integer), rounding(math.Round, nearest)),
		New("signum", "Gives -1, 0 or 1 by the sign of a number.", params(number), fixed(Integer), func(_ *Context, a []any) (any, error) { return value.Compare(a[0], 0), nil }),
		New("pow", "Raises the first number to the power of the second.", params(number, param("power", Number)), fixed(Number), func(_ *Context, a []any) (any, error) { return Power(a[0], a[1]) }),
		New("log", "Gives the logarithm of the first number to the base of the second.", params(number, param("base", Number)), fixed(Number), logarithm),
		New("min", "Gives the least of numbers or of lists of numbers.", params(some), fixed(Number), extreme(-1)),
		New("max", "Gives the greatest of numbers or of lists of numbers.", params(some), fixed(Number), extreme(1)),
		New("sum", "Adds the numbers of a list; an empty list gives 0.", params(param("list", List)), fixed(Number), sum),
		New("parseint", "Reads an integer written in a base from 2 to 62.", params(param("text", String), param("base", Integer)), fixed(Integer), parseInt),
	}
}

func abs(_ *Context, a []any) (any, error) {
	if value.Compare(a[0], 0) < 0 {
		return Negate(a[0])
	}
	return a[0], nil
}

// rounding rounds a float64 by one function and an exact number by the other.
func rounding(float func(float64) float64, exact func(r *big.Rat) *big.Int) body {
	return func(_ *Context, a []any) (any, error) {
		switch v := a[0].(type) {
		case float64:
			r, err := rational(float(v))
			if err != nil {
				return nil, err
			}
			return fromInt(r.Num())
		case json.Number:
			r, err := rational(v)
			if err != nil {
				return nil, err
			}
			return fromInt(exact(r))
		}
		return a[0], nil
	}
}

func down(r *big.Rat) *big.Int { // Euclidean division rounds down for a positive denominator
	return new(big.Int).Div(r.Num(), r.Denom())
}

func up(r *big.Rat) *big.Int {
	i := down(new(big.Rat).Neg(r))
	return i.Neg(i)
}

func nearest(r *big.Rat) *big.Int {
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		return up(new(big.Rat).Sub(r, half))
	}
	return down(new(big.Rat).Add(r, half))
}

func logarithm(_ *Context, a []any) (any, error) {
	x, _ := value.Float(a[0])
	base, _ := value.Float(a[1])
	switch base {
	case 2:
		return whole(math.Log2(x))
	case 10:
		return whole(math.Log10(x))
	}
	return whole(math.Log(x) / math.Log(base))
}

func extreme(sign int) body {
	return func(_ *Context, a []any) (any, error) {
		var best any
		consider := func(v any) error {
			if !value.IsNumber(v) {
				return fmt.Errorf("every value must be a number, got %s", kindOf(v))
			}
			if best == nil || value.Compare(v, best)*sign > 0 {
				best = v
			}
			return nil
		}
		for _, v := range a {
			list, ok := v.([]any)
			if !ok {
				list = []any{v}
			}
			for _, e := range list {
				if err := consider(e); err != nil {
					return nil, err
				}
			}
		}
		if best == nil {
			return nil, errors.New("there are no numbers")
		}
		return best, nil
	}
}

func sum(_ *Context, a []any) (total any, err error) {
	total = 0
	for i, e := range a[0].([]any) {
		if !value.IsNumber(e) {
			return nil, fmt.Errorf("element %d must be a number, got %s", i, kindOf(e))
		}
		if total, err = Add(total, e); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func parseInt(_ *Context, a []any) (any, error) {
	s, base := a[0].(string), a[1].(int)
	if base < 2 || base > 62 {
		return nil, errors.New("the base must be 2 to 62")
	}
	if len(s) > maxDigits {
		return nil, errDigits
	}
	i, ok := new(big.Int).SetString(s, base)
	if !ok {
		return nil, fmt.Errorf("%q is not an integer in base %d", clip(s), base)
	}
	return fromInt(i)
}

// clip shortens a caller's text for an error.
func clip(s string) string {
	const most = 60
	if rest := afterCharacters(s, most); rest != "" {
		return s[:len(s)-len(rest)] + "…"
	}
	return s
}
