package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// A failure is one attempt that did not succeed.
type failure struct {
	message string
	cause   error
	status  int           // of an answer that was refused; 0 when there was none
	after   time.Duration // that the service asks to wait
	unsent  bool          // nothing of the request can have reached the service
	final   bool          // another attempt would end alike

	untouched bool // nor of an attempt before
}

func (f *failure) fault() *adapters.Fault {
	down := f.status >= 500 || f.status == nethttp.StatusTooManyRequests || f.status == 0 && (f.unsent || !f.final)
	return &adapters.Fault{Message: f.message, Cause: f.cause, Status: f.status, Down: down, Untouched: f.untouched, After: f.after}
}

// unknownOutcome is added where a request that changes something may have been carried out all the same.
const unknownOutcome = "; it is not known whether the request was carried out"

// networkFailure says what went wrong between us and the service. Timeout is that of the attempt, or 0.
func networkFailure(err error, timeout time.Duration) *failure {
	f := &failure{cause: withoutAddress(err)}
	var (
		dns      *net.DNSError
		op       *net.OpError
		host     x509.HostnameError
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		verify   *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		tooLarge *tooLargeError
	)
	step := ""
	if errors.As(err, &op) {
		step = op.Op
	}
	f.unsent = step == "dial" || step == "proxyconnect"
	var unread *adapters.Fault
	switch {
	case errors.As(err, &unread): // a file that was being sent: what the service has is not the whole request
		f.message, f.final = unread.Message, true
	case errors.As(err, &tooLarge):
		f.message, f.final = fmt.Sprintf("the service's answer is larger than %s; ask for less of it", hcl.Size(tooLarge.limit)), true
	case errors.Is(err, errOtherHost):
		f.message, f.final = "the service redirects to another host, which is not followed", true
	case errors.Is(err, errManyHops):
		f.message, f.final = "the service redirects again and again", true
	case errors.As(err, &host):
		f.message, f.final, f.unsent = "the service's certificate is for another name", true, true
	case errors.As(err, &unknown):
		f.message, f.final, f.unsent = "the service's certificate is not signed by an authority that is trusted here", true, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		f.message, f.final, f.unsent = "the service's certificate has expired or is not valid yet", true, true
	case errors.As(err, &verify), errors.As(err, &invalid):
		f.message, f.final, f.unsent = "the service's certificate was not accepted", true, true
	case errors.As(err, &record), step == "remote error", step == "local error", strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		f.message, f.final, f.unsent = "no secure connection could be made to the service", true, true
	case errors.As(err, &dns):
		f.message, f.unsent = "the service's name could not be resolved", true
	case errors.Is(err, syscall.ECONNREFUSED):
		f.message = "the service refuses connections; it may be down"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		f.message = "the service cannot be reached from here"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		switch {
		case f.unsent:
			f.message = "the service did not take the connection in time"
		case timeout > 0:
			f.message = fmt.Sprintf("the service did not answer within %v", timeout)
		default:
			f.message = "the service did not answer in time"
		}
	case strings.Contains(err.Error(), "malformed HTTP"), strings.Contains(err.Error(), "malformed MIME header"), strings.Contains(err.Error(), "invalid header"), strings.Contains(err.Error(), "gzip: "):
		f.message, f.final = "the service answered something that is not valid HTTP", true
	case strings.Contains(err.Error(), "server response headers exceeded"):
		f.message, f.final = "the headers of the service's answer are too large", true
	case f.unsent:
		f.message = "no connection could be made to the service"
	default:
		f.message = "the connection to the service broke before the whole answer was there"
	}
	return f
}

// withoutAddress is an error without the address that net/http puts in front of it: keys may stand in a query.
func withoutAddress(err error) error {
	var addressed *url.Error
	if errors.As(err, &addressed) {
		return addressed.Err
	}
	return err
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// refused is the failure of an answer whose status is not one that the author accepts.
func refused(status int, h nethttp.Header, excerpt string) *failure {
	f := &failure{status: status, after: retryAfter(h), message: "the service answered " + statusText(status)}
	if to := h.Get("Location"); status/100 == 3 && to != "" {
		f.message += ", a redirect, which is not followed"
	}
	if excerpt != "" {
		f.message += ": " + excerpt
	}
	if f.after > 0 {
		f.message += fmt.Sprintf(" (it asks to wait %v)", f.after.Round(time.Second))
	}
	f.cause = errors.New(f.message)
	return f
}

func statusText(status int) string {
	if text := nethttp.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return fmt.Sprint(status)
}

// tooLargeError is an answer beyond its limit.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string { return fmt.Sprintf("answer larger than %d bytes", e.limit) }
