package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
)

// loopbackOnly refuses an address that other machines can reach.
func loopbackOnly(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return misusef("--listen takes host:port, as in 127.0.0.1:8080, and got %q", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return misusef("--listen: a port is a number from 0 to 65535, and got %q", port)
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if host != "" && err != nil {
		return misusef("--listen: there is no host %q", host)
	}
	reachable := host == ""
	for _, ip := range ips {
		reachable = reachable || !ip.IP.IsLoopback()
	}
	if reachable {
		return misusef("--listen %s could be reached from other machines, and callers cannot be authenticated yet: listen on 127.0.0.1, and put a proxy that authenticates in front of it", address)
	}
	return nil
}

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
