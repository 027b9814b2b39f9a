package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"hatchel/internal/benchtest"
)

func BenchmarkCall(b *testing.B) {
	o := New().Operation("tool", "refund")
	b.ReportAllocs()
	for b.Loop() {
		o.Begin()
		o.End(&Call{HTTP: true, Outcome: "ok", Duration: 3 * time.Millisecond})
	}
}

func BenchmarkCallWithoutMetrics(b *testing.B) {
	var o *Operation
	b.ReportAllocs()
	for b.Loop() {
		o.Begin()
		o.End(&Call{HTTP: true, Outcome: "ok", Duration: 3 * time.Millisecond})
	}
}

func BenchmarkScrapeOf1000Tools(b *testing.B) {
	m := New()
	for i := range 1000 {
		o := m.Operation("tool", fmt.Sprintf("tool_%d", i))
		o.Begin()
		o.End(&Call{HTTP: true, Outcome: "ok", Duration: 3 * time.Millisecond})
	}
	b.ReportAllocs()
	size := new(sizeWriter)
	report := benchtest.ReportCPU(b)
	for b.Loop() {
		size.bytes = 0
		m.ServeHTTP(size, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
	report()
	b.ReportMetric(float64(size.bytes), "bytes/scrape")
}

// sizeWriter is a response of which only the size is kept, as a server sends it while it is written.
type sizeWriter struct{ bytes int }

func (s *sizeWriter) Header() http.Header { return http.Header{} }
func (s *sizeWriter) WriteHeader(int)     {}
func (s *sizeWriter) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return len(b), nil
}
