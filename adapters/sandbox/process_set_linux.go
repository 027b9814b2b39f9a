//go:build linux && cgo

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hatchel/internal/procfs"
)

// processSet is the set of processes of one call. Every program leads a session, which confined processes cannot
// leave, and no leader is reaped before the end: a process belongs to the call whose program leads its session.
type processSet struct {
	programs []*os.Process // the leaders
	created  time.Time
	limits   Policy
	scan     scanState
	files    *tempFiles // nil if they take no memory or memory is not limited
}

func newProcessSet(s *Sandbox) *processSet {
	return &processSet{created: time.Now(), limits: s.Policy}
}

// contains reports whether a process belongs to the set.
func (p *processSet) contains(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && p.leads(session) && isProcess(pid)
}

// leads reports whether a session is one of the set.
func (p *processSet) leads(session int) bool {
	return slices.ContainsFunc(p.programs, func(leader *os.Process) bool { return leader.Pid == session })
}

// isProcess reports whether an ID is that of a process. Threads have IDs from the same range.
func isProcess(pid int) bool { return unix.Tgkill(pid, pid, 0) != unix.ESRCH }

// list returns the processes of the set, if last is the process ID that was assigned last.
func (p *processSet) list(last int) (members []int) {
	for _, pid := range p.candidates(last) {
		if p.contains(pid) {
			members = append(members, pid)
		}
	}
	return members
}

// candidates returns IDs that include those of all processes of the set. IDs are assigned in ascending order, so that
// those of a young call lie between the ID of its first program and the last one; later they may have started again.
func (p *processSet) candidates(last int) (pids []int) {
	const maxRange = 4096
	first := p.programs[0].Pid
	if time.Since(p.created) < time.Second && last >= first && last-first < maxRange {
		for pid := first; pid <= last; pid++ {
			pids = append(pids, pid)
		}
		return pids
	}
	return procfs.Processes()
}

// openLoadavg opens the file that tells which process ID was assigned last. One descriptor serves all calls.
var openLoadavg = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/loadavg") })

// loadavgFD returns a descriptor of /proc/loadavg, or -1.
func loadavgFD() int {
	f, err := openLoadavg()
	if err != nil {
		return -1
	}
	return int(f.Fd())
}

// lastProcessID returns the process or thread ID that was assigned last; 0 if it is not known.
func lastProcessID() int {
	var text [128]byte
	n, _ := unix.Pread(loadavgFD(), text[:], 0)
	line := bytes.TrimRight(text[:max(n, 0)], "\n")
	last, _ := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	return last
}

// maxIdlePasses is how many passes without a new process of the call mean that there are no more.
const maxIdlePasses = 8

// killStragglers kills the processes that the programs have left behind, and waits until they are gone. A killed
// process starts no other one. Therefore a pass is the last that finds no new process of the call, and during which no
// process started anywhere.
func (p *processSet) killStragglers() {
	if len(p.programs) == 0 {
		return
	}
	known := map[int]bool{}
	for _, program := range p.programs {
		known[program.Pid] = true
	}
	var killed []int
	for idle := 0; idle < maxIdlePasses; idle++ {
		last, before := lastProcessID(), len(killed)
		for _, pid := range p.list(last) {
			if !known[pid] {
				known[pid] = true
				killed = append(killed, pid)
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if len(killed) > before {
			idle = -1
		} else if lastProcessID() == last {
			break
		}
	}
	awaitExits(killed)
	// Orphans become children of this process if it is the first one of a container. Other parents reap them.
	for _, pid := range killed {
		if p.contains(pid) { // otherwise it is reaped, and the ID may be another process's
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// awaitExits waits until killed processes have ended, or for as long as the kernel may take.
func awaitExits(killed []int) {
	deadline := time.Now().Add(unkillableAfter)
	for _, pid := range killed {
		for time.Now().Before(deadline) {
			if u, err := readUsage(pid); err != nil || u.zombie {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// usage is the resource usage of processes.
type usage struct {
	threads int
	cpu     time.Duration // with that of children that were reaped
	memory  int64         // resident, in bytes, with shared parts
	zombie  bool
}

const (
	threadsPerProcess = 16                    // how many threads a call may have for each process
	clockTick         = 10 * time.Millisecond // the unit of CPU time in /proc on all architectures
)

// readUsage reads the usage of a process from its stat, see proc_pid_stat(5).
func readUsage(pid int) (u usage, err error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return u, err
	}
	defer unix.Close(fd)
	var buf [1024]byte // more than the kernel writes
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return u, err
	}
	stat := buf[:n]
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return u, errors.New("/proc/PID/stat has an unknown format")
	}
	number := func(field int) int64 { // as numbered in the manual
		n, _ := strconv.ParseInt(fields[field-3], 10, 64)
		return n
	}
	u.zombie = fields[0] == "Z" || fields[0] == "X"
	u.threads = int(number(20))
	u.cpu = time.Duration(number(14)+number(15)+number(16)+number(17)) * clockTick
	u.memory = number(24) * int64(os.Getpagesize())
	return u, nil
}

// readUsages returns the sum of the usages of processes. Those that have ended are skipped.
func readUsages(pids []int) (sum usage) {
	for _, pid := range pids {
		u, err := readUsage(pid)
		if err != nil {
			continue
		}
		sum.threads += u.threads
		sum.cpu += u.cpu
		sum.memory += u.memory
	}
	return sum
}

func kibibytes(text string) int64 {
	kib, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return kib << 10
}

// readOwnMemory returns the memory of processes without the contents of files. Memory that several of them share counts
// once, unless a process has made itself unreadable (prctl).
func readOwnMemory(pids []int) (sum int64) {
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			u, _ := readUsage(pid) // nothing if it has ended
			sum += u.memory
			continue
		}
		for line := range strings.Lines(string(text)) {
			name, rest, _ := strings.Cut(line, ":")
			if name == "Pss_Anon" || name == "Pss_Shmem" {
				sum += kibibytes(strings.TrimSuffix(strings.TrimSpace(rest), "kB"))
			}
		}
	}
	return sum
}
