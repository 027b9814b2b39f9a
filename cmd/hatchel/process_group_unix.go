//go:build unix

package main

import "syscall"

// newProcessGroup starts a program in a process group of its own.
func newProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
