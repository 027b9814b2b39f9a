package e2e_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// percentiles reports the median and the 99th percentile of durations.
func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReplicasAnswer measures the time from the answer to a question, which is sent to another process than the
// one that asked, to the result of the call.
func BenchmarkReplicasAnswer(b *testing.B) {
	for name, sessions := range map[string]int{"one at a time": 1, "16 at once": 16} {
		b.Run(name, func(b *testing.B) {
			c := startCluster(b, 3)
			var mu sync.Mutex
			var took []time.Duration
			var all sync.WaitGroup
			for range sessions {
				w := (&wireClient{url: c.replicas[0].url, path: "/mcp"}).open(b)
				all.Go(func() {
					for i := range 4 + b.N/sessions {
						n := nextNumber()
						stream, question := w.at(c.replicas[i%3]).ask(b, n)
						began := time.Now()
						if status, body := w.at(c.replicas[(i+1)%3]).status(http.MethodPost, answerTo(question, n)); status != http.StatusAccepted {
							b.Errorf("%d %s", status, body)
						}
						stream.checkResult(b, "held "+n)
						if i < 3 {
							continue // the processes find each other
						}
						mu.Lock()
						took = append(took, time.Since(began))
						mu.Unlock()
					}
				})
			}
			all.Wait()
			percentiles(b, took)
		})
	}
}

// BenchmarkReplicasStart measures the time from the start of a process, which has a state, to its first answer.
func BenchmarkReplicasStart(b *testing.B) {
	start := func(b *testing.B, c *cluster) {
		session := (&wireClient{url: c.replicas[0].url, path: "/mcp"}).open(b)
		var took []time.Duration
		for range b.N {
			c.replicas[0].kill()
			began := time.Now()
			c.start(b, 0)
			if status := session.ping(); status != http.StatusOK {
				b.Fatalf("the session is answered with %d", status)
			}
			took = append(took, time.Since(began))
		}
		percentiles(b, took)
	}
	b.Run("SQLite", func(b *testing.B) {
		start(b, newCluster(b, 1, "state { sqlite = \""+filepath.Join(b.TempDir(), "state.db")+"\" }", ""))
	})
	b.Run("PostgreSQL", func(b *testing.B) { start(b, startCluster(b, 1)) })
}
