//go:build unix

package lsp

import (
	"errors"
	"syscall"
)

// hasEnded reports whether there is no process with an ID.
func hasEnded(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
