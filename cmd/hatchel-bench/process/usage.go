package process

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of the times in /proc/PID/stat, which Linux fixes for programs at 100 a
// second.
const clockTick = 10 * time.Millisecond

// CPUTime returns the user and system time that the process has used so far, to the nanosecond,
// from its CPU clock.
func CPUTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	// The number of the CPU clock of another process, as clock_getcpuclockid(3) makes it.
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ChildrenCPUTime returns the user and system time of the children that the process has waited for,
// in clock ticks.
func ChildrenCPUTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field, the program's name in parentheses, may hold spaces; cutime and cstime are
	// fields 16 and 17.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	ticks := 0
	for _, field := range fields[13:15] {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// Usage is what a process holds of the operating system.
type Usage struct {
	Memory  int // resident, in bytes
	Files   int // open file descriptors
	Threads int
}

// ReadUsage returns what a process holds now.
func ReadUsage(pid int) (u Usage, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	files, err := os.ReadDir(dir + "fd")
	if err != nil {
		return u, err
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return u, err
	}
	u.Files = len(files)
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "VmRSS":
			u.Memory, err = strconv.Atoi(string(bytes.Fields(value)[0]))
			u.Memory <<= 10
		case "Threads":
			u.Threads, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

// String shows the usage in MiB, files and threads.
func (u Usage) String() string {
	return fmt.Sprintf("%.1f MiB, %d files, %d threads", float64(u.Memory)/(1<<20), u.Files, u.Threads)
}

var goroutineHeader = regexp.MustCompile(`(?m)^goroutine \d+ `)

// StopCounting ends a Go program with SIGQUIT, which dumps its goroutines, and returns their
// number.
func (p *Process) StopCounting() (goroutines int, err error) {
	before, err := p.log.file.Stat()
	if err != nil {
		return 0, err
	}
	p.Stop(syscall.SIGQUIT, startTimeout)
	log, err := os.ReadFile(p.log.file.Name())
	if err != nil {
		return 0, err
	}
	if goroutines = len(goroutineHeader.FindAll(log[before.Size():], -1)); goroutines == 0 {
		return 0, fmt.Errorf("the server dumped no goroutines: %s", p.LogTail())
	}
	return goroutines, nil
}
