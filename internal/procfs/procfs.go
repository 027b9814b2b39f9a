// Package procfs reads the file system /proc of Linux.
package procfs

import (
	"os"
	"strconv"
)

// Processes returns the IDs of all processes that /proc shows; none if it cannot be read.
func Processes() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
