package http

import (
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/backoff"
	"hatchel/internal/contentcoding"
	"hatchel/internal/neterror"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
)

// failure is an attempt that did not succeed.
type failure struct {
	adapters.Fault      // of the call, if this is its last attempt
	unsent         bool // nothing of the request can have reached the service
	permanent      bool // another attempt would fail too
	timedOut       bool
}

// newPermanentFailure returns the failure of a response that another attempt would get too.
func newPermanentFailure(message string, cause error) *failure {
	return &failure{Fault: adapters.Fault{Message: message, Cause: cause}, permanent: true}
}

// change returns what the attempt has changed.
func (f *failure) change() adapters.Change {
	switch {
	case f.unsent:
		return adapters.ChangeUnsent
	case f.Status == 0 && f.Change == adapters.ChangeAnswered:
		return adapters.ChangeUnknown
	}
	return f.Change
}

// isOutage reports whether the service is unavailable.
func (f *failure) isOutage() bool {
	return f.Status >= 500 || f.Status == nethttp.StatusTooManyRequests || f.Status == 0 && (f.unsent || !f.permanent)
}

// networkFailure converts an error of the network or of reading the response. The timeout is that of the
// attempt, or 0.
func networkFailure(err error, timeout time.Duration) *failure {
	f := &failure{Fault: adapters.Fault{Cause: withoutURL(err)}}
	f.Message = "the connection to the service was closed before the response was complete"
	var op *net.OpError
	step := ""
	if errors.As(err, &op) {
		step = op.Op
	}
	f.unsent = step == "dial"
	if f.setProxyMessage(err) {
		return f
	}
	reason := neterror.Of(err)
	if message := tlsMessages[reason]; message != "" {
		f.Message, f.permanent, f.unsent = message, true, true
		return f
	}
	if message := permanentMessage(err); message != "" {
		f.Message, f.permanent = message, true
		if fault, ok := errors.AsType[*adapters.Fault](err); ok {
			f.unsent = f.unsent || fault.NotSent
		}
		return f
	}
	f.timedOut = neterror.IsTimeout(err)
	f.unsent = f.unsent || sendonce.IsUnprocessed(err)
	switch {
	case reason == neterror.NoSuchHost, reason == neterror.Unresolved:
		f.Message, f.unsent = "the service's host name could not be resolved", true
	case reason == neterror.Refused:
		f.Message = "the service refuses connections; it may be down"
	case reason == neterror.Unreachable:
		f.Message = "the service is not reachable from this server"
	case f.timedOut && f.unsent:
		f.Message = "the service did not accept the connection in time"
	case f.timedOut && timeout > 0:
		f.Message = fmt.Sprintf("the service did not respond within %v", timeout)
	case f.timedOut:
		f.Message = "the service did not respond in time"
	case sendonce.IsUnprocessed(err):
		f.Message = "the service closed the connection or refused the request before processing it"
	case f.unsent:
		f.Message = "no connection to the service could be made"
	}
	return f
}

// setProxyMessage describes an error of a proxy, and reports whether the error is one.
func (f *failure) setProxyMessage(err error) bool {
	var of *proxy.Error
	var refused *proxy.RefusedError
	switch {
	case errors.As(err, &of):
		f.Message, f.permanent = "the request has no way to the service: "+of.Error(), true
	case errors.As(err, &refused):
		f.Message = "the proxy that the environment names returned " + adapters.StatusText(refused.Status)
		f.permanent = refused.Status/100 == 4
	case proxy.IsConnecting(err):
		f.Message = "no connection to the service could be made through the proxy that the environment names"
		f.timedOut = neterror.IsTimeout(err)
	default:
		return false
	}
	f.unsent = true
	return true
}

// tlsMessages are the messages for errors of the TLS handshake.
var tlsMessages = map[neterror.Reason]string{
	neterror.OtherName: "the service's certificate is for another host name",
	neterror.Untrusted: "the service's certificate is not signed by a trusted authority",
	neterror.Expired:   "the service's certificate has expired or is not valid yet",
	neterror.BadCert:   "the service's certificate is not valid",
	neterror.NoTLS:     "no secure connection to the service could be made",
}

// msgBrokenCoding is the message for a body that cannot be decoded.
const msgBrokenCoding = "the service's response is not valid %s, although its Content-Encoding says so"

// permanentMessage returns the message for an error that another attempt would repeat, or "".
func permanentMessage(err error) string {
	var upload *adapters.Fault
	var tooLarge *tooLargeError
	var coding *contentcoding.Error
	switch {
	case errors.As(err, &upload): // reading an uploaded file failed, or the request cannot be signed
		return upload.Message
	case errors.As(err, &tooLarge):
		return fmt.Sprintf("the service's response is larger than %s; request less of it", hcl.Size(tooLarge.limit))
	case errors.As(err, &coding):
		return fmt.Sprintf(msgBrokenCoding, coding.Coding)
	}
	for _, part := range []string{"malformed HTTP", "malformed MIME header", "invalid header"} {
		if strings.Contains(err.Error(), part) {
			return "the service's response is not valid HTTP"
		}
	}
	if strings.Contains(err.Error(), "server response headers exceeded") {
		return "the headers of the service's response are too large"
	}
	return ""
}

// withoutURL removes the URL that net/http adds to its errors, because a query may contain keys.
func withoutURL(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}

// statusFailure returns the failure for a response whose status is not in ok_status. detail is what else is known of
// it, such as an excerpt of its body.
func statusFailure(resp *nethttp.Response, detail string) *failure {
	f := &failure{Fault: adapters.Fault{
		Message: "the service returned " + adapters.StatusText(resp.StatusCode) + detail, Status: resp.StatusCode,
		RetryAfter: backoff.RetryAfter(resp.Header),
	}}
	if f.RetryAfter > 0 {
		f.Message += fmt.Sprintf(" (retry after %v)", f.RetryAfter.Round(time.Second))
	}
	f.Cause = errors.New(f.Message)
	return f
}

// tooLargeError reports a response that exceeds its size limit.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string { return fmt.Sprintf("response larger than %d bytes", e.limit) }
