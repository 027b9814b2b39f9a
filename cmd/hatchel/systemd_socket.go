package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// systemdListener returns the TCP socket that systemd has passed to the process, or nil when it has passed none. It
// removes the variables that say so from the environment. The error is a sentence.
func systemdListener() (*net.TCPListener, error) {
	passed, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("the sockets of systemd cannot be used: %w", err)
	}
	switch {
	case len(passed) == 0:
		return nil, nil
	case len(passed) > 1:
		return nil, fmt.Errorf("systemd has passed %d sockets, and the server listens on one: "+
			"write one ListenStream= in the socket unit", len(passed))
	}
	listener, ok := passed[0].(*net.TCPListener)
	if !ok {
		return nil, errors.New("the socket that systemd has passed accepts no TCP connections: " +
			"write a port, or an address with a port, in ListenStream= of the socket unit, and Accept=no")
	}
	return listener, nil
}
