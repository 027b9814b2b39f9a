// Package neterror tells apart why a connection or a request failed. Each of its users has words of its own: what an
// operator may read of an address, a model may not.
package neterror

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
)

// Reason is why a connection or a request failed.
type Reason int

// The reasons. Those of TLS come first, because the kernel reports some of them as a closed connection.
const (
	Unknown     Reason = iota
	OtherName          // the certificate is for another host name
	Untrusted          // the certificate is not signed by a trusted authority
	Expired            // the certificate has expired or is not valid yet
	BadCert            // the certificate is not valid for another reason
	NoTLS              // the other side does not speak TLS, or the handshake failed
	NoSuchHost         // the name of the host does not exist
	Unresolved         // the name of the host could not be resolved
	Refused            // nothing listens
	Unreachable        // there is no route
	Reset              // the other side closed the connection
	NoSocket           // the Unix socket does not exist
	Timeout            // no answer in time
)

// IsTLS reports whether the two sides did not agree on a TLS connection.
func (r Reason) IsTLS() bool { return OtherName <= r && r <= NoTLS }

// Of returns the reason of an error. That of nil is Unknown.
func Of(err error) Reason {
	if err == nil {
		return Unknown
	}
	if reason := ofTLS(err); reason != Unknown {
		return reason
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case isDNS && dns.IsNotFound:
		return NoSuchHost
	case isDNS:
		return Unresolved
	case errors.Is(err, ECONNREFUSED):
		return Refused
	case errors.Is(err, ehostunreach), errors.Is(err, enetunreach):
		return Unreachable
	case errors.Is(err, ECONNRESET):
		return Reset
	case isOp && op.Op == "dial" && errors.Is(err, syscall.ENOENT):
		return NoSocket
	case IsTimeout(err):
		return Timeout
	}
	return Unknown
}

// IsTimeout reports whether the time of an operation was over, whatever its reason.
func IsTimeout(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || ok && timeout.Timeout()
}

func ofTLS(err error) Reason {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case errors.As(err, new(x509.HostnameError)):
		return OtherName
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return Untrusted
	case isInvalid && invalid.Reason == x509.Expired:
		return Expired
	case isInvalid, errors.As(err, new(*tls.CertificateVerificationError)):
		return BadCert
	case errors.As(err, new(tls.RecordHeaderError)), errors.As(err, new(tls.AlertError)),
		errors.Is(err, http.ErrSchemeMismatch),
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"),
		isOp && (op.Op == "remote error" || op.Op == "local error"): // an alert, which has no exported type
		return NoTLS
	}
	return Unknown
}
