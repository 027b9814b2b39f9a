package shell

import (
	"os"
	"syscall"
)

// An exit is how one program ended.
type exit struct {
	code   int            // 128 and the number of the signal when one ended it
	signal syscall.Signal // 0 when none did
	err    error          // the system could not say
}

func newExit(state *os.ProcessState, err error) exit {
	if err != nil {
		return exit{code: -1, err: err}
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return exit{code: 128 + int(status.Signal()), signal: status.Signal()}
	}
	return exit{code: status.ExitStatus()}
}

// cutOff reports that a program ended because nobody read its output any more, itself or, as a shell tells it, a program that it ran.
func (e exit) cutOff() bool {
	return e.code == 128+int(syscall.SIGPIPE)
}
