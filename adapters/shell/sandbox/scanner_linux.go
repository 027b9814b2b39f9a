//go:build linux && cgo

package sandbox

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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

// scanner enforces the summed limits of all running calls. It has one timer, which runs only while there are calls.
type scanner struct {
	mu      sync.Mutex
	timer   *time.Timer
	running bool          // the timer is set, or a sample is being taken; guarded by mu
	sets    []*processSet // guarded by mu
	samples int           // used by the timer alone
}

var limitScanner = &scanner{}

// scanState is what the scanner knows about a set of processes.
type scanState struct {
	onExceeded func(*LimitError)
	exceeding  sync.WaitGroup // the goroutine that ends the processes

	mu      sync.Mutex // held while the set is judged; guards the fields below
	ended   bool       // the set is not judged any more
	members []int      // as last found; nil before

	// Upper bounds: at most processes belonged to the set when countedAt was the process ID assigned last, and they had
	// at most threads when threadsAt was.
	processes, countedAt int
	threads, threadsAt   int
}

// EnforceLimits watches what the programs of the call use together. If it is too much, exceeded is called in another
// goroutine, and all of their processes are killed. All programs of the call must have been started.
func (w *Workspace) EnforceLimits(exceeded func(*LimitError)) {
	p := w.processes
	p.scan.onExceeded = exceeded
	before := p.programs[0].Pid - 1 // all processes of the call have started later
	p.scan.countedAt, p.scan.threadsAt = before, before
	limitScanner.add(p)
}

// KillRemaining ends the enforcement of limits and kills what the programs have left behind. No program may be reaped
// yet.
func (w *Workspace) KillRemaining() {
	limitScanner.remove(w.processes)
	w.processes.scan.exceeding.Wait()
	w.processes.killStragglers()
}

func (s *scanner) add(p *processSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets = append(s.sets, p)
	switch {
	case s.running:
	case s.timer == nil:
		s.timer = time.AfterFunc(sampleInterval, s.sample)
	default:
		s.timer.Reset(sampleInterval)
	}
	s.running = true
}

// remove returns when the set is not judged any more.
func (s *scanner) remove(p *processSet) {
	s.mu.Lock()
	if i := slices.Index(s.sets, p); i >= 0 {
		s.sets = slices.Delete(s.sets, i, i+1)
	}
	s.mu.Unlock()
	p.scan.mu.Lock()
	p.scan.ended = true
	p.scan.mu.Unlock()
}

// sample judges the sets that may have exceeded a limit.
func (s *scanner) sample() {
	s.mu.Lock()
	sets := slices.Clone(s.sets)
	s.mu.Unlock()
	if len(sets) > 0 {
		last := lastProcessID()
		s.samples++
		isScan := s.samples%samplesPerScan == 0
		judgeSets(slices.DeleteFunc(sets, func(p *processSet) bool { return !p.mayExceed(last, isScan) }), last)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running = len(s.sets) > 0; s.running {
		s.timer.Reset(sampleInterval)
	}
}

// mayExceed reports whether a limit may be exceeded. Between two scans only the number of processes is considered.
// Process and thread IDs are assigned in ascending order: a set has grown by at most the number of IDs assigned since.
func (p *processSet) mayExceed(last int, isScan bool) bool {
	p.scan.mu.Lock()
	defer p.scan.mu.Unlock()
	started := last - p.scan.countedAt
	if !isScan {
		return started < 0 || started >= p.limits.Processes
	}
	return last == 0 || started < 0 || p.scan.processes+started > p.limits.Processes || p.needsUsage(last)
}

// needsUsage reports whether the usage of each process must be read.
func (p *processSet) needsUsage(last int) bool {
	started := last - p.scan.threadsAt
	return p.limits.Memory > 0 || p.limits.CPU > 0 || last == 0 || started < 0 ||
		p.scan.threads+started > threadsPerProcess*p.limits.Processes
}

// judgeSets ends the processes of sets that exceed a limit. It looks for members in one pass for all sets, and not at
// all if no process has started since the last one.
func judgeSets(sets []*processSet, last int) {
	found := map[*processSet][]int{}
	if slices.ContainsFunc(sets, func(p *processSet) bool { return p.hasChanged(last) }) {
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

func (p *processSet) hasChanged(last int) bool {
	p.scan.mu.Lock()
	defer p.scan.mu.Unlock()
	return p.scan.members == nil || last == 0 || last != p.scan.countedAt
}

// judge ends the processes if they exceed a limit. Without members, those found before are still valid.
func (p *processSet) judge(members []int, last int) {
	p.scan.mu.Lock()
	defer p.scan.mu.Unlock()
	if p.scan.ended {
		return
	}
	if members != nil {
		p.scan.members, p.scan.processes, p.scan.countedAt = members, len(members), last
	}
	if err := p.checkLimits(last); err != nil {
		p.scan.ended = true
		p.scan.exceeding.Go(func() {
			p.scan.onExceeded(err)
			p.signal(unix.SIGKILL)
			p.killStragglers()
		})
	}
}

func (p *processSet) checkLimits(last int) *LimitError {
	maxThreads := threadsPerProcess * p.limits.Processes
	if p.scan.processes > p.limits.Processes {
		return &LimitError{Processes, int64(p.limits.Processes)}
	}
	if !p.needsUsage(last) {
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
	case memory > 0 && sum.memory > memory && readOwnMemory(p.scan.members) > memory:
		return &LimitError{Memory, memory}
	}
	return nil
}
