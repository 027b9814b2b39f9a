//go:build linux && cgo

package shell

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A supervisor answers what the processes of one program may not do by themselves: to change modes, groups and times of files, which is no right of Landlock. It does it
// for them, where the file lies in the grounds of their cell, with the rights that they have.
//
// Nothing is looked up twice: what a process says is read once, what it names is opened once, and that very descriptor is judged and changed. Nothing is ever sent back to
// the kernel to go on with, because the process could have changed by then what it said.
type supervisor struct {
	file    *os.File // the listener
	grounds grounds
	own     *identity // of the thread, from the first notice on
	ended   chan struct{}
}

// supervise begins to answer a listener, which it closes in the end.
func (k *cell) supervise(l int) {
	_ = unix.SetNonblock(l, true) // what would make it wait is not asked before there is an answer
	s := &supervisor{file: os.NewFile(uintptr(l), "seccomp listener"), grounds: k.grounds, ended: make(chan struct{})}
	k.supervisors = append(k.supervisors, s)
	go s.run()
}

// run ends when the last process has, or with end. What asks then is told that there is no such call.
func (s *supervisor) run() {
	defer close(s.ended)
	defer s.file.Close()
	raw, err := s.file.SyscallConn()
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
		_ = s.file.SetReadDeadline(time.Unix(0, 0)) // to close it here would be to wait for what it does
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
