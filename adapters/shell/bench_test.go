package shell

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// BenchmarkEcho runs /bin/echo as the adapter does and as os/exec does. The figure to look at is cpu-µs/op: this process and its children together.
func BenchmarkEcho(b *testing.B) {
	b.Run("adapter", func(b *testing.B) {
		bound := adaptertest.Bind(b, tool(`command = ["/bin/echo", input.s]`))
		call, err := bound.Call(b.Context(), `{"s":"hello"}`)
		if err != nil {
			b.Fatal(err)
		}
		measure(b, func() error {
			_, err := bound.Action.Do(b.Context(), call)
			return err
		})
	})
	b.Run("floor", func(b *testing.B) {
		measure(b, func() error {
			_, err := exec.CommandContext(b.Context(), "/bin/echo", "hello").Output()
			return err
		})
	})
}

func measure(b *testing.B, f func() error) {
	b.ReportAllocs()
	before := spent(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := f(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64((spent(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// spent is the processor time of this process and of its children that ended.
func spent(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return sum
}
