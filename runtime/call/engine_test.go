package call

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
)

// TestCallsThatUseTheMemoryOfOthersKnowNothingOfThem makes calls of different callers at once, whose texts and refusals
// have what only their own call knows.
func TestCallsThatUseTheMemoryOfOthersKnowNothingOfThem(t *testing.T) {
	p := compile(t, `
tool "t" {
  description = "Repeats."
  input "text" { type = string }
  input "more" { type = optional(string, "none") }
  locals { loud = upper(input.text) }
  check {
    that    = "len(input.text) < 40"
    message = "too long: ${input.text}"
  }
  text = "${local.loud} ${input.more} ${coalesce(caller.subject, "nobody")}"
}
`)
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for n := range 200 {
				text := fmt.Sprintf("w%d-%d", i, n)
				caller, raw := &mcp.Caller{}, fmt.Appendf(nil, `{"text":%q}`, text)
				want := strings.ToUpper(text) + " none nobody"
				switch n % 4 {
				case 1:
					caller.Subject = fmt.Sprint("s", i)
					raw, want = fmt.Appendf(nil, `{"text":%q,"more":"m"}`, text), strings.ToUpper(text)+" m "+caller.Subject
				case 2:
					text = strings.Repeat(text+"!", 20)
					raw, want = fmt.Appendf(nil, `{"text":%q}`, text), "too long: "+text
				}
				out, err := p.Run(t.Context(), &mcp.CallRequest{Name: "t", Arguments: raw, Caller: caller})
				if got := string(out.AppendResult(nil, mcp.Revision20251125)); err != nil || !strings.Contains(got, want) {
					t.Errorf("%v: %s, want %q", err, got, want)
					return
				}
			}
		})
	}
	calls.Wait()
}

// TestMemoryOfACallIsUsedAgainOnlyWhenNothingRefersToIt ends calls of every kind, and looks whether their memory was
// given away: it is zero then.
func TestMemoryOfACallIsUsedAgainOnlyWhenNothingRefersToIt(t *testing.T) {
	p := compile(t, uploadingTool)
	for name, refer := range map[string]func(*engine){
		"nothing":       func(*engine) {},
		"a step":        func(c *engine) { o := *c.operation.Decl; c.operation = &Operation{Decl: &o, Steps: []*Step{{}}} },
		"an approval":   func(c *engine) { c.approval = new(approvalState) },
		"a context":     func(c *engine) { c.clock.start(0); c.clock.stop() },
		"a cache":       func(c *engine) { c.reuse.cacheKey[0] = 1 },
		"uploads":       func(c *engine) { c.files.open(p.Env, &c.action) },
		"what a tracer": func(c *engine) { c.action.Trace = func(string, string) {} },
	} {
		c := begin(t, p, "anna")
		refer(c)
		c.recycle()
		if recycled := c.operation == nil; recycled != (name == "nothing") {
			t.Errorf("%s refers to it: its memory is used again: %v", name, recycled)
		}
		if c.operation == nil {
			*c = engine{operation: &p.Operation, frame: new(hcl.Frame)} // for the end of the test
		}
	}
}
