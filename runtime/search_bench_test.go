package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/edge/mcp"
)

// BenchmarkSearchesOfCallers reports the duration that 99 of 100 calls of find_tools do not exceed, among 1,000 tools of
// which each caller sees others: by 20 policies, and by a rule of each tool.
func BenchmarkSearchesOfCallers(b *testing.B) {
	verbs := []string{"create", "update", "delete", "list", "get", "approve", "archive", "assign", "close", "export"}
	things := []string{"order", "invoice", "customer", "ticket", "refund", "shipment", "payment", "employee", "vendor", "contract"}
	fields := []string{"status", "label", "owner", "comment", "address", "limit", "report", "schedule", "note", "history"}
	var src strings.Builder
	for i := range 1000 {
		verb, thing, field := verbs[i%10], things[i/10%10], fields[i/100]
		fmt.Fprintf(&src, "tool \"%[1]s_%[2]s_%[3]s\" {\n description = \"%[1]s the %[3]s of a %[2]s by its number.\"\n"+
			" allow = \"'no-%[2]s' not in caller.groups\"\n text = \"x\"\n}\n", verb, thing, field)
	}
	for i := range 20 {
		fmt.Fprintf(&src, "policy \"p%d\" {\n tools = [\"*_%s_*\"]\n deny = \"'g%d' in caller.groups\"\n}\n", i, things[i%10], i)
	}
	src.WriteString("toolset \"all\" {\n tools = [\"*\"]\n search { areas = \"Orders and what belongs to them\" }\n}\n")
	h := newHost(b, src.String())
	queries := []string{"approve a customer's refund", "Which invoices are not paid?", "list", "history of an order by its number"}
	var callers []*mcp.Caller
	for i := range 10 {
		c := callerOf("ada", fmt.Sprintf("g%d", i), "no-"+things[9-i])
		c.Toolset = "all"
		callers = append(callers, c)
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		out, err := h.CallTool(b.Context(), &mcp.CallRequest{
			Name: "find_tools", Arguments: fmt.Appendf(nil, `{"query":%q}`, queries[i%len(queries)]), Caller: callers[i%len(callers)],
		})
		took = append(took, time.Since(begin))
		if err != nil || out.IsError {
			b.Fatal(err, out)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
