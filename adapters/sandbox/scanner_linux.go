//go:build linux && cgo

package sandbox

/*
#include "sampler.h"
*/
import "C"

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/adapters/guard"
)

// The kernel limits what one process uses. What the processes of a call use together is measured here.
//
// A seccomp notification for each new process would be exact, but a signal that the parent handles interrupts the
// call that waits for the answer: a shell could not start a process while children of it end.

const (
	// sampleInterval is the time between two looks at how many processes have started anywhere. A program that
	// doubles its processes must be stopped before it leaves the server no CPU time for that.
	sampleInterval = 10 * time.Millisecond

	// samplesPerScan is how many samples pass between two scans for memory and CPU time.
	samplesPerScan = 5
)

// scanner enforces the summed limits of all running calls with one goroutine, which runs only while there are calls.
type scanner struct {
	mu      sync.Mutex
	running bool          // guarded by mu
	sets    []*processSet // guarded by mu
}

var limitScanner scanner

// scanState is what the scanner knows about a set of processes. Its goroutine alone uses the fields without a comment.
type scanState struct {
	onExceeded func(*LimitError)
	exceeding  sync.WaitGroup // the goroutine that ends the processes

	judging sync.Mutex // held while the set is judged
	ended   bool       // the set is not judged any more; guarded by judging

	members []int // as last found; nil before

	share cpuWindow // of the CPU time, for Policy.CPUShare

	// Upper bounds: at most processes belonged to the set when countedAt was the process ID assigned last, and they had
	// at most threads when threadsAt was.
	processes, countedAt int
	threads, threadsAt   int

	// The least process IDs from which on the set may exceed a limit, at any sample and at a scan; see setThresholds.
	sampleThreshold, scanThreshold atomic.Int64
}

// EnforceLimits watches what the programs of the call use together. If it is too much, exceeded is called in another
// goroutine, and all of their processes are killed. All programs of the call must have been started.
func (w *Workspace) EnforceLimits(exceeded func(*LimitError)) {
	p := w.processes
	p.scan.onExceeded = exceeded
	before := p.programs[0].Pid - 1 // all processes of the call have started later
	p.scan.countedAt, p.scan.threadsAt = before, before
	if p.limits.Memory > 0 {
		if p.files = newTempFiles(w.tempDir); p.files != nil {
			go p.files.watch(p)
		}
	}
	p.setThresholds()
	limitScanner.add(p)
}

// KillRemaining ends the enforcement of limits and kills what the programs have left behind. No program may be reaped
// yet.
func (w *Workspace) KillRemaining() {
	limitScanner.remove(w.processes)
	w.processes.scan.exceeding.Wait()
	if files := w.processes.files; files != nil {
		close(files.done)
	}
	w.processes.killStragglers()
}

func (s *scanner) add(p *processSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets = append(s.sets, p)
	s.setThresholds()
	if !s.running {
		s.running = true
		go s.run()
	}
}

// remove returns when the set is not judged any more.
func (s *scanner) remove(p *processSet) {
	s.mu.Lock()
	if i := slices.Index(s.sets, p); i >= 0 {
		s.sets = slices.Delete(s.sets, i, i+1)
		s.setThresholds()
	}
	s.mu.Unlock()
	p.scan.judging.Lock()
	p.scan.ended = true
	p.scan.judging.Unlock()
}

// run judges the sets that may have exceeded a limit, until there are no sets.
func (s *scanner) run() {
	loadavg := C.int(loadavgFD())
	for {
		last := int(C.sandbox_sample(loadavg, C.long(sampleInterval), samplesPerScan))
		s.mu.Lock()
		if len(s.sets) == 0 {
			s.running = false
			s.mu.Unlock()
			return
		}
		sets := slices.Clone(s.sets)
		s.mu.Unlock()
		isScan := C.sandbox_sampler.is_scan != 0
		judgeSets(slices.DeleteFunc(sets, func(p *processSet) bool { return !p.mayExceed(last, isScan) }), last)
		s.mu.Lock()
		s.setThresholds()
		s.mu.Unlock()
	}
}

// setThresholds tells the sampler when a set may exceed a limit. Without sets it returns at once.
func (s *scanner) setThresholds() {
	sample, scan := int64(math.MaxInt32), int64(math.MaxInt32)
	for _, p := range s.sets {
		sample, scan = min(sample, p.scan.sampleThreshold.Load()), min(scan, p.scan.scanThreshold.Load())
	}
	if len(s.sets) == 0 {
		sample = 0
	}
	atomic.StoreInt32((*int32)(unsafe.Pointer(&C.sandbox_sampler.sample_threshold)), int32(sample))
	atomic.StoreInt32((*int32)(unsafe.Pointer(&C.sandbox_sampler.scan_threshold)), int32(scan))
}

// setThresholds sets the least process IDs from which on the set may exceed a limit. Process and thread IDs are
// assigned in ascending order: a set has grown by at most the number of IDs assigned since it was counted. Between two
// scans only many new processes matter.
func (p *processSet) setThresholds() {
	sample := p.scan.countedAt + p.limits.Processes
	scan := 0
	if !p.limitsUsage() {
		scan = min(sample-p.scan.processes+1, p.threadThreshold())
	}
	p.scan.sampleThreshold.Store(int64(sample))
	p.scan.scanThreshold.Store(int64(scan))
}

// limitsUsage reports whether the usage must be read at every scan.
func (p *processSet) limitsUsage() bool {
	return p.limits.Memory > 0 || p.limits.CPU > 0 || p.limits.CPUShare > 0
}

// threadThreshold returns the least process ID from which on the set may have too many threads.
func (p *processSet) threadThreshold() int {
	return p.scan.threadsAt + threadsPerProcess*p.limits.Processes - p.scan.threads + 1
}

// mayExceed reports whether the set may exceed a limit when last is the process ID that was assigned last. A smaller
// one than before means that the IDs have started again.
func (p *processSet) mayExceed(last int, isScan bool) bool {
	return last == 0 || last < p.scan.countedAt || int64(last) >= p.scan.sampleThreshold.Load() ||
		isScan && int64(last) >= p.scan.scanThreshold.Load()
}

// judgeSets ends the processes of sets that exceed a limit. It looks for members in one pass for all sets, and not at
// all if no process has started since the last one.
func judgeSets(sets []*processSet, last int) {
	found := map[*processSet][]int{}
	mayHaveChanged := func(p *processSet) bool { return p.scan.members == nil || last == 0 || last != p.scan.countedAt }
	if slices.ContainsFunc(sets, mayHaveChanged) {
		oldest := slices.MinFunc(sets, func(a, b *processSet) int { return a.created.Compare(b.created) })
		for _, pid := range oldest.candidates(last) {
			session, err := unix.Getsid(pid)
			if err != nil {
				continue
			}
			for _, p := range sets {
				if p.leads(session) && isProcess(pid) {
					found[p] = append(found[p], pid)
				}
			}
		}
	}
	for _, p := range sets {
		p.judge(found[p], last)
	}
}

// judge ends the processes if they exceed a limit. Without members, those found before are still valid.
func (p *processSet) judge(members []int, last int) {
	p.scan.judging.Lock()
	defer p.scan.judging.Unlock()
	if p.scan.ended {
		return
	}
	defer p.setThresholds()
	if members != nil {
		p.scan.members, p.scan.processes, p.scan.countedAt = members, len(members), last
	}
	if err := p.checkLimits(last); err != nil {
		p.scan.ended = true
		p.scan.exceeding.Go(func() {
			p.scan.onExceeded(err)
			for _, program := range p.programs {
				guard.Signal(program.Pid, unix.SIGKILL)
			}
			p.killStragglers()
		})
	}
}

func (p *processSet) checkLimits(last int) *LimitError {
	maxThreads := threadsPerProcess * p.limits.Processes
	if p.scan.processes > p.limits.Processes {
		return &LimitError{Processes, int64(p.limits.Processes)}
	}
	if !p.limitsUsage() && last >= p.scan.threadsAt && last < p.threadThreshold() {
		return nil
	}
	sum := readUsages(p.scan.members)
	p.scan.threads, p.scan.threadsAt = sum.threads, last
	memory := p.limits.Memory
	switch {
	case sum.threads > maxThreads:
		return &LimitError{Threads, int64(maxThreads)}
	case p.limits.CPU > 0 && sum.cpu > p.limits.CPU:
		return &LimitError{CPU, int64(p.limits.CPU)}
	case p.limits.CPUShare > 0 && p.scan.share.add(time.Now(), sum.cpu) > p.limits.cpuOfPeriod():
		return &LimitError{CPUShare, int64(p.limits.cpuOfPeriod())}
	case memory > 0 && p.exceedsMemory(sum.memory):
		return &LimitError{Memory, memory}
	}
	return nil
}

// exceedsMemory reports whether processes with a resident memory, and their files, take more memory than they may.
func (p *processSet) exceedsMemory(resident int64) bool {
	files := int64(0)
	if p.files != nil {
		files = p.files.bytes.Load()
	}
	limit := p.limits.Memory
	if files+resident <= limit {
		return false
	}
	own := readOwnMemory(p.scan.members)
	if files == 0 || files+own <= limit {
		return own > limit
	}
	// A file that a process maps is in both sums. A process may map it before mapped reads that, or end, so its memory
	// is read on both sides.
	mapped := p.files.mapped(p.scan.members)
	return files+min(own, readOwnMemory(p.scan.members))-mapped > limit
}
