//go:build linux && cgo

package sandbox

import "time"

// cpuOfPeriod returns how much CPU time a CPUSharePeriod has at most.
func (p Policy) cpuOfPeriod() time.Duration {
	return time.Duration(p.CPUShare * float64(CPUSharePeriod))
}

// cpuWindow measures how much CPU time processes have used in the last CPUSharePeriod. The zero value has measured
// nothing.
type cpuWindow struct {
	marks [cpuMarks]cpuMark // the first count are set, oldest first
	count int
	last  time.Duration // the sum that was measured last
	total time.Duration // that all have used, also those that have ended since
}

// cpuMarks is how many measurements a CPUSharePeriod keeps, so that it is too long by at most a part of that size.
const cpuMarks = 20

// cpuMark is the CPU time that was used until a moment.
type cpuMark struct {
	at   time.Time
	used time.Duration
}

// add adds a measurement, the sum of the CPU time of the processes that exist, and returns what was used since about a
// CPUSharePeriod ago. A sum that is smaller than the one before means that processes have ended. What they had used
// since then is lost.
func (w *cpuWindow) add(now time.Time, sum time.Duration) time.Duration {
	w.total += max(sum-w.last, 0)
	w.last = sum
	for w.count > 1 && now.Sub(w.marks[1].at) >= CPUSharePeriod {
		copy(w.marks[:], w.marks[1:w.count])
		w.count--
	}
	if w.count == 0 {
		w.marks[0], w.count = cpuMark{now, 0}, 1
	} else if newest := w.marks[w.count-1]; w.count < cpuMarks && now.Sub(newest.at) >= CPUSharePeriod/(cpuMarks-2) {
		w.marks[w.count], w.count = cpuMark{now, w.total}, w.count+1
	}
	return w.total - w.marks[0].used
}
