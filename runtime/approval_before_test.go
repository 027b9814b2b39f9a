package runtime

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
)

const observed = `
	input "amount" { type = number }
	input "card" {
		type      = string
		sensitive = true
	}
	approval {
		before "order" {
			fake {
				do    = "look up order"
				value = "paid ${input.amount} with ${input.card}"
			}
		}
		before "again" {
			fake { do = "look up more" }
		}
	}
	fake { do = "count" }
	text = "done"
`

func TestAnApproverIsShownTheStateBeforeWithoutSensitiveInputs(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	for _, c := range []struct {
		name string
		more func(context.Context, *adapters.Call) (any, error)
		want string
	}{
		{"a result", func(context.Context, *adapters.Call) (any, error) { return []any{1, "4711-0815"}, nil },
			`result [1,"(secret)"]`},
		{"a failure", func(context.Context, *adapters.Call) (any, error) {
			return nil, &adapters.Fault{Message: "no order of 4711-0815"}
		}, "error no order of (secret)"},
		{"a mistake of the server", func(context.Context, *adapters.Call) (any, error) { return nil, errors.New("host db7") },
			"error the before block failed because of a problem on the server"},
		{"a panic", func(context.Context, *adapters.Call) (any, error) { panic("host db7") },
			"error the before block failed because of a problem on the server"},
		{"much", func(context.Context, *adapters.Call) (any, error) { return strings.Repeat("x", 40<<10), nil },
			`result "\"xxxx`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.do["look up more"] = c.more
			h := newHost(t, tool("refund", observed), w.use)
			approver := newApprover(t, h)
			said := startCall(t, h, "ann", "refund", `{"amount":500,"card":"4711-0815"}`)
			a := approver.waitForPending(1)[0]
			if len(a.Before) != 2 || a.Before[0].Name != "order" || string(a.Before[0].Result) != `"paid 500 with (secret)"` {
				t.Fatalf("before %+v", a.Before)
			}
			got := "result " + string(a.Before[1].Result)
			if a.Before[1].Error != "" {
				got = "error " + a.Before[1].Error
			}
			if !strings.HasPrefix(got, c.want) || len(got) > 33<<10 {
				t.Errorf("got %.200s, want %s", got, c.want)
			}
			approver.decide(a, true, "")
			if got := <-said; isRefused(got) {
				t.Error(got)
			}
		})
	}
}

func TestALookThatTakesTooLongIsShownAsSuch(t *testing.T) {
	w := newFakeBackend()
	w.addCounter()
	w.do["look up more"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	inBubble(t, tool("refund", observed), w.use, func(t *testing.T, h *Host) {
		approver := newApprover(t, h)
		began := time.Now()
		said := startCall(t, h, "ann", "refund", `{"amount":500,"card":"4711-0815"}`)
		a := approver.waitForPending(1)[0]
		if took := time.Since(began); took > 6*time.Second || a.Before[1].Error != "it was not read within 5s" {
			t.Errorf("after %s: %+v", took, a.Before)
		}
		approver.decide(a, false, "")
		<-said
	})
}
