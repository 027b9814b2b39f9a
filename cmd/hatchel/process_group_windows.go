package main

import "syscall"

// newProcessGroup starts a program in a process group of its own.
func newProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
