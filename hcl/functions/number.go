package functions

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

func abs(_ *Context, a []any) (any, error) {
	if value.Compare(a[0], 0) < 0 {
		return Negate(a[0])
	}
	return a[0], nil
}

func signum(_ *Context, a []any) (any, error) { return value.Compare(a[0], 0), nil }

func pow(_ *Context, a []any) (any, error) { return Power(a[0], a[1]) }

func rounding(round func(r *big.Rat) *big.Int) impl {
	return func(_ *Context, a []any) (any, error) {
		if _, ok := a[0].(int); ok {
			return a[0], nil
		}
		r := rational(a[0])
		if r == nil {
			return nil, errTooManyDigits
		}
		return fromInt(round(r))
	}
}

func floor(r *big.Rat) *big.Int { // Euclidean division rounds down for a positive denominator
	return new(big.Int).Div(r.Num(), r.Denom())
}

func ceil(r *big.Rat) *big.Int {
	i := floor(new(big.Rat).Neg(r))
	return i.Neg(i)
}

func round(r *big.Rat) *big.Int {
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		return ceil(new(big.Rat).Sub(r, half))
	}
	return floor(new(big.Rat).Add(r, half))
}

func logarithm(_ *Context, a []any) (any, error) {
	x, base := floats(a[0], a[1])
	switch base {
	case 2:
		return fromFloat(math.Log2(x))
	case 10:
		return fromFloat(math.Log10(x))
	}
	return fromFloat(math.Log(x) / math.Log(base))
}

// extreme returns a function for the largest number if sign is 1, and for the smallest if it is -1.
func extreme(sign int) impl {
	return func(c *Context, a []any) (any, error) {
		var best any
		for _, v := range a {
			list, ok := v.([]any)
			if !ok {
				list = []any{v}
			}
			for _, e := range list {
				if err := c.Step(value.Elements(e) + value.Elements(best)); err != nil {
					return nil, err
				}
				if !value.IsNumber(e) {
					return nil, fmt.Errorf("every value must be a number, got %s", kindOf(e))
				}
				if best == nil || value.Compare(e, best)*sign > 0 {
					best = e
				}
			}
		}
		if best == nil {
			return nil, errors.New("there are no numbers")
		}
		return best, nil
	}
}

func sum(c *Context, a []any) (total any, err error) {
	total = 0
	for i, e := range a[0].([]any) {
		if err := c.Step(value.Elements(e) + value.Elements(total)); err != nil {
			return nil, err
		}
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
	if len(s) > value.MaxDigits {
		return nil, errTooManyDigits
	}
	i, ok := new(big.Int).SetString(s, base)
	if !ok {
		return nil, fmt.Errorf("%q is not an integer in base %d", jsonscan.Excerpt(s), base)
	}
	return fromInt(i)
}
