//go:build linux && cgo

package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"hatchel/adapters/guard"
)

// exitWatcher waits for the exits of the programs of a call and for the first notification of each
// supervisor, with one epoll instance that the runtime's poller watches. It blocks no thread and
// serves one call at a time.
type exitWatcher struct {
	fd   int      // the epoll instance
	file *os.File // its owner
	raw  syscall.RawConn
}

func newExitWatcher() (*exitWatcher, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	_ = unix.SetNonblock(fd, true) // required for the poller of the runtime
	w := &exitWatcher{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		w.file.Close()
		return nil, err
	}
	return w, nil
}

func (w *exitWatcher) close() {
	if w != nil {
		w.file.Close()
	}
}

// Subjects of events.
const (
	eventExit = iota
	eventNotification
)

// add reports the next event of fd once. The descriptor is forgotten when it is closed.
func (w *exitWatcher) add(fd, kind, index int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(kind), Pad: int32(index)}
	return unix.EpollCtl(w.fd, unix.EPOLL_CTL_ADD, fd, &event)
}

// wait calls handle for each event until it returns true. It returns false if it could not wait to
// the end.
func (w *exitWatcher) wait(handle func(kind, index int, events uint32) (done bool)) (done bool) {
	err := w.raw.Read(func(epoll uintptr) bool {
		var events [8]unix.EpollEvent
		for {
			n, err := unix.EpollWait(int(epoll), events[:], 0)
			switch {
			case err == unix.EINTR:
				continue
			case err != nil:
				return true
			case n == 0:
				return done
			}
			for _, e := range events[:n] {
				done = handle(int(e.Fd), int(e.Pad), e.Events) || done
			}
		}
	})
	return done && err == nil
}

// WaitExits waits until every program of the call has exited; none is reaped before. In the
// meantime it starts the supervisors of programs that make a supervised call, and at the end those
// that background processes may still need.
func (w *Workspace) WaitExits() {
	w.waiting.Store(true)
	defer w.waiting.Store(false)
	if !w.watchExits() {
		w.startSupervisors()
		for _, p := range w.processes.programs {
			guard.WaitExit(p.Pid)
		}
	}
}

// watchExits is WaitExits with the exit watcher. It returns false if that does not work.
func (w *Workspace) watchExits() bool {
	for i, p := range w.processes.programs {
		var addErr error
		handleErr := p.WithHandle(func(pidfd uintptr) { addErr = w.exits.add(int(pidfd), eventExit, i) })
		if handleErr != nil || addErr != nil {
			return false
		}
	}
	for i, s := range w.supervisors {
		if w.exits.add(s.FD(), eventNotification, i) != nil {
			return false
		}
	}
	running := len(w.processes.programs)
	exited := w.exits.wait(func(kind, index int, events uint32) bool {
		switch {
		case kind == eventExit:
			running--
		case events&unix.EPOLLIN != 0:
			w.supervisors[index].Start()
		default: // all processes of the supervisor have ended
			w.supervisors[index].Stop()
		}
		return running == 0
	})
	if exited {
		w.startSupervisors()
	}
	return exited
}

// startSupervisors starts the supervisors that have not been started or stopped.
func (w *Workspace) startSupervisors() {
	for _, s := range w.supervisors {
		s.Start()
	}
}
