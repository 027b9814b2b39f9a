package secret

import "syscall"

// attributes returns those of a command: a process group of its own, and its end when this process is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
