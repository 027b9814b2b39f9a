package adapters

import (
	"errors"
	"fmt"
	"net"

	"hatchel/internal/neterror"
)

// DialReason explains to an operator why a connection could not be made. It returns "" for errors it does
// not know.
func DialReason(err error) string {
	where, host := "the address", ""
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		where = op.Addr.String()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		host = dns.Name
	}
	switch neterror.Of(err) {
	case neterror.NoSuchHost:
		return fmt.Sprintf("the host %q does not exist", host)
	case neterror.Unresolved:
		return fmt.Sprintf("the host name %q could not be resolved", host)
	case neterror.Refused:
		return "nothing listens on " + where
	case neterror.Unreachable:
		return "there is no route to " + where
	case neterror.Reset:
		return where + " closed the connection"
	case neterror.NoSocket:
		return "the socket " + where + " does not exist"
	case neterror.Timeout:
		return where + " did not respond in time"
	}
	return ""
}
