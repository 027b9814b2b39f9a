//go:build !linux

package server

// ignoreClients does nothing: a client that connects in the moment in which the listener is closed may
// see its connection reset.
func ignoreClients(int) {}
