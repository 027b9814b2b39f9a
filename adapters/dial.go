package adapters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// DialReason says for an operator why a connection could not be made; "" where nothing is known about the error.
func DialReason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	where := "the address"
	if errors.As(err, &op) && op.Addr != nil {
		where = op.Addr.String()
	}
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %q", dns.Name)
	case errors.As(err, &dns):
		return fmt.Sprintf("the name of the host %q could not be resolved", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on " + where
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to " + where
	case errors.Is(err, syscall.ECONNRESET):
		return where + " broke the connection off"
	case errors.Is(err, syscall.ENOENT) && op != nil:
		return "there is no socket " + where
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return where + " did not answer in time"
	}
	return ""
}
