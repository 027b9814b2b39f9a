package shell

import (
	"context"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// BenchmarkEcho runs /bin/echo with the adapter and with os/exec, one call for each processor and sixteen at the same time.
// The relevant figure is cpu-µs/op: the CPU time of this process and its children.
func BenchmarkEcho(b *testing.B) {
	for name, parallelism := range map[string]int{"one": 1, "sixteen": 8} {
		b.Run(name+"/adapter", func(b *testing.B) {
			bound := adaptertest.Bind(b, newTool(`command = ["/bin/echo", input.s]`))
			call, err := bound.Call(b.Context(), `{"s":"hello"}`)
			if err != nil {
				b.Fatal(err)
			}
			measure(b, parallelism, func() error {
				_, err := bound.Action.Do(b.Context(), call)
				return err
			})
		})
		b.Run(name+"/exec", func(b *testing.B) {
			measure(b, parallelism, func() error {
				_, err := exec.CommandContext(b.Context(), "/bin/echo", "hello").Output()
				return err
			})
		})
	}
}

// measure runs f in parallelism goroutines for each processor.
func measure(b *testing.B, parallelism int, f func() error) {
	b.ReportAllocs()
	b.SetParallelism(parallelism)
	before := cpuTime(b, syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := f(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	used := cpuTime(b, syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN) - before
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/op")
}

// cpuTime returns the CPU time of this process, or of its children that were reaped.
func cpuTime(b *testing.B, whose ...int) (sum time.Duration) {
	for _, who := range whose {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return sum
}

// BenchmarkIdleCommands measures the CPU time of the server while forty commands run and do nothing. An operation is a
// second; the relevant figure is cpu-ms/s.
func BenchmarkIdleCommands(b *testing.B) {
	const commands = 40
	for name, limits := range map[string]string{"default": "", "limited": "\nsandbox {\nmemory = \"1GiB\"\ncpu = \"1h\"\n}"} {
		b.Run(name, func(b *testing.B) {
			bound := adaptertest.Bind(b, newTool(`command = ["sleep", "1000"]`+limits))
			ctx, cancel := context.WithCancel(b.Context())
			var calls sync.WaitGroup
			for range commands {
				calls.Go(func() { _, _ = bound.Do(ctx, `{}`) })
			}
			time.Sleep(3 * time.Second) // until all run, and the first scans are over
			before := cpuTime(b, syscall.RUSAGE_SELF)
			b.ResetTimer()
			for range b.N {
				time.Sleep(time.Second)
			}
			b.StopTimer()
			used := cpuTime(b, syscall.RUSAGE_SELF) - before
			cancel()
			calls.Wait()
			b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/s")
		})
	}
}
