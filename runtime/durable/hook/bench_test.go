package hook

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/observe/event"
)

// BenchmarkResult handles results that a hook selects, which are on the disk afterwards.
func BenchmarkResult(b *testing.B) {
	for name, open := range map[string]func(*testing.B) (state.Store, error){
		"sqlite": func(b *testing.B) (state.Store, error) {
			return state.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"))
		},
		"postgres": func(b *testing.B) (state.Store, error) {
			address, _ := postgrestest.Schema(b)
			return state.OpenPostgres(b.Context(), address)
		},
	} {
		b.Run(name, func(b *testing.B) {
			store, err := open(b)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			outbox := webhook.New(b.Context(), nil)
			to := webhook.Endpoint{Name: "ops", Retention: time.Hour}
			q := NewQueue(b.Context(), func(ctx context.Context, _ string, s *webhook.Series, e *webhook.Event, n int) error {
				return outbox.EnqueueSeries(ctx, store, to, s, e, n)
			})
			defer q.Close()
			for limit, block := range map[string]string{
				"minute": `on "tool_result" { notify = ["ops"] }`,
				"microsecond": `on "tool_result" {
					notify = ["ops"]
					limit  = "1000000/s"
				}`,
				"condition": `on "tool_result" {
					when   = "event.outcome == 'failed' || event.ms > 5000"
					notify = ["ops"]
				}`,
			} {
				h := hooksOf(b, q, silent, block)[0]
				data := []byte(`{"type":"tool_result","time":"2026-11-23T14:16:00.430532Z","revision":"7e9a487a0881bebfb8e5e184","process":"BE4G67RUENLA7WSZH77P7CCQA4","tool":"break","tool_call_id":"QVLLG65YNIL6YLXWNXF7GBHPSI","outcome":"ok","ms":12.044}`)
				handle := func() {
					h.Handle(b.Context(), &event.Meta{Kind: eventkind.ToolResult, Operation: "tool", Name: "x", Time: time.Now()}, data)
				}
				b.Run(limit+"/one", func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						handle()
					}
				})
				b.Run(limit+"/many", func(b *testing.B) {
					b.SetParallelism(8)
					b.RunParallel(func(p *testing.PB) {
						for p.Next() {
							handle()
						}
					})
				})
			}
		})
	}
}
