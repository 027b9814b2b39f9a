package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracee is the ID of a thread that waits for a response. What is read from it counts only if its notification is
// valid afterwards: otherwise the ID may belong to another thread.
type tracee int

// minPageSize is the smallest page size of all architectures. The bytes of one page can be read all or not at all.
const minPageSize = 4096

// read copies memory of the tracee into buf. It returns the number of bytes that could be read.
func (t tracee) read(addr uint64, buf []byte) (int, unix.Errno) {
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}
	if first := minPageSize - int(addr%minPageSize); first < len(buf) {
		remote = []unix.RemoteIovec{
			{Base: uintptr(addr), Len: first},
			{Base: uintptr(addr) + uintptr(first), Len: len(buf) - first},
		}
	}
	local := unix.Iovec{Base: &buf[0]}
	local.SetLen(len(buf))
	n, err := unix.ProcessVMReadv(int(t), []unix.Iovec{local}, remote, 0)
	switch {
	case err == unix.EFAULT:
		return 0, unix.EFAULT
	case err != nil: // the tracee cannot be inspected
		return 0, unix.EPERM
	}
	return n, 0
}

// readPath reads a string that ends with NUL.
func (t tracee) readPath(addr uint64) (string, unix.Errno) {
	var buf [unix.PathMax]byte
	n, errno := t.read(addr, buf[:])
	if errno != 0 {
		return "", errno
	}
	end := bytes.IndexByte(buf[:n], 0)
	switch {
	case end >= 0:
		return string(buf[:end]), 0
	case n == len(buf):
		return "", unix.ENAMETOOLONG
	}
	return "", unix.EFAULT
}

// readPair reads an array of two values.
func readPair[T any](t tracee, addr uint64) (pair [2]T, errno unix.Errno) {
	size := int(unsafe.Sizeof(pair))
	n, errno := t.read(addr, unsafe.Slice((*byte)(unsafe.Pointer(&pair)), size))
	if errno == 0 && n < size {
		errno = unix.EFAULT
	}
	return pair, errno
}

// openDir opens the working directory of the tracee.
func (t tracee) openDir() (int, unix.Errno) {
	return t.open("cwd", unix.ENOENT)
}

// openFile opens the file of one of the tracee's descriptors anew, with O_PATH. Closing a duplicate of the descriptor
// would release the locks that the server holds on the same file.
func (t tracee) openFile(fd int32) (int, unix.Errno) {
	return t.open(fmt.Sprintf("fd/%d", fd), unix.EBADF)
}

func (t tracee) open(name string, missing unix.Errno) (int, unix.Errno) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/%s", t, name), unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ENOENT:
		return -1, missing
	case err != nil:
		return -1, unix.EPERM
	}
	return fd, 0
}

// readStatus returns the content of /proc/TID/status.
func (t tracee) readStatus() ([]byte, error) {
	return os.ReadFile(fmt.Sprintf("/proc/%d/status", t))
}
