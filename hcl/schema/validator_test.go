package schema

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/hcl/value"
)

type deferred string

func (d deferred) AppendJSON(dst []byte) []byte { return append(dst, d...) }
func (d deferred) Value() (any, error)          { return value.Decode([]byte(d)) }

func TestCheckLeavesTheValueUntouched(t *testing.T) {
	typ := typeOf(t, `object({ n = integer, d = optional(string, "x"), o = optional(bool), l = list(integer), m = map(integer) })`)
	given := map[string]any{"n": 1e17, "o": nil, "l": []any{1, 1e17}, "m": map[string]any{"a": 1e17}}
	out, violations, _ := typ.Compile().Check(given, Unlimited)
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	if got := showJSON(out); got != `{"d":"x","l":[1,100000000000000000],"m":{"a":100000000000000000},"n":100000000000000000}` {
		t.Errorf("got %s", got)
	}
	if given["n"] != 1e17 || len(given) != 4 || given["l"].([]any)[1] != 1e17 || given["m"].(map[string]any)["a"] != 1e17 {
		t.Errorf("the value was changed: %v", given)
	}
}

func TestDeferredValuesAreDecodedOnlyWhereATypeLooks(t *testing.T) {
	typ := typeOf(t, `object({ a = any, b = list(integer), c = optional(object({ d = string })) })`)
	given := map[string]any{"a": deferred(`{"x":1}`), "b": []any{deferred("1"), deferred("2.0")}, "c": deferred(`{"d":5}`)}
	_, violations, _ := typ.Compile().Check(given, Unlimited)
	if len(violations) != 1 || violations[0].String() != "c.d: must be a string, got the number 5" {
		t.Errorf("got %v", violations)
	}
	given["c"] = deferred(`{"d":"x"}`)
	out, violations, _ := typ.Compile().Check(given, Unlimited)
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	m := out.(map[string]any)
	if _, still := m["a"].(deferred); !still || showJSON(m["b"]) != "[1,2]" {
		t.Errorf("got %v", m)
	}
}

func TestManyViolationsAreBounded(t *testing.T) {
	list := make([]any, 100_000)
	_, violations, _ := typeOf(t, "list(string)").Compile().Check(list, Unlimited)
	if len(violations) != maxViolations+1 || !strings.HasPrefix(violations[maxViolations].Message, "there are further violations") {
		t.Errorf("got %d violations", len(violations))
	}
}

func TestOpenedTypesLetAForeignAnswerGrow(t *testing.T) {
	typ := typeOf(t, "list(object({ a = integer }))").Opened()
	out, violations, _ := typ.Compile().Check([]any{map[string]any{"a": 1.0, "b": 2}}, Unlimited)
	if len(violations) > 0 || showJSON(out) != `[{"a":1,"b":2}]` {
		t.Errorf("got %s %v", showJSON(out), violations)
	}
}

func TestLargeSetsFindTheirRepetition(t *testing.T) {
	list := []any{}
	for i := range 1000 {
		list = append(list, map[string]any{"n": i})
	}
	check := typeOf(t, "set(any)").Compile()
	if _, violations, _ := check.Check(list, Unlimited); len(violations) > 0 {
		t.Fatal(violations)
	}
	_, violations, _ := check.Check(append(list, map[string]any{"n": 7.0}), Unlimited)
	if fmt.Sprint(violations) != "[must not repeat items; [1000] equals [7]]" {
		t.Errorf("got %v", violations)
	}
}

func TestTypicalArgumentsAllocateLittle(t *testing.T) {
	typ, _ := inputs(t, sixInputs)
	v := typ.Compile()
	raw := []byte(sixArguments)
	if n := testing.AllocsPerRun(100, func() { v.Arguments(raw, Unlimited) }); n > 24 {
		t.Errorf("%v allocations", n)
	}
}
