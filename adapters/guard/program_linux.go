package guard

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Program is a program that was started with Start.
type Program struct {
	connection *os.File
	pid        int
	exited     chan struct{} // closed when exit is set
	exit       syscall.WaitStatus
	err        error // the helper does not know how the program has exited
}

// Start starts a program with the directory, the environment and the three files of attr, in a session of its
// own. Processes that it leaves behind live on until this process ends. The error is that of os.StartProcess.
func Start(file string, argv []string, attr *os.ProcAttr) (*Program, error) {
	startError := func(err error) (*Program, error) {
		return nil, &os.PathError{Op: "fork/exec", Path: file, Err: err}
	}
	connection, err := programs.connect(attr.Files)
	if err != nil {
		return startError(err)
	}
	env := attr.Env
	if env == nil {
		env = os.Environ()
	}
	started := status{}
	if err = (request{file, attr.Dir, argv, env}).write(connection); err == nil {
		started, err = readStatus(connection)
	}
	if err == nil && started.PID == 0 {
		err = syscall.Errno(started.Value)
	}
	if err != nil {
		connection.Close()
		return startError(err)
	}
	p := &Program{connection: connection, pid: int(started.PID), exited: make(chan struct{})}
	go p.watch()
	return p, nil
}

func (p *Program) watch() {
	exit, err := readStatus(p.connection)
	p.exit, p.err = syscall.WaitStatus(exit.Value), err
	close(p.exited)
}

// Pid returns the ID of the program, which leads a session and a process group. It is not reused before Wait.
func (p *Program) Pid() int { return p.pid }

// WaitExit waits until the program has exited.
func (p *Program) WaitExit() { <-p.exited }

// Wait waits until the program has exited and releases its ID.
func (p *Program) Wait() (syscall.WaitStatus, error) {
	<-p.exited
	p.connection.Close()
	return p.exit, p.err
}

// programs is the helper of programs, which is started by the first one, and again after it was killed.
var programs starter

type starter struct {
	mu     sync.Mutex
	socket int // 0: the helper does not run; guarded by mu
}

// connect sends the three files of a program to the helper, and returns the connection for the request.
func (h *starter) connect(streams []*os.File) (*os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	connection := os.NewFile(uintptr(ends[0]), "program")
	defer unix.Close(ends[1])
	fds := make([]int, messageFDs)
	for i, f := range streams {
		fds[i] = int(f.Fd())
	}
	fds[messageConnection] = ends[1]
	if err := h.send(unix.UnixRights(fds...)); err != nil {
		connection.Close()
		return nil, err
	}
	return connection, nil
}

func (h *starter) send(rights []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for retried := false; ; retried = true {
		if h.socket == 0 {
			if err := h.start(); err != nil {
				return err
			}
		}
		err := unix.Sendmsg(h.socket, []byte{0}, rights, nil, unix.MSG_NOSIGNAL)
		if err == nil || !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
			return err
		}
		unix.Close(h.socket)
		h.socket = 0
		if retried {
			return err
		}
	}
}

func (h *starter) start() error {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "programs")
	defer theirs.Close()
	if err := startHelper(programsHelper, theirs); err != nil {
		unix.Close(ends[0])
		return err
	}
	h.socket = ends[0] // not a file, which a collection of garbage would close
	return nil
}

// Wrap makes a command that is not started yet end with this process: the command runs in a session of its
// own, and processes that it leaves behind are killed when it ends. Its Cancel kills them all.
func Wrap(cmd *exec.Cmd) error {
	line, err := lifeline()
	if err != nil || cmd.Err != nil {
		return err
	}
	cmd.Args = append([]string{commandHelper, cmd.Path}, cmd.Args...)
	cmd.Path = executable
	cmd.ExtraFiles = append([]*os.File{line}, cmd.ExtraFiles...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(killSignal) }
	return nil
}
