//go:build unix

package http_test

import (
	"io"
	nethttp "net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl"
)

var kilobyte = `{"rows": [` + strings.Repeat(`{"id": 1001, "name": "A vendor"}, `, 29) + `{"id": 1}]}`

// accounted runs a benchmark and adds what the operating system accounts: processor time is what a call costs, whatever else the machine does.
func accounted(b *testing.B, body func(*testing.PB)) {
	var before, after syscall.Rusage
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	b.RunParallel(body)
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(spent)/float64(b.N)/1e3, "cpu-µs/op")
}

// BenchmarkGet compares a GET of 1 KB through the adapter with a pooled client of net/http that reads the same body.
func BenchmarkGet(b *testing.B) {
	s := serve(b, respond(kilobyte))
	s.Config.Handler = respond(kilobyte)
	b.Run("floor", func(b *testing.B) {
		client := &nethttp.Client{Transport: &nethttp.Transport{MaxIdleConnsPerHost: 64}}
		defer client.CloseIdleConnections()
		accounted(b, func(pb *testing.PB) {
			for pb.Next() {
				req, err := nethttp.NewRequestWithContext(b.Context(), nethttp.MethodGet, s.URL+"/orders/42", nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadAll(resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	})
	b.Run("adapter", func(b *testing.B) {
		bound := adaptertest.Bind(b, source(s.URL, "", `  input "id" { type = integer }`, `    get = "/orders/${input.id}"`))
		input := map[string]any{"id": 42}
		accounted(b, func(pb *testing.PB) {
			frame := hcl.NewFrame(b.Context(), "", time.Now)
			frame.Input = input
			call := &adapters.Call{Frame: frame}
			for pb.Next() {
				if _, err := bound.Action.Do(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
