package guard

import (
	"encoding/binary"
	"os"
	"os/exec"
	"syscall"
)

// Program is a program that was started with Start.
type Program struct {
	helper *os.Process
	status *os.File
	pid    int
	exited chan struct{} // closed when exit is set
	exit   syscall.WaitStatus
	err    error // the helper does not know how the program has exited
}

// Start starts a program with the directory, the environment and the three files of attr, in a session of its
// own. Processes that it leaves behind live on until this process ends. The error is that of os.StartProcess.
func Start(file string, argv []string, attr *os.ProcAttr) (*Program, error) {
	line, err := lifeline()
	if err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	helper, err := os.StartProcess(executable, append([]string{programHelper, file}, argv...), &os.ProcAttr{
		Dir: attr.Dir, Env: attr.Env, Files: []*os.File{attr.Files[0], attr.Files[1], attr.Files[2], line, writer},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	writer.Close()
	p := &Program{helper: helper, status: reader, exited: make(chan struct{})}
	if err != nil {
		reader.Close()
		return nil, startError(err, file, attr.Dir)
	}
	var started status
	if err := binary.Read(reader, binary.NativeEndian, &started); err != nil || started.PID == 0 {
		reader.Close()
		_, _ = helper.Wait()
		if err == nil {
			err = &os.PathError{Op: "fork/exec", Path: file, Err: syscall.Errno(started.Value)}
		}
		return nil, err
	}
	p.pid = int(started.PID)
	go p.watch()
	return p, nil
}

// startError replaces the file of the helper in an error by that of the program.
func startError(err error, file, dir string) error {
	if pathErr, ok := err.(*os.PathError); ok && pathErr.Op == "fork/exec" {
		return &os.PathError{Op: "fork/exec", Path: file, Err: pathErr.Err}
	}
	return err
}

func (p *Program) watch() {
	var exit status
	if p.err = binary.Read(p.status, binary.NativeEndian, &exit); p.err == nil {
		p.exit = syscall.WaitStatus(exit.Value)
	}
	p.status.Close()
	close(p.exited)
}

// Pid returns the ID of the program, which leads a session and a process group. It is not reused before Wait.
func (p *Program) Pid() int { return p.pid }

// WaitExit waits until the program has exited.
func (p *Program) WaitExit() { <-p.exited }

// Wait waits until the program has exited and releases its ID.
func (p *Program) Wait() (syscall.WaitStatus, error) {
	<-p.exited
	_ = p.helper.Signal(releaseSignal)
	go func() { _, _ = p.helper.Wait() }()
	return p.exit, p.err
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
