package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"
)

// IsExposed reports whether other machines can connect to a listener at an address HOST:PORT. The
// error reports an invalid address.
func IsExposed(ctx context.Context, address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("an address is HOST:PORT, for example 127.0.0.1:8080, and got %q", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, fmt.Errorf("a port is a number from 0 to 65535, and got %q", port)
	}
	if host == "" {
		return true, nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false, fmt.Errorf("there is no host %q", host)
	}
	return slices.ContainsFunc(ips, func(ip net.IPAddr) bool { return !ip.IP.IsLoopback() }), nil
}

// Listen opens a TCP listener. The error is a sentence that names the address.
func Listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	var op *net.OpError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = errors.New("the address is in use")
	case errors.Is(err, syscall.EACCES):
		err = errors.New("permission denied")
	case errors.As(err, &op):
		err = op.Err
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return listener, nil
}
