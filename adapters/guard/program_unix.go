//go:build unix && !linux

package guard

import (
	"os"
	"os/exec"
	"syscall"
)

// Program is a program that was started with Start.
type Program struct{ *os.Process }

// Start starts a program with the directory, the environment and the three files of attr, in a session of its
// own.
func Start(file string, argv []string, attr *os.ProcAttr) (*Program, error) {
	own := *attr
	own.Sys = &syscall.SysProcAttr{Setsid: true}
	p, err := os.StartProcess(file, argv, &own)
	return &Program{p}, err
}

// Pid returns the ID of the program, which leads a session and a process group. It is not reused before Wait.
func (p *Program) Pid() int { return p.Process.Pid }

// WaitExit waits until the program has exited.
func (p *Program) WaitExit() { WaitExit(p.Process.Pid) }

// Wait waits until the program has exited and releases its ID.
func (p *Program) Wait() (syscall.WaitStatus, error) {
	state, err := p.Process.Wait()
	if err != nil {
		return 0, err
	}
	return state.Sys().(syscall.WaitStatus), nil
}

// Wrap makes a command that is not started yet run in a session of its own. Its Cancel kills the process group.
func Wrap(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return nil
}
