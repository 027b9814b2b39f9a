package supervisor

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

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
	calls := AttrSyscalls[runtime.GOARCH]
	i := slices.IndexFunc(calls, func(c AttrSyscall) bool { return c.Number == uint32(n.number) })
	if i < 0 {
		return nil, unix.EPERM
	}
	c := calls[i]
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
		r.base, errno = t.open("cwd", unix.ENOENT)
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

// listener is the descriptor on which the kernel reports the calls that a filter forwards; see seccomp_unotify(2).
type listener int

// notification describes one call that waits for a response: struct seccomp_notif.
type notification struct {
	id        uint64
	thread    uint32 // in the PID namespace of the listener; 0 if the thread is not in it
	_         uint32
	number    int32
	arch      uint32
	_         uint64
	arguments [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	_     int64
	error int32
	_     uint32
}

func (l listener) ioctl(command uint, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), uintptr(command), uintptr(arg))
	return errno
}

// poll reports whether a notification is pending, and whether there can be another one later.
func (l listener) poll() (pending, open bool) {
	fds := []unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, 0); err == nil {
			break
		} else if err != unix.EINTR {
			return false, false
		}
	}
	events := fds[0].Revents
	return events&unix.POLLIN != 0, events&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) == 0
}

// receive takes the next notification. It fails when the call was interrupted in the meantime.
func (l listener) receive() (n notification, errno unix.Errno) {
	errno = l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
	return n, errno
}

// isValid reports whether the call of a notification still waits. If it does, its thread ID has not been reused.
func (l listener) isValid(n *notification) bool {
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) == 0
}

// respond lets the call return 0 or fail with errno. It has no effect when the thread was killed.
func (l listener) respond(n *notification, errno unix.Errno) {
	_ = l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&response{id: n.id, error: -int32(errno)}))
}
