package supervisor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

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
