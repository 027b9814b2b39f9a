package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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

// identity is what the kernel checks when a thread accesses files.
type identity struct {
	user, group  int // of the file system
	groups       []uint32
	capabilities capabilities // the effective ones
}

// capabilities is a set of capabilities, as bits by their number.
type capabilities uint64

// keptCapabilities are those about files that a sandboxed program can have.
const keptCapabilities = capabilities(1) << unix.CAP_DAC_OVERRIDE

// readIdentity reads the identity of a thread.
func readIdentity(t tracee) (identity, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t))
	if err != nil {
		return identity{}, err
	}
	return parseIdentity(status)
}

// parseIdentity parses the status of a thread, see proc_pid_status(5).
func parseIdentity(status []byte) (id identity, err error) {
	const wanted = 4
	found := 0
	number := func(text string, base int) uint64 {
		n, parseErr := strconv.ParseUint(text, base, 64)
		err = errors.Join(err, parseErr)
		return n
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		switch {
		case name == "Uid" && len(fields) == 4:
			id.user = int(number(fields[3], 10)) // the last one is that of the file system
		case name == "Gid" && len(fields) == 4:
			id.group = int(number(fields[3], 10))
		case name == "CapEff" && len(fields) == 1:
			id.capabilities = capabilities(number(fields[0], 16))
		case name == "Groups":
			for _, f := range fields {
				id.groups = append(id.groups, uint32(number(f, 10)))
			}
		default:
			continue
		}
		found++
	}
	if err == nil && found != wanted {
		err = errors.New("/proc/TID/status has an unknown format")
	}
	return id, err
}

// switchTo gives this locked thread another identity, if its capabilities allow it. Raw system calls are used because
// those of package syscall change all threads of the process.
func (id identity) switchTo(to identity) error {
	if !slices.Equal(id.groups, to.groups) {
		groups := uintptr(unsafe.Pointer(unsafe.SliceData(to.groups)))
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(to.groups)), groups, 0); errno != 0 {
			return errno
		}
	}
	if id.group != to.group {
		_, _ = unix.SetfsgidRetGid(to.group)
		if now, err := unix.SetfsgidRetGid(-1); err != nil || now != to.group {
			return unix.EPERM
		}
	}
	if id.user != to.user {
		_, _ = unix.SetfsuidRetUid(to.user)
		if now, err := unix.SetfsuidRetUid(-1); err != nil || now != to.user {
			return unix.EPERM
		}
	}
	return to.capabilities.setEffective()
}

// setEffective makes exactly these capabilities effective. The permitted ones stay.
func (c capabilities) setEffective() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Effective = uint32(c) & data[0].Permitted
	data[1].Effective = uint32(c>>32) & data[1].Permitted
	return unix.Capset(&header, &data[0])
}
