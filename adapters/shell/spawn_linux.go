//go:build linux && cgo

package shell

/*
#include <stdlib.h>
#include "spawn.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spawn starts a program with what a confinement allows and nothing else; it is never started without. The child does that itself before its program begins, which
// package os has no place for. A program between the two, which confines itself and then becomes the other, would cost as much as a short command does.
func (c *confinement) spawn(file string, words []string, attr *os.ProcAttr, k *cell) (*os.Process, error) {
	err := k.admit(c, file)
	if err != nil {
		return nil, &confineError{err}
	}
	s := C.struct_shell_spawn{rules: C.int(k.rules.Fd()), words_count: C.size_t(len(words)), env_count: C.size_t(len(attr.Env)), listen: C.uint(c.listens())}
	for i, f := range attr.Files {
		s.files[i] = C.int(f.Fd())
	}
	memory := arena{}
	defer memory.free()
	for _, text := range []struct {
		at    **C.char
		parts []string
	}{{&s.file, []string{file}}, {&s.dir, []string{attr.Dir}}, {&s.words, words}, {&s.env, attr.Env}} {
		if *text.at, err = memory.texts(text.parts); err != nil {
			return nil, err
		}
	}
	limits := c.limits()
	s.limits, s.limits_count = (*C.struct_shell_limit)(memory.copy(unsafe.Pointer(&limits[0]), uintptr(len(limits))*unsafe.Sizeof(limits[0]))), C.size_t(len(limits))
	s.filter, s.filter_length = memory.copy(unsafe.Pointer(&c.filter[0]), uintptr(len(c.filter))*unsafe.Sizeof(c.filter[0])), C.size_t(len(c.filter))

	syscall.ForkLock.Lock()
	done := C.shell_spawn(&s)
	syscall.ForkLock.Unlock()
	if done.listener >= 0 {
		k.supervise(int(done.listener))
	}
	if done.pid > 0 {
		return os.FindProcess(int(done.pid))
	}
	errno := syscall.Errno(done.failure)
	switch done.step {
	case C.SHELL_SPAWN_CONFINE:
		return nil, &confineError{errno}
	case C.SHELL_SPAWN_DIR:
		return nil, &os.PathError{Op: "chdir", Path: attr.Dir, Err: errno}
	}
	return nil, &os.PathError{Op: "fork/exec", Path: file, Err: errno}
}

// spare is by how many seconds a single process may exceed what all may use together, so that the meter, which can say why, is first.
const spare = 2

// limits are what the kernel holds every single process to. What they may have together, see meter.
func (c *confinement) limits() []C.struct_shell_limit {
	limit := func(resource int, value uint64) C.struct_shell_limit {
		return C.struct_shell_limit{resource: C.int32_t(resource), value: C.uint64_t(value)}
	}
	l := []C.struct_shell_limit{limit(unix.RLIMIT_CORE, 0), limit(unix.RLIMIT_NOFILE, uint64(c.files)), limit(unix.RLIMIT_FSIZE, uint64(c.fileSize))}
	if c.memory > 0 {
		l = append(l, limit(unix.RLIMIT_DATA, uint64(c.memory)))
	}
	if c.cpu > 0 {
		l = append(l, limit(unix.RLIMIT_CPU, uint64(c.cpu/time.Second)+spare))
	}
	return l
}

// An arena is memory of C, which may hold pointers into itself.
type arena []unsafe.Pointer

func (a *arena) copy(data unsafe.Pointer, size uintptr) unsafe.Pointer {
	p := C.CBytes(unsafe.Slice((*byte)(data), size))
	*a = append(*a, p)
	return p
}

// texts puts texts one behind the other, each with NUL behind it. A text that holds one is refused.
func (a *arena) texts(parts []string) (*C.char, error) {
	size := 1
	for _, p := range parts {
		if strings.IndexByte(p, 0) >= 0 {
			return nil, errors.New("a text for a program holds NUL")
		}
		size += len(p) + 1
	}
	var all bytes.Buffer
	all.Grow(size)
	for _, p := range parts {
		all.WriteString(p)
		all.WriteByte(0)
	}
	all.WriteByte(0)
	return (*C.char)(a.copy(unsafe.Pointer(unsafe.SliceData(all.Bytes())), uintptr(all.Len()))), nil
}

func (a *arena) free() {
	for _, p := range *a {
		C.free(p)
	}
}
