//go:build linux && cgo

package shell

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A request is a change that a thread asks for: what is to be changed, and how. All of it is read once.
type request struct {
	base   int    // an open folder, or file; AT_FDCWD where path is absolute
	path   string // from there; empty: what base is
	link   bool   // a link at the end of path is itself meant
	change wanted
}

// allFlags of the calls that have flags.
const allFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH

// newRequest reads a notice of a call. The caller closes the request. The errors are those of the call.
func newRequest(n *notice) (r *request, errno unix.Errno) {
	c, known := changeBy(uint32(n.number))
	if !known {
		return nil, unix.EPERM
	}
	a, flags := asker(n.thread), uint32(0)
	if c.flags != none {
		flags = uint32(n.arguments[c.flags])
	}
	r = &request{base: unix.AT_FDCWD, link: c.link || flags&unix.AT_SYMLINK_NOFOLLOW != 0}
	if r.change, errno = c.read(a, n); errno != 0 {
		return nil, errno
	}
	if flags&^allFlags != 0 {
		return nil, unix.EINVAL
	}
	at := int32(unix.AT_FDCWD)
	if c.at != none {
		at = int32(n.arguments[c.at])
	}
	pathless := c.pathless && n.arguments[c.path] == 0 && at != unix.AT_FDCWD
	if pathless && flags != 0 {
		return nil, unix.EINVAL
	}
	if c.path == none || pathless {
		r.base, errno = a.file(at)
		return r, errno
	}
	if r.path, errno = a.path(n.arguments[c.path]); errno != 0 {
		return nil, errno
	}
	if r.path == "" && flags&unix.AT_EMPTY_PATH == 0 {
		return nil, unix.ENOENT
	}
	if descriptor, rest, own := r.throughOwn(); own {
		at, r.path = descriptor, rest
	}
	switch {
	case strings.HasPrefix(r.path, "/"):
	case at == unix.AT_FDCWD:
		r.base, errno = a.folder()
	default:
		r.base, errno = a.file(at)
	}
	return r, errno
}

// throughOwn reports that the path leads through a name that /proc has for a descriptor of the process, as the C library's does where the kernel has no call of its own. The
// server, which walks the path, would come to one of the server's.
func (r *request) throughOwn() (descriptor int32, rest string, own bool) {
	for _, folder := range []string{"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"} {
		name, found := strings.CutPrefix(r.path, folder)
		if !found {
			continue
		}
		number, rest, deeper := strings.Cut(name, "/")
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || strconv.FormatInt(n, 10) != number || n < 0 || r.link && !deeper {
			return 0, "", false
		}
		if rest = strings.TrimLeft(rest, "/"); deeper && rest == "" {
			rest = "."
		}
		return int32(n), rest, true
	}
	return 0, "", false
}

// open opens what is to be changed, as the kernel would for the thread: with the identity of this one, which must be the same. Links such as those below /proc/self lead to
// what is the server's, and are not followed.
func (r *request) open() (int, unix.Errno) {
	if r.path == "" {
		fd, err := unix.FcntlInt(uintptr(r.base), unix.F_DUPFD_CLOEXEC, 3)
		return fd, errnoOf(err)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if r.link {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(r.base, r.path, &how)
	return fd, errnoOf(err)
}

func (r *request) close() {
	if r != nil && r.base >= 0 {
		unix.Close(r.base)
	}
}

// errnoOf is the error of a system call, as who asks is to get it.
func errnoOf(err error) unix.Errno {
	if errno, is := err.(unix.Errno); is {
		return errno
	}
	if err != nil {
		return unix.EPERM
	}
	return 0
}
