//go:build linux && cgo

package shell

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A change is a call by which the owner of a file changes its mode, its group or its times, wherever it is: none of them is a right of Landlock.
// What it has no argument for is none.
type change struct {
	call     uint32
	at       int // a descriptor: of a folder, or of the file
	path     int
	flags    int
	what     int // where what is wanted begins
	of       subject
	link     bool // a link is itself meant
	pathless bool // where the address of the path is null, the descriptor is that of the file
}

const none = -1

// A subject is what a change is about, and how the call is told.
type subject int

const (
	ofMode         subject = iota
	ofGroup                // a user and a group
	ofNanoseconds          // the address of two timespec, or null
	ofMicroseconds         // the address of two timeval, or null
	ofSeconds              // the address of a utimbuf, or null
)

// changes are those calls by architecture, because old ones exist on the oldest alone.
var changes = map[string][]change{
	"amd64": slices.Concat(newChanges, []change{
		{call: 90, at: none, path: 0, flags: none, what: 1, of: ofMode},                       // chmod
		{call: 92, at: none, path: 0, flags: none, what: 1, of: ofGroup},                      // chown
		{call: 94, at: none, path: 0, flags: none, what: 1, of: ofGroup, link: true},          // lchown
		{call: 132, at: none, path: 0, flags: none, what: 1, of: ofSeconds},                   // utime
		{call: 235, at: none, path: 0, flags: none, what: 1, of: ofMicroseconds},              // utimes
		{call: 261, at: 0, path: 1, flags: none, what: 2, of: ofMicroseconds, pathless: true}, // futimesat
	}),
	"arm64":   newChanges,
	"riscv64": newChanges,
}

var newChanges = []change{
	{call: unix.SYS_FCHMOD, at: 0, path: none, flags: none, what: 1, of: ofMode},
	{call: unix.SYS_FCHMODAT, at: 0, path: 1, flags: none, what: 2, of: ofMode},
	{call: unix.SYS_FCHMODAT2, at: 0, path: 1, flags: 3, what: 2, of: ofMode},
	{call: unix.SYS_FCHOWN, at: 0, path: none, flags: none, what: 1, of: ofGroup},
	{call: unix.SYS_FCHOWNAT, at: 0, path: 1, flags: 4, what: 2, of: ofGroup},
	{call: unix.SYS_UTIMENSAT, at: 0, path: 1, flags: 3, what: 2, of: ofNanoseconds, pathless: true},
}

func changeBy(number uint32) (change, bool) {
	of := changes[runtime.GOARCH]
	i := slices.IndexFunc(of, func(c change) bool { return c.call == number })
	if i < 0 {
		return change{}, false
	}
	return of[i], true
}

// wanted is what a file is to have.
type wanted struct {
	of          subject
	mode        uint32
	user, group uint32            // -1: what it has
	times       *[2]unix.Timespec // nil: now
}

// read reads what a call wants.
func (c change) read(a asker, n *notice) (w wanted, errno unix.Errno) {
	value := n.arguments[c.what]
	w.of = c.of
	switch {
	case c.of == ofMode:
		w.mode = uint32(value)
	case c.of == ofGroup:
		w.user, w.group = uint32(value), uint32(n.arguments[c.what+1])
	case value == 0:
	case c.of == ofNanoseconds:
		var t [2]unix.Timespec
		t, errno = pairOf[unix.Timespec](a, value)
		w.times = &t
	case c.of == ofMicroseconds:
		var t [2]unix.Timeval
		t, errno = pairOf[unix.Timeval](a, value)
		w.times = &[2]unix.Timespec{{Sec: t[0].Sec, Nsec: t[0].Usec * 1000}, {Sec: t[1].Sec, Nsec: t[1].Usec * 1000}}
		if max(uint64(t[0].Usec), uint64(t[1].Usec)) >= 1e6 && errno == 0 {
			errno = unix.EINVAL
		}
	case c.of == ofSeconds:
		var t [2]int64
		t, errno = pairOf[int64](a, value)
		w.times = &[2]unix.Timespec{{Sec: t[0]}, {Sec: t[1]}}
	}
	return w, errno
}

// rightsToRunners are those that a mode gives to who runs the file, or makes files in the folder.
const rightsToRunners = unix.S_ISUID | unix.S_ISGID

// apply changes what is open, in the name of this thread.
func (w wanted) apply(fd int) unix.Errno {
	switch w.of {
	case ofMode:
		if w.mode&rightsToRunners != 0 {
			return unix.EPERM
		}
		return errnoOf(unix.Chmod(linkTo(fd), w.mode))
	case ofGroup:
		return errnoOf(unix.Fchownat(fd, "", int(int32(w.user)), int(int32(w.group)), unix.AT_EMPTY_PATH))
	}
	var empty byte
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(unsafe.Pointer(w.times)), unix.AT_EMPTY_PATH, 0, 0)
	return errno
}
