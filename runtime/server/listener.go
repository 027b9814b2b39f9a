package server

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// establishTime is how long connections that clients have begun to establish take to be established
// when a listener closes.
const establishTime = 20 * time.Millisecond

// gracefulListener is a TCP listener that can be closed without a reset of the connections that the
// kernel has established and that Accept has not returned yet. A proxy cannot send a request from such
// a connection to another server, because it does not know whether the request was carried out.
type gracefulListener struct{ *net.TCPListener }

// Accept returns net.ErrClosed when, after a call of refuseNew, no connection is left to accept.
func (l gracefulListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.TCPListener.Accept()
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
			return conn, err
		}
		if !l.hasPending() {
			return nil, net.ErrClosed
		}
		l.SetDeadline(time.Now().Add(establishTime))
	}
}

// refuseNew makes the kernel ignore new clients, who try again and are refused when the listener is
// closed, and ends Accept when it has returned the others.
func (l gracefulListener) refuseNew() {
	l.control(ignoreClients)
	l.SetDeadline(time.Now().Add(establishTime))
}

func (l gracefulListener) hasPending() (pending bool) {
	l.control(func(fd int) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		pending = n > 0 && err == nil
	})
	return pending
}

func (l gracefulListener) control(f func(fd int)) {
	if raw, err := l.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}
