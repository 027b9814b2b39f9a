package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// record takes a CPU profile of a process with perf until the returned function is called. Where
// perf cannot be had it says so and measures on.
func record(pid int, file string) (stop func()) {
	perf := exec.Command("perf", "record", "-q", "-g", "-F", "997", "-p", strconv.Itoa(pid), "-o", file)
	perf.Stderr = os.Stderr
	if err := perf.Start(); err != nil {
		progress("no profile: %v (perf is in Debian's package linux-perf)", err)
		return func() {}
	}
	return func() {
		perf.Process.Signal(syscall.SIGINT)
		perf.Wait()
		progress("profile: perf report --no-children -i %s", file)
	}
}

// progress tells the person waiting what was just measured; results go to stdout.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
