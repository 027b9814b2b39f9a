package exprlang

import (
	"testing"

	"github.com/expr-lang/expr"

	"hatchel/hcl/value"
)

// Sources that both accept mean what they mean to expr's own machine.
func TestProgramsMeanWhatExprMeans(t *testing.T) {
	for _, src := range []string{
		`1 + 2 * 3 - 4`, `2 ** 3 ** 2`, `-2 ^ 2`, `7 % 3`, `7 / 2`, `1 < 2 && 2 < 3 || false`, `not true or true`, `!(1 > 2)`, `1 < 2 < 3`,
		`"a" + "b" == "ab"`, `"abc" contains "b"`, `"abc" startsWith "b"`, `"abc" endsWith "c"`, `"abc" matches "^a"`, `"x" not in ["y"]`, `1 in [1, 2]`, `"a" in {a: 1}`,
		`1..4`, `4..1`, `[1, 2, 3][1]`, `[1, 2, 3][-1]`, `[1, 2, 3][1:]`, `[1, 2, 3][:-1]`, `[1, 2, 3][2:1]`, `{a: {b: 1}}.a.b`, `{a: 1}["a"]`,
		`true ? 1 : 2`, `false ? 1 : true ? 2 : 3`, `nil ?? 5`, `{a: nil}.a?.b.c`, `{a: nil}?.a ?? 3`, `let x = 5; let y = x + 1; x * y`, `if 1 > 2 { 1 } else if true { 2 } else { 3 }`,
		`filter(1..9, # % 2 == 0)`, `map(1..3, # * 2)`, `map(1..3, {let x = #; x + #index})`, `all(1..3, # > 0)`, `any(1..3, # > 2)`, `none(1..3, # > 3)`, `one(1..3, # > 2)`,
		`count(1..9, # > 4)`, `sum(1..4)`, `sum(1..4, # * 2)`, `find(1..9, # > 4)`, `findIndex(1..9, # > 4)`, `findLast(1..9, # < 4)`, `findLastIndex(1..9, # < 4)`, `find([1], # > 2)`,
		`reduce(1..5, #acc + #)`, `reduce(1..5, #acc + #, 10)`, `reduce([3, 4], #acc + #index)`, `sortBy([{a: 2}, {a: 1}], .a)`, `sortBy([{a: 1}, {a: 2}], .a, "desc")`, `groupBy(["aa", "b"], #)`,
		`first([1, 2])`, `last([1, 2])`, `first([])`, `take([1, 2, 3], 2)`, `reverse([1, 2])`, `concat([1], [2])`, `flatten([1, [2, [3]]])`, `uniq([1, 1, 2])`, `sort([2, 1])`, `sort([2, 1], "desc")`,
		`len("abc")`, `len([1])`, `len({a: 1})`, `max(1, 5)`, `min([3, 2])`, `mean([1, 2])`, `median([1, 3, 2])`, `abs(-5)`, `ceil(1.5)`, `floor(1.5)`, `round(2.5)`, `int("5")`, `int(2.9)`, `float("1.5")`,
		`upper("a")`, `lower("A")`, `trim(" a ", " ")`, `repeat("a", 3)`, `replace("aXa", "a", "b")`, `indexOf("abc", "c")`, `lastIndexOf("abca", "a")`, `fromBase64(toBase64("a"))`, `fromJSON("[1]")`,
		`toPairs({a: 1})`, `fromPairs([["a", 1]])`, `keys({a: 1})`, `values({a: 1})`, `get([1], 0)`, `get([1], 9)`, `get({a: 1}, "a")`, `bitand(6, 3)`, `bitnot(5)`, `bitushr(-5, 2)`, `string(5)`,
		`[1, 2] | map(# + 1) | filter(# > 2)`, `0x2A + 0b11 + 0o17 + 1_000`, `.5 + 1e3`, "`raw\\d`",
	} {
		theirs, err := expr.Eval(src, map[string]any{})
		if err != nil {
			t.Errorf("%s: expr refuses it: %v", src, err)
			continue
		}
		ours, err := run(t, src, Env{}, nil)
		if err != nil || !value.Equal(ours, native(theirs)) {
			t.Errorf("%s: %v (%v), expr says %v", src, ours, err, theirs)
		}
	}
}

// native brings what expr's machine gives into the value model.
func native(v any) any {
	switch v := v.(type) {
	case []int:
		return each(v)
	case []string:
		return each(v)
	case []any:
		return each(v)
	case [][2]any:
		return each(v)
	case [2]any:
		return each(v[:])
	case map[string]any:
		for k, e := range v {
			v[k] = native(e)
		}
		return v
	case map[any]any:
		m := map[string]any{}
		for k, e := range v {
			m[k.(string)] = native(e)
		}
		return m
	case map[any][]any:
		m := map[string]any{}
		for k, e := range v {
			m[k.(string)] = native(e)
		}
		return m
	}
	return v
}

func each[T any](list []T) any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = native(e)
	}
	return out
}
