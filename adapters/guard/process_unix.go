//go:build unix

package guard

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SIGXFSZ ends a program that writes a file beyond its limit.
const SIGXFSZ = syscall.SIGXFSZ

// Supported returns nil: programs can be started, and ended together with those that they start.
func Supported() error { return nil }

// SignalName returns the name of a signal, such as SIGTERM.
func SignalName(sig syscall.Signal) string { return unix.SignalName(sig) }

// WaitExit waits until a child has exited and leaves it a zombie. Until it is reaped, its ID and its process
// group cannot be reused, so that a signal to the group reaches no other process.
func WaitExit(pid int) {
	const byPID = 1
	var info [16]uint64 // a siginfo_t, which is not used
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// Signal sends a signal to the process group of a program that is not reaped.
func Signal(pid int, sig syscall.Signal) {
	if syscall.Kill(-pid, sig) != nil {
		_ = syscall.Kill(pid, sig)
	}
}
