package main

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"syscall"
)

// isExposed reports whether other machines can connect to the address of --listen.
func isExposed(ctx context.Context, address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, misusef("--listen requires HOST:PORT, for example 127.0.0.1:8080, and got %q", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, misusef("--listen: a port is a number from 0 to 65535, and got %q", port)
	}
	if host == "" {
		return true, nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false, misusef("--listen: there is no host %q", host)
	}
	return slices.ContainsFunc(ips, func(ip net.IPAddr) bool { return !ip.IP.IsLoopback() }), nil
}

// listenReason returns why a listener could not be opened, without its address.
func listenReason(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "the address is in use"
	case errors.Is(err, syscall.EACCES):
		return "permission denied"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}
