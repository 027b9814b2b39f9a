//go:build linux && cgo

package shell

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/hcl"
)

// An asker is a thread that waits for an answer. What is read of it counts only if it still waits afterwards: its number may have become another's.
type asker int

// pageSize is the smallest there is: what is on a page can be read whole or not at all.
const pageSize = 4096

// read copies from its memory: as much as there is, up to the length of into.
func (a asker) read(from uint64, into []byte) (int, unix.Errno) {
	parts := []unix.RemoteIovec{{Base: uintptr(from), Len: len(into)}}
	if first := pageSize - int(from%pageSize); first < len(into) {
		parts = []unix.RemoteIovec{{Base: uintptr(from), Len: first}, {Base: uintptr(from) + uintptr(first), Len: len(into) - first}}
	}
	local := unix.Iovec{Base: &into[0]}
	local.SetLen(len(into))
	n, err := unix.ProcessVMReadv(int(a), []unix.Iovec{local}, parts, 0)
	switch {
	case err == unix.EFAULT:
		return 0, unix.EFAULT
	case err != nil: // it does not let itself be looked at
		return 0, unix.EPERM
	}
	return n, 0
}

// path is a text in its memory that ends with NUL.
func (a asker) path(at uint64) (string, unix.Errno) {
	var text [unix.PathMax]byte
	n, errno := a.read(at, text[:])
	if errno != 0 {
		return "", errno
	}
	end := bytes.IndexByte(text[:n], 0)
	switch {
	case end >= 0:
		return string(text[:end]), 0
	case n == len(text):
		return "", unix.ENAMETOOLONG
	}
	return "", unix.EFAULT
}

// pairOf reads two values of its memory that stand one behind the other.
func pairOf[T any](a asker, at uint64) (pair [2]T, errno unix.Errno) {
	size := int(unsafe.Sizeof(pair))
	n, errno := a.read(at, unsafe.Slice((*byte)(unsafe.Pointer(&pair)), size))
	if errno == 0 && n < size {
		errno = unix.EFAULT
	}
	return pair, errno
}

// folder opens its working folder.
func (a asker) folder() (int, unix.Errno) {
	return a.open("cwd", unix.ENOENT)
}

// file opens what one of its descriptors is about. The descriptor itself is not taken: to close one that is not O_PATH would give up the locks that the server has on the
// same file.
func (a asker) file(descriptor int32) (int, unix.Errno) {
	return a.open(fmt.Sprintf("fd/%d", descriptor), unix.EBADF)
}

func (a asker) open(name string, without unix.Errno) (int, unix.Errno) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/%s", a, name), unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ENOENT:
		return -1, without
	case err != nil:
		return -1, unix.EPERM
	}
	return fd, 0
}

// status is what /proc says of it.
func (a asker) status() ([]byte, error) {
	return os.ReadFile(fmt.Sprintf("/proc/%d/status", a))
}

// watchable blames a /proc that has other numbers for processes than the kernel, which tells of them by those that they have for the server: who asks would be taken for
// somebody else, and be given what that one may do.
func (c *confinement) watchable() error {
	if self, err := os.Readlink("/proc/self"); err == nil && self == strconv.Itoa(os.Getpid()) {
		return nil
	}
	return hcl.Blame(c, "What confined programs do is looked up in /proc, which is not that of the server: it runs in a namespace of process ids of its own, and what is mounted there belongs to another, or nothing is. Mount its own (unshare --mount-proc), or write sandbox { mode = %q } to let the programs do all that the server may.", unconfined)
}
