package server

import (
	"net"
	"time"
)

// establishTime is how long connections that clients have begun to establish take to be established
// when a listener closes.
const establishTime = 20 * time.Millisecond

// Listener is a TCP listener that a Server can close without a reset of the connections that the
// kernel has established and that Accept has not returned yet. A proxy cannot send a request from such
// a connection to another server, because it does not know whether the request was carried out.
type Listener struct {
	*net.TCPListener

	// Shared says that another process, such as systemd, keeps the socket open. The connections that Accept has
	// not returned are then left to the next server.
	Shared bool
}

// Accept returns net.ErrClosed when, after a call of refuseNew, no connection is left to accept.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.TCPListener.Accept()
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
			return conn, err
		}
		if l.Shared || !l.hasPending() {
			return nil, net.ErrClosed
		}
		l.SetDeadline(time.Now().Add(establishTime))
	}
}

// refuseNew makes the kernel ignore new clients, who try again and are refused when the listener is
// closed, and ends Accept when it has returned the others. Of a shared listener it only ends Accept.
func (l *Listener) refuseNew() {
	if l.Shared {
		l.SetDeadline(time.Now())
		return
	}
	l.control(ignoreClients)
	l.SetDeadline(time.Now().Add(establishTime))
}

func (l *Listener) control(f func(fd int)) {
	if raw, err := l.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}
