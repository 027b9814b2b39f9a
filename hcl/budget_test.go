package hcl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hatchel/hcl/functions"
)

// A loop writes a value once a round, so that two arguments of ordinary size could fill any memory.
func TestLoopsHoldToTheBudgetOfTheCall(t *testing.T) {
	for _, expression := range []string{
		`"%{for x in input.list}${input.s}%{endfor}"`,
		`"%{for x in input.list}%{for y in input.list}${x}%{endfor}%{endfor}"`,
		`"%{for x in input.list}%{for y in input.list}%{if input.ok}text that is long, again and again%{endif}%{endfor}%{endfor}"`,
		`"%{for x in input.list}${input.map}%{endfor}"`,
		`[for x in input.list : input.s]`,
		`[for x in input.list : { a = [input.s] }]`,
		`[for x in input.list : [for y in input.list : 1]]`,
		`[for x in input.list : try([for y in input.list : input.s], 1)]`,
		`{ for i, x in input.list : "${i}" => input.s }`,
		`input.list[*][input.n - 7][*]`,
	} {
		e, diags := compileValue(t, expression)
		if len(diags) > 0 {
			t.Errorf("%s: %s: %s", expression, diags[0].Summary, diags[0].Detail)
			continue
		}
		f := callFrame(t.Context())
		f.Input["s"] = strings.Repeat("x", 1<<20)
		list := make([]any, 5000)
		for i := range list {
			list[i] = []any{f.Input["s"]}
		}
		f.Input["list"] = list
		f.Input["map"] = map[string]any{"a": f.Input["s"]}
		if _, err := e.Eval(f); !errors.Is(err, functions.ErrMemory) {
			t.Errorf("%s ends with %v", expression, err)
		}
	}
}

func TestALoopEndsWithItsCall(t *testing.T) {
	e, diags := compileValue(t, `[for x in input.list : 1]`)
	if len(diags) > 0 {
		t.Fatal(diags[0].Detail)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := e.Eval(callFrame(ctx)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the loop ends with %v", err)
	}
}
