//go:build unix

package mcp

import (
	"os"
	"syscall"
)

// Stdin returns the standard input. If it is a pipe or a socket, its reads do not occupy a thread
// and end when it is closed. The function restore undoes this for other processes that share it.
func Stdin() (in *os.File, restore func()) {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 ||
		syscall.SetNonblock(syscall.Stdin, true) != nil {
		return os.Stdin, func() {}
	}
	// The runtime polls a File only if the descriptor is in non-blocking mode when the File is
	// created.
	return os.NewFile(uintptr(syscall.Stdin), "stdin"), func() { syscall.SetNonblock(syscall.Stdin, false) }
}
