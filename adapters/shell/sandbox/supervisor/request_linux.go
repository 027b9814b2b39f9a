package supervisor

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// request is a change that a thread asks for: which file, and which attributes. Everything in it is read once.
type request struct {
	base     int    // an open directory or file; AT_FDCWD if path is absolute
	path     string // relative to base; empty: base itself
	noFollow bool   // a link at the end of path is changed itself
	change   attrChange
}

// knownFlags are the flags that the supervised calls accept.
const knownFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH

// newRequest reads the arguments of a call. The caller closes the request, also after an error, which is the error
// that the call returns.
func newRequest(n *notification) (r *request, errno unix.Errno) {
	c, ok := findAttrSyscall(uint32(n.number))
	if !ok {
		return nil, unix.EPERM
	}
	t, flags := tracee(n.thread), uint32(0)
	if c.flags != noArg {
		flags = uint32(n.arguments[c.flags])
	}
	r = &request{base: unix.AT_FDCWD, noFollow: c.noFollow || flags&unix.AT_SYMLINK_NOFOLLOW != 0}
	if r.change, errno = c.readChange(t, n); errno != 0 {
		return nil, errno
	}
	if flags&^knownFlags != 0 {
		return nil, unix.EINVAL
	}
	dir := int32(unix.AT_FDCWD)
	if c.dir != noArg {
		dir = int32(n.arguments[c.dir])
	}
	nullPath := c.allowsNullPath && n.arguments[c.path] == 0 && dir != unix.AT_FDCWD
	if nullPath && flags != 0 {
		return nil, unix.EINVAL
	}
	if c.path == noArg || nullPath {
		r.base, errno = t.openFile(dir)
		return r, errno
	}
	if r.path, errno = t.readPath(n.arguments[c.path]); errno != 0 {
		return nil, errno
	}
	if r.path == "" && flags&unix.AT_EMPTY_PATH == 0 {
		return nil, unix.ENOENT
	}
	if fd, rest, ok := r.splitDescriptorPath(); ok {
		dir, r.path = fd, rest
	}
	switch {
	case strings.HasPrefix(r.path, "/"):
	case dir == unix.AT_FDCWD:
		r.base, errno = t.openDir()
	default:
		r.base, errno = t.openFile(dir)
	}
	return r, errno
}

// splitDescriptorPath splits a path such as /proc/self/fd/7/rest. C libraries use such paths where the kernel has no
// call of its own. If the server resolved one, it would reach a descriptor of the server.
func (r *request) splitDescriptorPath() (fd int32, rest string, ok bool) {
	for _, dir := range []string{"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"} {
		name, found := strings.CutPrefix(r.path, dir)
		if !found {
			continue
		}
		number, rest, deeper := strings.Cut(name, "/")
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || strconv.FormatInt(n, 10) != number || n < 0 || r.noFollow && !deeper {
			return 0, "", false
		}
		if rest = strings.TrimLeft(rest, "/"); deeper && rest == "" {
			rest = "."
		}
		return int32(n), rest, true
	}
	return 0, "", false
}

// open opens the file to change as the kernel would for the calling thread, whose identity this thread must have.
// Magic links such as /proc/self/exe lead to objects of the server and are not followed.
func (r *request) open() (int, unix.Errno) {
	if r.path == "" {
		fd, err := unix.FcntlInt(uintptr(r.base), unix.F_DUPFD_CLOEXEC, 3)
		return fd, toErrno(err)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if r.noFollow {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(r.base, r.path, &how)
	return fd, toErrno(err)
}

func (r *request) close() {
	if r != nil && r.base >= 0 {
		unix.Close(r.base)
	}
}

// toErrno returns the error that the program gets.
func toErrno(err error) unix.Errno {
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	if err != nil {
		return unix.EPERM
	}
	return 0
}
