package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hatchel/hcl"
)

// The kernel limits what one process uses; what those of a call use together is measured here. It is found by their sessions: every program is the leader of
// one that nothing confined can leave, and none of the leaders is reaped before the end.
//
// The kernel could ask before every process that begins, as it does before a file is changed. But a signal takes back what has not been heard yet, and the call fails: a shell
// to which a child says that it has ended could begin no other. So processes are counted when they are there.

const (
	glimpse  = 10 * time.Millisecond // between two looks at how many processes began anywhere: those that double must be stopped before they leave no processor for it
	measured = 5                     // glimpses between two measurements, unless more processes began than the call may have
	threads  = 16                    // for each process that a call may have
	quiet    = 8                     // passes without a new process after which there are none
	tick     = 10 * time.Millisecond // in which the kernel counts processor time for programs, on all architectures of Linux
)

// An excess is a limit that the programs of a call have exceeded together; text says so to the model.
type excess struct{ text string }

func (e *excess) Error() string { return "limit exceeded: " + e.text }

// meter ends the job when its programs use more than they may. It returns when the job is done.
func (j *job) meter() {
	ticker := time.NewTicker(glimpse)
	defer ticker.Stop()
	seen := j.programs[0].Pid
	for n := 1; ; n++ {
		select {
		case <-j.done:
			return
		case <-ticker.C:
		}
		last := latest()
		if began := last - seen; n%measured != 0 && began >= 0 && began < j.confined.processes {
			continue
		}
		seen = last
		if err := j.confined.judge(j.members(last)); err != nil {
			j.exceed(err)
			return
		}
	}
}

// exceed ends the job at once, in one go: what doubles meanwhile is more to end with every step.
func (j *job) exceed(why error) {
	j.exceeded.Store(true)
	j.stop(why)
	j.signal(unix.SIGKILL)
	j.sweep()
}

// usage is what one process uses.
type usage struct {
	threads int
	cpu     time.Duration // of it and of its children that ended
	memory  int64         // in RAM, parts that it shares included
	zombie  bool
}

// judge returns the *excess of processes, if there is one.
func (c *confinement) judge(members []int) error {
	if len(members) > c.processes {
		return &excess{fmt.Sprintf("more than the %d processes at once that it may have", c.processes)}
	}
	var sum usage
	for _, pid := range members {
		u, err := used(pid)
		if err != nil {
			continue // it has ended
		}
		sum.threads += u.threads
		sum.cpu += u.cpu
		sum.memory += u.memory
	}
	switch {
	case sum.threads > threads*c.processes:
		return &excess{fmt.Sprintf("more than the %d threads at once that it may have", threads*c.processes)}
	case c.cpu > 0 && sum.cpu > c.cpu:
		return &excess{fmt.Sprintf("more than the %v of processor time that it may use", c.cpu)}
	case c.memory > 0 && sum.memory > c.memory && own(members) > c.memory:
		return &excess{fmt.Sprintf("more than the %v of memory that it may use", hcl.Size(c.memory))}
	}
	return nil
}

// used reads what a process uses from its stat, as in proc_pid_stat(5).
func used(pid int) (u usage, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return u, errors.New("a stat of another form")
	}
	number := func(field int) int64 { // as numbered in the manual
		n, _ := strconv.ParseInt(fields[field-3], 10, 64)
		return n
	}
	u.zombie = fields[0] == "Z" || fields[0] == "X"
	u.threads = int(number(20))
	u.cpu = time.Duration(number(14)+number(15)+number(16)+number(17)) * tick
	u.memory = number(24) * int64(os.Getpagesize())
	return u, nil
}

// own is the memory that processes have for themselves: what several share counts once, what is a part of a file does not.
func own(members []int) (sum int64) {
	for _, pid := range members {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(text)) {
			name, rest, _ := strings.Cut(line, ":")
			if name == "Pss_Anon" || name == "Pss_Shmem" {
				kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
				sum += kib << 10
			}
		}
	}
	return sum
}

// members are the processes of the job. Ids are given out in order, so that those of a call that has only begun are between that of its first program and the
// last; later they may have begun anew at 1.
func (j *job) members(last int) (found []int) {
	const near = 4096
	first := j.programs[0].Pid
	if time.Since(j.began) < time.Second && last >= first && last-first < near {
		for pid := first; pid <= last; pid++ {
			if j.has(pid) {
				found = append(found, pid)
			}
		}
		return found
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && j.has(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// has reports whether a process is one of the job.
func (j *job) has(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && slices.ContainsFunc(j.programs, func(p *os.Process) bool { return p.Pid == session }) && unix.Tgkill(pid, pid, 0) != unix.ESRCH // else it is a thread, which has an id, too
}

// loadavg tells which process id was given out last. One descriptor serves all calls and stays open.
var loadavg = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/loadavg") })

// latest is the process id that was given out last; 0 when the system does not say.
func latest() int {
	f, err := loadavg()
	if err != nil {
		return 0
	}
	var text [128]byte
	n, _ := f.ReadAt(text[:], 0)
	line := bytes.TrimRight(text[:n], "\n")
	last, _ := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	return last
}

// sweep kills what a confined job has left behind, and waits until it is gone. A process that was sent SIGKILL can start no other, so a pass that finds none but
// such, and in which no process began anywhere, was the last.
func (j *job) sweep() {
	if j.confined == nil || len(j.programs) == 0 {
		return
	}
	killed := map[int]bool{}
	for _, p := range j.programs {
		killed[p.Pid] = true
	}
	var left []int
	for empty := 0; empty < quiet; empty++ {
		before, found := latest(), len(left)
		for _, pid := range j.members(before) {
			if !killed[pid] {
				killed[pid] = true
				left = append(left, pid)
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if len(left) > found {
			empty = -1
		} else if latest() == before {
			break
		}
	}
	await(left)
	j.bury(left)
}

// bury reaps those of the dead that have become children of this process, as orphans do of the first one of a container. Of others their own parents know.
func (j *job) bury(dead []int) {
	for _, pid := range dead {
		if j.has(pid) { // else its number may be another's by now
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// await waits until processes that were killed have ended, or for as long as the system may take for it.
func await(killed []int) {
	deadline := time.Now().Add(unkillable)
	for _, pid := range killed {
		for time.Now().Before(deadline) {
			if u, err := used(pid); err != nil || u.zombie {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
