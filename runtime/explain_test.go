package runtime

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

// randomRules returns random rules about the tools of the test.
func randomRules(r *rand.Rand) string {
	conditions := []string{"true", "false", "'a' in caller.groups", "'b' in caller.groups", "input.amount > 5", "caller.claims.level > 1", "caller.subject == 'eve'", "len(caller.groups) > 1"}
	one := func() string { return conditions[r.IntN(len(conditions))] }
	var b strings.Builder
	if r.IntN(4) == 0 {
		b.WriteString("server {\n default = \"deny\"\n}\n")
	}
	for i := range r.IntN(4) {
		fmt.Fprintf(&b, "policy \"p%d\" {\n tools = [\"p*\"]\n", i)
		which := 1 + r.IntN(3)
		if which&1 != 0 {
			fmt.Fprintf(&b, " allow = %q\n", one())
		}
		if which&2 != 0 {
			fmt.Fprintf(&b, " deny = %q\n", one())
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, " message = \"No, by %d.\"\n", i)
		}
		b.WriteString("}\n")
	}
	b.WriteString("tool \"pay\" {\n description = \"Pays.\"\n input \"amount\" { type = number }\n")
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, " allow = %q\n", one())
	}
	b.WriteString(" text = \"paid ${input.amount}\"\n}\n")
	return b.String()
}

func TestWhatIsExplainedIsWhatHappens(t *testing.T) {
	const rounds = 150
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	callers := []*mcp.Caller{{Revision: mcp.Revision20260728}, callerOf("ada", "a"), callerOf("bob", "b"), callerOf("cid", "a", "b"), callerOf("eve")}
	h := newHost(t, "")
	verdicts := map[string]int{}
	for range rounds {
		src := randomRules(r)
		load(t, h, src)
		for _, caller := range callers {
			listed := len(h.List(t.Context(), caller, mcp.Tools).Names()) == 1
			for _, arguments := range []string{`{"amount":1}`, `{"amount":9}`, `{"amount":"much"}`, `{}`} {
				req := &mcp.CallRequest{Name: "pay", Arguments: []byte(arguments), Caller: caller}
				e, err := h.Current().Explain(t.Context(), "tool", req)
				if err != nil {
					t.Fatal(err)
				}
				said, well := callText(t, h, req)
				verdicts[e.Verdict]++
				agree := e.Listed == listed
				switch {
				case e.Verdict == "allowed" && e.Invalid == "":
					agree = agree && well && strings.HasPrefix(said, "paid")
				case e.Verdict == "denied" && e.Invalid == "":
					agree = agree && !well && said == e.Message
				default:
					agree = agree && !well && said == e.Invalid
				}
				if !agree {
					t.Errorf("seed %d, %s calls with %s: explained as %+v, listed %t, told %q, under\n%s", seed, caller.Subject, arguments, e, listed, said, src)
					return
				}
			}
		}
	}
	if verdicts["allowed"] == 0 || verdicts["denied"] == 0 || verdicts[""] == 0 {
		t.Errorf("not all verdicts came up: %v", verdicts)
	}
}
