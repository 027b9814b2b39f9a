//go:build unix

package neterror

import "syscall"

// The errors of this system for connections.
const (
	EACCES       = syscall.EACCES
	EADDRINUSE   = syscall.EADDRINUSE
	ECONNREFUSED = syscall.ECONNREFUSED
	ECONNRESET   = syscall.ECONNRESET

	ehostunreach = syscall.EHOSTUNREACH
	enetunreach  = syscall.ENETUNREACH
)
