//go:build linux && cgo

package shell

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A listener is the descriptor by which the kernel tells of calls that a filter leaves to somebody else, see seccomp_unotify(2).
type listener int

// A notice is what it tells of one call, which waits for an answer: struct seccomp_notif.
type notice struct {
	id        uint64
	thread    uint32 // in the namespace of who is told; 0: it is not in there
	_         uint32
	number    int32
	arch      uint32
	_         uint64
	arguments [6]uint64
}

// An answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	_     int64
	error int32
	_     uint32
}

func (l listener) control(command uint, about unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), uintptr(command), uintptr(about))
	return errno
}

// pending reports whether there is a notice, and whether there can be any more.
func (l listener) pending() (notice, more bool) {
	ask := []unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(ask, 0); err == nil {
			break
		} else if err != unix.EINTR {
			return false, false
		}
	}
	return ask[0].Revents&unix.POLLIN != 0, ask[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) == 0
}

// hear takes the next notice. It fails when the call has been given up meanwhile.
func (l listener) hear() (n notice, errno unix.Errno) {
	errno = l.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
	return n, errno
}

// waits reports whether the call of a notice still waits. Until then the thread is the one that made it, and what was read of it is its own.
func (l listener) waits(n *notice) bool {
	return l.control(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) == 0
}

// answer lets the call return 0 or fail. Nobody is there to hear it when the thread was killed.
func (l listener) answer(n *notice, with unix.Errno) {
	_ = l.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer{id: n.id, error: -int32(with)}))
}
