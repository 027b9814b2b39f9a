package shell

import (
	"os"
	"syscall"
)

// exitStatus describes how a program has exited.
type exitStatus struct {
	code   int            // 128 plus the signal's number if a signal ended the program
	signal syscall.Signal // 0 for none
	err    error          // the system does not know how
}

func newExitStatus(state *os.ProcessState, err error) exitStatus {
	if err != nil {
		return exitStatus{code: -1, err: err}
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return exitStatus{code: 128 + int(status.Signal()), signal: status.Signal()}
	}
	return exitStatus{code: status.ExitStatus()}
}

// isBrokenPipe reports whether the program ended because nobody read its output any more. A shell
// reports the same of a program that it ran.
func (e exitStatus) isBrokenPipe() bool {
	return e.code == 128+int(syscall.SIGPIPE)
}
