package adapters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// DialReason explains to an operator why a connection could not be made. It returns "" for errors it does
// not know.
func DialReason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	where := "the address"
	if errors.As(err, &op) && op.Addr != nil {
		where = op.Addr.String()
	}
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("the host %q does not exist", dns.Name)
	case errors.As(err, &dns):
		return fmt.Sprintf("the host name %q could not be resolved", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on " + where
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to " + where
	case errors.Is(err, syscall.ECONNRESET):
		return where + " closed the connection"
	case errors.Is(err, syscall.ENOENT) && op != nil:
		return "the socket " + where + " does not exist"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return where + " did not respond in time"
	}
	return ""
}
