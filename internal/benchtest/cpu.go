// Package benchtest has what several benchmarks use.
package benchtest

import (
	"syscall"
	"testing"
	"time"
)

// ReportCPU returns a function that reports "cpu-ns/op": the CPU time that the process, with all its goroutines,
// has used since ReportCPU was called. It is called after the loop of the benchmark.
func ReportCPU(b *testing.B) (report func()) {
	b.Helper()
	before := used(b)
	return func() { b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op") }
}

func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
