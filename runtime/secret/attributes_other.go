//go:build !linux

package secret

import "syscall"

// attributes returns those of a command: a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
