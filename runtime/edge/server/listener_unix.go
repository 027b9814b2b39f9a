//go:build unix

package server

import "golang.org/x/sys/unix"

// hasPending reports whether Accept has a connection to return.
func (l *Listener) hasPending() (pending bool) {
	l.control(func(fd int) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		pending = n > 0 && err == nil
	})
	return pending
}
