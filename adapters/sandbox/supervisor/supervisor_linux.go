package supervisor

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Supervisor serves the notifications of one program and its descendants. Its methods are safe for concurrent use.
type Supervisor struct {
	listener listener
	roots    Roots
	own      *identity     // of the serving thread; set by the first notification
	done     chan struct{} // closed after the listener is closed
	denied   atomic.Uint64 // the families of sockets that were denied, a bit for each

	mu      sync.Mutex
	file    *os.File // the listener, set by Start; guarded by mu
	started bool     // Start or Stop was called; guarded by mu
}

// New returns a supervisor that owns fd, the listener of a seccomp filter. The roots must stay open until Done.
func New(fd int, roots Roots) *Supervisor {
	return &Supervisor{listener: listener(fd), roots: roots, done: make(chan struct{})}
}

// FD returns the listener, which is readable when there is a notification. It is valid until Start or Stop.
func (s *Supervisor) FD() int { return int(s.listener) }

// Start serves notifications in a goroutine until the last process of the program has ended or Stop is called. Most
// programs make no supervised call and need no Start. After Start or Stop it does nothing.
func (s *Supervisor) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return
	}
	_ = unix.SetNonblock(int(s.listener), true) // required for the poller of the runtime
	s.started, s.file = true, os.NewFile(uintptr(s.listener), "seccomp listener")
	go s.run(s.file)
}

// Stop ends the service; calls that are made afterwards fail with ENOSYS. It does not wait for a running change.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.file != nil:
		_ = s.file.SetReadDeadline(time.Unix(0, 0)) // Close would wait for a running change
	case !s.started:
		s.started = true
		_ = unix.Close(int(s.listener))
		close(s.done)
	}
}

// Done returns a channel that is closed when the service has ended and the listener is closed.
func (s *Supervisor) Done() <-chan struct{} { return s.done }

func (s *Supervisor) run(file *os.File) {
	defer close(s.done)
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) (ended bool) {
		for {
			pending, open := listener(fd).poll()
			if !pending {
				return !open
			}
			if s.serve(listener(fd)) != nil {
				return true
			}
		}
	})
}

// serve answers one notification. It returns an error when the thread has lost its own identity.
func (s *Supervisor) serve(l listener) error {
	if s.own == nil {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		own, err := readIdentity(tracee(unix.Gettid()))
		if err != nil {
			return err
		}
		s.own = &own
	}
	n, errno := l.receive()
	if errno != 0 {
		return nil
	}
	if n.number == unix.SYS_SOCKET {
		s.denySocket(l, &n)
		return nil
	}
	r, errno := newRequest(&n)
	defer r.close()
	caller, err := readIdentity(tracee(n.thread))
	if !l.isValid(&n) {
		return nil
	}
	if errno == 0 && err != nil {
		errno = unix.EPERM
	}
	if errno == 0 {
		errno, err = s.actAs(caller, func() unix.Errno {
			return s.apply(r, func() bool { return l.isValid(&n) })
		})
		if err != nil {
			return err
		}
	}
	l.respond(&n, errno)
	return nil
}

// denySocket denies a socket and records its family.
func (s *Supervisor) denySocket(l listener, n *notification) {
	if family := uint32(n.arguments[0]); family < 64 {
		s.denied.Or(1 << family)
	}
	l.respond(n, unix.EACCES)
}

// DeniedFamilies returns the families of sockets that the program was not allowed to open: a bit for each, such as
// 1<<AF_INET.
func (s *Supervisor) DeniedFamilies() uint64 { return s.denied.Load() }

// actAs calls f with the identity of a program, or with less. It returns an error when the thread did not get its own
// identity back.
func (s *Supervisor) actAs(caller identity, f func() unix.Errno) (unix.Errno, error) {
	caller.capabilities &= keptCapabilities
	errno := unix.EPERM
	if s.own.switchTo(caller) == nil {
		errno = f()
	}
	if err := s.own.capabilities.setEffective(); err != nil {
		return errno, err
	}
	return errno, caller.switchTo(*s.own)
}

// apply makes the requested change, unless the program was killed while the file was opened.
func (s *Supervisor) apply(r *request, isValid func() bool) unix.Errno {
	fd, errno := r.open()
	if errno != 0 {
		return errno
	}
	defer unix.Close(fd)
	if !s.roots.Contains(fd) || !isValid() {
		return unix.EPERM
	}
	return r.change.apply(fd)
}
