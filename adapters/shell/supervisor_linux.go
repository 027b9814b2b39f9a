//go:build linux && cgo

package shell

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A supervisor answers what the processes of one program may not do by themselves: to change modes, groups and times of files, which is no right of Landlock. It does it
// for them, where the file lies in the grounds of their cell, with the rights that they have.
//
// Nothing is looked up twice: what a process says is read once, what it names is opened once, and that very descriptor is judged and changed. Nothing is ever sent back to
// the kernel to go on with, because the process could have changed by then what it said.
type supervisor struct {
	listener listener
	grounds  grounds
	own      *identity // of the thread, from the first notice on
	ended    chan struct{}

	mu    sync.Mutex
	file  *os.File // the listener, once there is something to answer; guarded by mu
	begun bool     // or ended before; guarded by mu
}

// supervise takes a listener, which is closed in the end.
func (k *cell) supervise(l int) {
	_ = unix.SetNonblock(l, true) // what would make it wait is not asked before there is an answer
	k.supervisors = append(k.supervisors, &supervisor{listener: listener(l), grounds: k.grounds, ended: make(chan struct{})})
}

// begin begins to answer, unless that has begun or ended. Most programs ask for nothing, and have no goroutine of their own for it.
func (s *supervisor) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return
	}
	s.begun, s.file = true, os.NewFile(uintptr(s.listener), "seccomp listener")
	go s.run(s.file)
}

// end lets a supervisor end.
func (s *supervisor) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.file != nil:
		_ = s.file.SetReadDeadline(time.Unix(0, 0)) // to close it here would be to wait for what it does
	case !s.begun:
		s.begun = true
		_ = unix.Close(int(s.listener))
		close(s.ended)
	}
}

// run ends when the last process has, or with end. What asks then is told that there is no such call.
func (s *supervisor) run(file *os.File) {
	defer close(s.ended)
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) (over bool) {
		for {
			notice, more := listener(fd).pending()
			if !notice {
				return !more
			}
			if s.serve(listener(fd)) != nil {
				return true
			}
		}
	})
}

// awaitExits waits until all programs of a job have ended, and meanwhile begins the supervisors that are asked for something; then those that still can be.
func (k *cell) awaitExits(programs []*os.Process) {
	var idle []*supervisor
	if k != nil {
		idle = slices.Clone(k.supervisors)
	}
	for _, p := range programs {
		if err := p.WithHandle(func(handle uintptr) { idle = attend(idle, int32(handle)) }); err != nil {
			idle = begin(idle)
		}
		waitExit(p.Pid)
	}
	begin(idle)
}

// attend begins the supervisors that are asked for something until a program has ended, and returns those that were not and still can be.
func attend(idle []*supervisor, program int32) []*supervisor {
	for len(idle) > 0 {
		wait := []unix.PollFd{{Fd: program, Events: unix.POLLIN}}
		for _, s := range idle {
			wait = append(wait, unix.PollFd{Fd: int32(s.listener), Events: unix.POLLIN})
		}
		if _, err := unix.Poll(wait, -1); err == unix.EINTR {
			continue
		} else if err != nil { // nobody would see what is asked for
			return begin(idle)
		}
		still := idle[:0]
		for i, s := range idle {
			switch events := wait[i+1].Revents; {
			case events&unix.POLLIN != 0:
				s.begin()
			case events == 0:
				still = append(still, s)
			}
		}
		if idle = still; wait[0].Revents != 0 {
			break
		}
	}
	return idle
}

// begin begins supervisors, and leaves none.
func begin(idle []*supervisor) []*supervisor {
	for _, s := range idle {
		s.begin()
	}
	return nil
}

// serve answers a notice. Its error is that the thread is no longer what it was.
func (s *supervisor) serve(l listener) error {
	if s.own == nil {
		runtime.LockOSThread() // to the end, and with it goes the thread
		status, err := asker(unix.Gettid()).status()
		if err != nil {
			return err
		}
		own, err := identityIn(status)
		if err != nil {
			return err
		}
		s.own = &own
	}
	n, errno := l.hear()
	if errno != 0 {
		return nil
	}
	r, errno := newRequest(&n)
	defer r.close()
	status, err := asker(n.thread).status()
	if !l.waits(&n) {
		return nil
	}
	who, wrong := identityIn(status)
	if errno == 0 && (err != nil || wrong != nil) {
		errno = unix.EPERM
	}
	if errno == 0 {
		if errno, err = s.actAs(who, func() unix.Errno { return s.change(r, func() bool { return l.waits(&n) }) }); err != nil {
			return err
		}
	}
	l.answer(&n, errno)
	return nil
}

// actAs does something with the identity of a program, or with less. Its error is that the thread did not get its own back.
func (s *supervisor) actAs(who identity, do func() unix.Errno) (unix.Errno, error) {
	who.rights &= ofConfined
	errno := unix.EPERM
	if s.own.become(who) == nil {
		errno = do()
	}
	if err := s.own.rights.take(); err != nil {
		return errno, err
	}
	return errno, who.become(*s.own)
}

// change does what a request asks for, unless the program has been killed while it was looked up.
func (s *supervisor) change(r *request, wanted func() bool) unix.Errno {
	fd, errno := r.open()
	if errno != 0 {
		return errno
	}
	defer unix.Close(fd)
	if !s.grounds.hold(fd) || !wanted() {
		return unix.EPERM
	}
	return r.change.apply(fd)
}

// unsupervise ends the supervisors of a cell whose programs have ended, and reports whether they have: one may be kept by a file system that does not answer.
func (k *cell) unsupervise() bool {
	for _, s := range k.supervisors {
		s.end()
	}
	for _, s := range k.supervisors {
		select {
		case <-s.ended:
			continue
		default:
		}
		select {
		case <-s.ended:
		case <-time.After(unkillable):
			return false
		}
	}
	k.supervisors = nil
	return true
}

// supervised waits until the supervisors have ended.
func (k *cell) supervised() {
	for _, s := range k.supervisors {
		<-s.ended
	}
}
