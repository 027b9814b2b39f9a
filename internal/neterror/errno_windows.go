package neterror

import "golang.org/x/sys/windows"

// The errors of this system for connections. Those of package syscall are never returned by Windows.
const (
	EACCES       = windows.WSAEACCES
	EADDRINUSE   = windows.WSAEADDRINUSE
	ECONNREFUSED = windows.WSAECONNREFUSED
	ECONNRESET   = windows.WSAECONNRESET

	ehostunreach = windows.WSAEHOSTUNREACH
	enetunreach  = windows.WSAENETUNREACH
)
