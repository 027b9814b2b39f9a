package trace

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"hatchel/adapters"
	"hatchel/internal/benchtest"
)

// BenchmarkCall traces a call of two steps. "cpu-ns/op" is the CPU time of the process, with that of what sends the
// spans, and of the collector, which reads them only.
func BenchmarkCall(b *testing.B) {
	received := make(chan struct{}, 4)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		received <- struct{}{}
	}))
	defer collector.Close()
	e, _ := openExporter(b, collector.URL)
	tracer := NewTracer(e, 1, 1_000_000_000)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	b.ReportAllocs()
	report := benchtest.ReportCPU(b)
	for calls := 1; b.Loop(); calls++ {
		call := tracer.Start("tools/call refund", parent)
		call.SetText("mcp.method.name", "tools/call")
		call.SetText("gen_ai.operation.name", "execute_tool")
		call.SetText("gen_ai.tool.name", "refund")
		call.SetText("network.transport", "tcp")
		call.SetText("mcp.protocol.version", "2026-07-28")
		call.SetText("jsonrpc.request.id", "17")
		call.SetText("mcp.session.id", "SCVZ3ZYPLTNXRKBFBDYHQZ7ZCQ")
		for _, name := range [...]string{"step fetch", "step store"} {
			step := call.Start(name, adapters.SpanInternal)
			step.SetText("hatchel.step.kind", "sql")
			step.End("")
		}
		call.SetText("hatchel.outcome", "ok")
		call.SetText("hatchel.rule", "policy.finance")
		call.SetText("hatchel.revision", "8142083b3f90f4fd71c87f14")
		call.End("")
		if calls%maxBatch == 0 { // for each batch of spans, so that none is dropped
			<-received
			<-received
			<-received
		}
	}
	e.Close()
	report()
	if n := e.dropped.Load(); n > 0 {
		b.Errorf("%d spans are dropped", n)
	}
}
