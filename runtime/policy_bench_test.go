package runtime

import (
	"fmt"
	"strings"
	"testing"

	"hatchel/runtime/mcp"
)

// ruled is a tool, and n rules that all have to be asked before it may be called.
func ruled(rules int) string {
	var b strings.Builder
	b.WriteString("tool \"pay\" {\n description = \"Pays.\"\n input \"amount\" { type = number }\n input \"vendor\" { type = string }\n text = \"${input.amount} ${input.vendor}\"\n}\n")
	kinds := []string{
		`deny = "input.amount > %d"`, `deny = "'blocked' in caller.groups"`, `deny = "tool.destructive && caller.subject == 'guest%d'"`,
		`allow = "'team%d' in caller.groups"`, `deny = "input.vendor startsWith 'x%d'"`,
	}
	for i := range rules {
		kind := kinds[i%len(kinds)]
		if strings.Contains(kind, "%d") {
			kind = fmt.Sprintf(kind, 1000+i)
		}
		fmt.Fprintf(&b, "policy \"p%02d\" { %s }\n", i, kind)
	}
	return b.String()
}

// payer is a caller whom the last of the policies lets pay.
func payer(rules int) *mcp.Caller {
	groups := []string{"one", "two"}
	for i := range rules {
		if i%5 == 3 {
			groups = []string{"one", "two", fmt.Sprintf("team%d", 1000+i)}
		}
	}
	return &mcp.Caller{Subject: "ada", Identity: &mcp.Identity{Subject: "ada", Groups: groups}}
}

func BenchmarkPolicies(b *testing.B) {
	for _, rules := range []int{0, 20} {
		b.Run(fmt.Sprintf("%d_rules", rules), func(b *testing.B) {
			h := newWorld().host(b, ruled(rules))
			defer h.Close()
			req := &mcp.CallRequest{Name: "pay", Arguments: []byte(`{"amount": 12.5, "vendor": "north"}`), Caller: payer(rules)}
			b.ReportAllocs()
			for b.Loop() {
				out, err := h.CallTool(b.Context(), req)
				if err != nil || out.IsError {
					b.Fatalf("%v %s", err, out.AppendResult(nil, mcp.Revision20251125))
				}
				out.AppendResult(nil, mcp.Revision20251125)
			}
		})
	}
}
