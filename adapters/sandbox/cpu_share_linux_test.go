//go:build linux && cgo

package sandbox

import (
	"testing"
	"time"
)

func TestCPUTimeIsThatOfThePeriod(t *testing.T) {
	const step = 50 * time.Millisecond
	var w cpuWindow
	now, sum := time.Now(), time.Duration(0)
	run := func(d time.Duration, cores float64) (used time.Duration) {
		for end := now.Add(d); now.Before(end); now = now.Add(step) {
			sum += time.Duration(cores * float64(step))
			used = w.add(now, sum)
		}
		return used
	}
	for _, c := range []struct {
		d         time.Duration
		cores     float64
		low, high time.Duration
	}{
		{3 * time.Second, 2, 5900 * time.Millisecond, 6 * time.Second},
		{5 * time.Second, 0, 5900 * time.Millisecond, 6 * time.Second},
		{20 * time.Second, 0, 0, 0},
		{60 * time.Second, 0.5, 5 * time.Second, 5600 * time.Millisecond},
		{60 * time.Second, 1, 10 * time.Second, 11200 * time.Millisecond},
	} {
		if used := run(c.d, c.cores); used < c.low || used > c.high {
			t.Errorf("%v cores for %v: %v were used in the period, want %v to %v", c.cores, c.d, used, c.low, c.high)
		}
	}
}

func TestEndedProcessesDoNotReduceTheCPUTimeOfThePeriod(t *testing.T) {
	var w cpuWindow
	now := time.Now()
	w.add(now, 0)
	w.add(now.Add(time.Second), 4*time.Second)
	if used := w.add(now.Add(2*time.Second), time.Second); used != 4*time.Second {
		t.Errorf("%v were used", used)
	}
	if used := w.add(now.Add(3*time.Second), 2*time.Second); used != 5*time.Second {
		t.Errorf("%v were used", used)
	}
}
