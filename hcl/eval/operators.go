package eval

import (
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

// arithmetic are the operators that compute a number from two. They are exact: integers that leave
// the range of int, and decimals that a float64 does not hold, keep their digits.
var arithmetic = map[string]func(a, b any) (any, error){
	"+": functions.Add, "-": functions.Subtract, "*": functions.Multiply, "/": functions.Divide,
	"%": functions.Modulo, "^": functions.Power, "**": functions.Power,
}

// Arithmetic returns what an operator computes from two numbers, or nil if it is none of
// arithmetic.
func Arithmetic(op string) func(a, b any) (any, error) { return arithmetic[op] }

// ArithmeticType is the type of what an operator computes from numbers of two types.
func ArithmeticType(op string, a, b *schema.Type) *schema.Type {
	if a.Kind == schema.Integer && b.Kind == schema.Integer && (op == "+" || op == "-" || op == "*" || op == "%") {
		return IntegerType
	}
	return NumberType
}

var orderings = map[string]func(order int) bool{
	"<":  func(order int) bool { return order < 0 },
	"<=": func(order int) bool { return order <= 0 },
	">":  func(order int) bool { return order > 0 },
	">=": func(order int) bool { return order >= 0 },
}

// Ordering returns how an operator judges the order of two values, which is negative when the first
// is less, or nil if it is no ordering.
func Ordering(op string) func(order int) bool { return orderings[op] }
