//go:build linux && cgo

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

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

// readOwnMemory returns the memory of processes without the contents of files. Memory that several
// of them share counts once.
func readOwnMemory(pids []int) (sum int64) {
	for _, pid := range pids {
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
