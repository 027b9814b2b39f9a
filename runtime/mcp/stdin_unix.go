//go:build unix

package mcp

import (
	"os"
	"syscall"
)

// Stdin returns the standard input in a form whose reads do not hold a thread and end when it is closed, if it is a pipe or a
// socket; a terminal or a file is returned as it is. The function undoes the change for whoever shares the other end.
func Stdin() (in *os.File, restore func()) {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 || syscall.SetNonblock(syscall.Stdin, true) != nil {
		return os.Stdin, func() {}
	}
	// Only a File made while the descriptor does not block is polled.
	return os.NewFile(uintptr(syscall.Stdin), "stdin"), func() { syscall.SetNonblock(syscall.Stdin, false) }
}
