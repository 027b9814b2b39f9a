//go:build linux && cgo

package sandbox

/*
#include "spawn.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/adapters/guard"
	"hatchel/adapters/sandbox/supervisor"
)

// Sandbox confines the programs of one configuration block. It is safe for concurrent use.
type Sandbox struct {
	Policy
	abi        ABI
	filter     filter
	rlimits    rlimits
	readRules  []pathRule    // for Policy.Read, without the files of the system
	writeRules []pathRule    // for Policy.Write
	readable   []string      // Policy.Read without symbolic links
	writable   []string      // Policy.Write without symbolic links
	system     []string      // the directories of the system
	around     []string      // directories of the system and of Policy.Path that contain Policy.Config
	ancestors  []fs.FileInfo // Policy.Config and the directories that contain it
	sessions   *guard.Sessions

	mu     sync.Mutex
	idle   []*Workspace // guarded by mu
	closed bool         // guarded by mu
}

// The reasons of an UnsupportedError.
const (
	noLandlock = "Programs are confined by Landlock, which Linux has since 5.13. The kernel of this machine " +
		"does not have it, or it is turned off (lsm= on the kernel command line). Turn it on, run the server on " +
		"a newer kernel, or write sandbox { mode = \"none\" } to give the programs all rights of the server."
	foreignProc = "The server looks up confined programs in /proc, which is not mounted or belongs to another PID " +
		"namespace than the server. Mount it anew (unshare --mount-proc), or write sandbox { mode = \"none\" } to " +
		"give the programs all rights of the server."
	noListener = "The server decides which modes, groups and times of files a confined program may change, and " +
		"the kernel does not forward these system calls to it: something around the server, such as a container " +
		"runtime, listens to system calls itself or forbids seccomp (%v). Run the server elsewhere, or write " +
		"sandbox { modes = true } to let programs change them for all files that the server's user owns."
	noGuard = "The server could not start the process that ends programs with it (%v). Let the server run its own " +
		"executable, or write sandbox { mode = \"none\" } to give the programs all rights of the server."
	linkInWritable = "The path %q is below %q, which programs may write to, and there is a symbolic link on the " +
		"way. A program may have made the link, so it is not followed. Name the place that it leads to."
)

// New returns a sandbox that enforces a policy with a version of Landlock, which this kernel has. The error is an
// *UnsupportedError.
func New(policy Policy, abi ABI) (*Sandbox, error) {
	if abi == 0 {
		return nil, &UnsupportedError{noLandlock}
	}
	s := &Sandbox{Policy: policy, abi: abi, rlimits: newRlimits(policy)}
	var err error
	if s.filter, err = newFilter(policy, abi); err != nil {
		return nil, err
	}
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, &UnsupportedError{foreignProc}
	}
	if _, err := listenerFlags(); err != nil && !s.Modes {
		return nil, &UnsupportedError{fmt.Sprintf(noListener, err)}
	}
	if s.sessions, err = guard.OpenSessions(); err != nil {
		return nil, &UnsupportedError{fmt.Sprintf(noGuard, err)}
	}
	s.findAncestors()
	s.system, s.around = s.separate(systemDirs())
	path, around := s.separate(splitPath(policy.Path))
	s.around = append(s.around, around...)
	dirs, _ := s.separate(policy.Dirs)
	s.readable, s.writable = resolveAll(slices.Concat(policy.Read, dirs)), resolveAll(policy.Write)
	var read []string
	for _, path := range slices.Concat(policy.Read, dirs, path) {
		if path = filepath.Clean(path); !isWithin(path, s.system) && !isWithin(path, read) {
			read = append(read, path)
		}
	}
	s.Read = read
	s.readRules, s.writeRules = newPathRules(s.Read, s.writable), newPathRules(s.Write, s.writable)
	return s, s.checkLinks()
}

// checkLinks rejects paths with a link that programs could have made.
func (s *Sandbox) checkLinks() error {
	for _, p := range slices.Concat(s.readRules, s.writeRules) {
		fd, err := p.open()
		if err == nil {
			unix.Close(fd)
		} else if errors.Is(err, unix.ELOOP) {
			return &UnsupportedError{fmt.Sprintf(linkInWritable, p.path, p.base)}
		}
	}
	return nil
}

// listenerFlags returns the seccomp flags that ask for a listener, or why there can be none: a process has at most one.
// With the second flag, which Linux has since 5.19, a signal that the program handles does not interrupt a call that
// is being served.
var listenerFlags = sync.OnceValues(func() (flags uint32, err error) {
	for _, flags := range []uint32{
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
	} {
		failure := C.sandbox_probe_listener(C.uint(flags))
		if failure == 0 {
			return flags, nil
		}
		if err = syscall.Errno(failure); failure != C.int(unix.EINVAL) {
			break
		}
	}
	return 0, err
})

// Start starts a confined program with the directory, the environment and the three files of attr. The child confines
// itself before it executes the program, which package os cannot do; a helper program between the two would cost as
// much as a short program does. The error is a *StartError if the program could not be confined.
func (w *Workspace) Start(file string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if err := w.allowProgram(file); err != nil {
		return nil, &StartError{err}
	}
	session, err := w.sandbox.sessions.Take()
	if err != nil {
		return nil, &StartError{err}
	}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	spawn := C.struct_sandbox_spawn{
		ruleset:    C.int(w.rules.Fd()),
		session:    (*C.int32_t)(unsafe.Pointer(session)), // not memory of Go
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
		w.sandbox.sessions.Release(session)
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
		w.sessions = append(w.sessions, session)
		return p, nil
	}
	w.sandbox.sessions.Release(session)
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
