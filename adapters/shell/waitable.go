//go:build linux || darwin

package shell

import (
	"syscall"
	"unsafe"
)

// waitExit waits until a child has ended and leaves it a zombie: until it is reaped no other process can get its id, so that a signal to its group
// reaches nobody else.
func waitExit(pid int) {
	const byPID = 1
	var info [16]uint64 // a siginfo_t, which nobody reads
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
