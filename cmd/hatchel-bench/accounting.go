package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of the times in /proc/PID/stat, which Linux fixes for programs at 100 a
// second.
const clockTick = 10 * time.Millisecond

// cpuTime is the user and system time that the process has used so far, to the nanosecond, from its
// CPU clock.
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	// The number of the CPU clock of another process, as clock_getcpuclockid(3) makes it.
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// childTime is the user and system time of the children that the process has waited for, in clock
// ticks.
func childTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field, the program's name in parentheses, may hold spaces; cutime and cstime are
	// fields 16 and 17.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, err := strconv.Atoi(string(fields[13]))
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(string(fields[14]))
	return time.Duration(user+system) * clockTick, err
}

// residentMemory is VmRSS of the process, in bytes.
func residentMemory(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kilobytes, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}
