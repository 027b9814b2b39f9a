package supervisor

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// AttrSyscall is a system call by which the owner of a file changes its mode, its group or its
// times.
type AttrSyscall struct {
	Number uint32

	dir            int // the argument with a directory descriptor, or a file descriptor if there is no path
	path           int
	flags          int
	value          int // the first argument with the new value
	kind           attrKind
	noFollow       bool // a link is changed itself
	allowsNullPath bool // a null path means the file of the descriptor
}

// noArg means that a call has no argument of the kind.
const noArg = -1

// attrKind says which attribute a call changes, and how it passes the new value.
type attrKind int

const (
	attrMode         attrKind = iota
	attrOwner                 // a user and a group
	attrTimesNano             // the address of two timespec, or null
	attrTimesMicro            // the address of two timeval, or null
	attrTimesSeconds          // the address of a utimbuf, or null
)

// AttrSyscalls lists the supervised calls by architecture, as in runtime.GOARCH.
var AttrSyscalls = map[string][]AttrSyscall{
	"amd64": slices.Concat(commonAttrSyscalls, []AttrSyscall{
		{Number: 90, dir: noArg, path: 0, flags: noArg, value: 1, kind: attrMode},                          // chmod
		{Number: 92, dir: noArg, path: 0, flags: noArg, value: 1, kind: attrOwner},                         // chown
		{Number: 94, dir: noArg, path: 0, flags: noArg, value: 1, kind: attrOwner, noFollow: true},         // lchown
		{Number: 132, dir: noArg, path: 0, flags: noArg, value: 1, kind: attrTimesSeconds},                 // utime
		{Number: 235, dir: noArg, path: 0, flags: noArg, value: 1, kind: attrTimesMicro},                   // utimes
		{Number: 261, dir: 0, path: 1, flags: noArg, value: 2, kind: attrTimesMicro, allowsNullPath: true}, // futimesat
	}),
	"arm64":   commonAttrSyscalls,
	"riscv64": commonAttrSyscalls,
}

// commonAttrSyscalls exist on all architectures.
var commonAttrSyscalls = []AttrSyscall{
	{Number: unix.SYS_FCHMOD, dir: 0, path: noArg, flags: noArg, value: 1, kind: attrMode},
	{Number: unix.SYS_FCHMODAT, dir: 0, path: 1, flags: noArg, value: 2, kind: attrMode},
	{Number: unix.SYS_FCHMODAT2, dir: 0, path: 1, flags: 3, value: 2, kind: attrMode},
	{Number: unix.SYS_FCHOWN, dir: 0, path: noArg, flags: noArg, value: 1, kind: attrOwner},
	{Number: unix.SYS_FCHOWNAT, dir: 0, path: 1, flags: 4, value: 2, kind: attrOwner},
	{Number: unix.SYS_UTIMENSAT, dir: 0, path: 1, flags: 3, value: 2, kind: attrTimesNano, allowsNullPath: true},
}

// ModeArg returns the index of the argument that holds a file mode, if the call has one.
func (c AttrSyscall) ModeArg() (index uint32, ok bool) { return uint32(c.value), c.kind == attrMode }

// attrChange holds the new attributes of a file.
type attrChange struct {
	kind        attrKind
	mode        uint32
	user, group uint32            // -1: unchanged
	times       *[2]unix.Timespec // nil: the current time
}

// readChange reads the new attributes from the arguments of a call.
func (c AttrSyscall) readChange(t tracee, n *notification) (change attrChange, errno unix.Errno) {
	arg := n.arguments[c.value]
	change.kind = c.kind
	switch {
	case c.kind == attrMode:
		change.mode = uint32(arg)
	case c.kind == attrOwner:
		change.user, change.group = uint32(arg), uint32(n.arguments[c.value+1])
	case arg == 0:
	case c.kind == attrTimesNano:
		var times [2]unix.Timespec
		times, errno = readPair[unix.Timespec](t, arg)
		change.times = &times
	case c.kind == attrTimesMicro:
		var times [2]unix.Timeval
		times, errno = readPair[unix.Timeval](t, arg)
		change.times = &[2]unix.Timespec{
			{Sec: times[0].Sec, Nsec: times[0].Usec * 1000},
			{Sec: times[1].Sec, Nsec: times[1].Usec * 1000},
		}
		if max(uint64(times[0].Usec), uint64(times[1].Usec)) >= 1e6 && errno == 0 {
			errno = unix.EINVAL
		}
	case c.kind == attrTimesSeconds:
		var times [2]int64
		times, errno = readPair[int64](t, arg)
		change.times = &[2]unix.Timespec{{Sec: times[0]}, {Sec: times[1]}}
	}
	return change, errno
}

// SetIDBits are the mode bits that give rights to processes that run the file, or create files in
// the directory.
const SetIDBits = unix.S_ISUID | unix.S_ISGID

// apply changes the open file with the identity of this thread.
func (c attrChange) apply(fd int) unix.Errno {
	switch c.kind {
	case attrMode:
		if c.mode&SetIDBits != 0 {
			return unix.EPERM
		}
		return toErrno(unix.Chmod(DescriptorPath(fd), c.mode))
	case attrOwner:
		return toErrno(unix.Fchownat(fd, "", int(int32(c.user)), int(int32(c.group)), unix.AT_EMPTY_PATH))
	}
	var empty byte
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		uintptr(unsafe.Pointer(c.times)), unix.AT_EMPTY_PATH, 0, 0)
	return errno
}
