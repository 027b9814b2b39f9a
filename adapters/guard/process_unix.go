//go:build linux || darwin

package guard

import (
	"syscall"
	"unsafe"
)

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
