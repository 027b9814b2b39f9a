//go:build linux && cgo

package sandbox

/*
#include "spawn.h"
*/
import "C"

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/adapters/shell/sandbox/supervisor"
)

// Start starts a confined program with the directory, the environment and the three files of attr. The child confines
// itself before it executes the program, which package os cannot do; a helper program between the two would cost as
// much as a short program does. The error is a *StartError if the program could not be confined.
func (w *Workspace) Start(file string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if err := w.allowProgram(file); err != nil {
		return nil, &StartError{err}
	}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	spawn := C.struct_sandbox_spawn{
		ruleset:    C.int(w.rules.Fd()),
		argc:       C.size_t(len(argv)),
		envc:       C.size_t(len(attr.Env)),
		filter:     unsafe.Pointer(&w.sandbox.filter[0]),
		filter_len: C.size_t(len(w.sandbox.filter)),
	}
	if !w.sandbox.Modes {
		flags, _ := listenerFlags()
		spawn.listener_flags = C.uint(flags)
	}
	for i, f := range attr.Files {
		spawn.files[i] = C.int(f.Fd())
	}
	pinned.Pin(spawn.filter)
	spawn.limits, spawn.limits_len = &w.sandbox.rlimits[0], C.size_t(len(w.sandbox.rlimits))
	pinned.Pin(spawn.limits)
	strs, err := joinStrings([]string{file, attr.Dir}, argv, attr.Env)
	if err != nil {
		return nil, err
	}
	spawn.strings = (*C.char)(unsafe.Pointer(&strs[0]))
	pinned.Pin(spawn.strings)

	// syscall.ForkLock is not needed: the child inherits three descriptors, whatever others are open.
	result := C.sandbox_start(&spawn)
	if result.pid > 0 {
		if result.listener >= 0 {
			w.supervisors = append(w.supervisors, supervisor.New(int(result.listener), w.roots))
		}
		p, _ := os.FindProcess(int(result.pid)) // never fails on Unix
		w.processes.programs = append(w.processes.programs, p)
		return p, nil
	}
	errno := syscall.Errno(result.failure)
	switch result.step {
	case C.SANDBOX_STEP_CONFINE:
		return nil, &StartError{errno}
	case C.SANDBOX_STEP_CHDIR:
		return nil, &os.PathError{Op: "chdir", Path: attr.Dir, Err: errno}
	}
	return nil, &os.PathError{Op: "fork/exec", Path: file, Err: errno}
}

// rlimitMargin is by how many seconds of CPU time a single process may exceed the limit of the call, so that the
// scanner, which reports the reason, ends it first.
const rlimitMargin = 2

// rlimits are what the kernel limits for every single process. The scanner limits the sums.
type rlimits []C.struct_sandbox_limit

func newRlimits(p Policy) rlimits {
	limit := func(resource int, value uint64) C.struct_sandbox_limit {
		return C.struct_sandbox_limit{resource: C.int32_t(resource), value: C.uint64_t(value)}
	}
	limits := rlimits{
		limit(unix.RLIMIT_CORE, 0),
		limit(unix.RLIMIT_NOFILE, uint64(p.OpenFiles)),
		limit(unix.RLIMIT_FSIZE, uint64(p.FileSize)),
	}
	if p.Memory > 0 {
		limits = append(limits, limit(unix.RLIMIT_DATA, uint64(p.Memory)))
	}
	if p.CPU > 0 {
		limits = append(limits, limit(unix.RLIMIT_CPU, uint64(p.CPU/time.Second)+rlimitMargin))
	}
	return limits
}

// joinStrings joins strings, each followed by NUL.
func joinStrings(lists ...[]string) ([]byte, error) {
	size := 0
	for _, list := range lists {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return nil, errors.New("a string for a program contains NUL")
			}
			size += len(s) + 1
		}
	}
	joined := make([]byte, 0, size)
	for _, list := range lists {
		for _, s := range list {
			joined = append(append(joined, s...), 0)
		}
	}
	return joined, nil
}
