package guard

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The helper of programs starts all programs of the process that is guarded: it is started once, so that a program
// costs no process but its own. Each message on its socket has these descriptors.
const (
	messageStdin = iota
	messageStdout
	messageStderr
	messageConnection // the request is read from it and the statuses are written to it; its end releases the program
	messageFDs
)

// starting is held while a program is started.
var starting sync.Mutex

// runPrograms is the helper of programs. It runs on the main thread, which starts no program: processes that programs
// leave behind become children of this thread, so that it can reap them alone.
func runPrograms() {
	unix.CloseOnExec(programsFD)
	changed := make(chan os.Signal, 1) // other signals are not ignored, which programs would inherit
	signal.Notify(changed, unix.SIGCHLD, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		unix.Exit(1)
	}
	go func() {
		for {
			fds, err := receiveFDs()
			if err != nil {
				break
			}
			go serveProgram(fds)
		}
		starting.Lock()
		killDescendants()
		unix.Exit(0)
	}()
	for range changed {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WNOTHREAD, nil)
			if pid <= 0 && err != unix.EINTR {
				break
			}
		}
	}
}

// receiveFDs returns the descriptors of the next message, or an error if there will be none.
func receiveFDs() (fds []int, err error) {
	data := make([]byte, 1)
	control := make([]byte, unix.CmsgSpace(messageFDs*4))
	n, controls := 0, 0
	for {
		if n, controls, _, _, err = unix.Recvmsg(programsFD, data, control, unix.MSG_CMSG_CLOEXEC); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(control[:controls])
	for _, m := range messages {
		rights, _ := unix.ParseUnixRights(&m)
		fds = append(fds, rights...)
	}
	return fds, err
}

// serveProgram starts a program and reports how it exits.
func serveProgram(fds []int) {
	if len(fds) != messageFDs { // too many files are open
		closeAll(fds)
		return
	}
	connection := os.NewFile(uintptr(fds[messageConnection]), "connection")
	defer connection.Close()
	pid, err := startProgram(connection, fds[:messageConnection])
	closeAll(fds[:messageConnection]) // only the program keeps its streams open
	if err != nil {
		errno, _ := err.(unix.Errno)
		_ = status{0, int32(errno)}.write(connection)
		return
	}
	if (status{int32(pid), 0}).write(connection) == nil {
		_ = status{int32(pid), int32(awaitExit(pid))}.write(connection)
	}
	var end [1]byte
	_, _ = connection.Read(end[:])
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

func startProgram(connection io.Reader, streams []int) (pid int, err error) {
	q, err := readRequest(connection)
	if err != nil {
		return 0, err
	}
	files := make([]uintptr, len(streams))
	for i, fd := range streams {
		files[i] = uintptr(fd)
	}
	starting.Lock()
	defer starting.Unlock()
	return syscall.ForkExec(q.file, q.argv, &syscall.ProcAttr{
		Dir: q.dir, Env: q.env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
