package toolsearch_test

import (
	"slices"
	"testing"
	"time"

	"hatchel/internal/toolsearch"
)

// BenchmarkFind reports the duration that 99 of 100 searches among 1,000 tools do not exceed.
func BenchmarkFind(b *testing.B) {
	tools := catalogue(b)
	index := toolsearch.New(tools)
	queries := []string{
		"refund a customer's order", "Who has not paid?", "list",
		"create update delete list search the customer order status report of this period by label and owner",
	}
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		index.Find(queries[i%len(queries)], func(tool int) bool { return tool%10 > 0 }, 5)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkNew(b *testing.B) {
	tools := catalogue(b)
	b.ReportAllocs()
	for b.Loop() {
		toolsearch.New(tools)
	}
}
