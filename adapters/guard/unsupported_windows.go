package guard

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// errUnsupported is a phrase for the author of a configuration.
var errUnsupported = errors.New("programs are not started on Windows, where they could neither be confined nor be " +
	"ended together with those that they start; run the server on Linux")

// SIGXFSZ ends no program on Windows.
const SIGXFSZ = syscall.Signal(25)

// Supported returns why programs are not started, as a phrase.
func Supported() error { return errUnsupported }

// SignalName returns the name of a signal, which Windows does not have.
func SignalName(sig syscall.Signal) string { return sig.String() }

// Program is never started.
type Program struct{}

// Start returns the error of Supported.
func Start(string, []string, *os.ProcAttr) (*Program, error) { return nil, errUnsupported }

// Wrap returns the error of Supported.
func Wrap(*exec.Cmd) error { return errUnsupported }

// Pid is not reached, because there is no Program.
func (*Program) Pid() int { return 0 }

// WaitExit is not reached.
func (*Program) WaitExit() {}

// Wait is not reached.
func (*Program) Wait() (syscall.WaitStatus, error) { return syscall.WaitStatus{}, errUnsupported }

// WaitExit is not reached.
func WaitExit(int) {}

// Signal is not reached.
func Signal(int, syscall.Signal) {}
