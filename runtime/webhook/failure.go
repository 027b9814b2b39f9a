package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// failure is why the receiver has not taken a delivery.
type failure struct {
	said    string        // for the operator, without anything that could be a secret
	after   time.Duration // that the receiver asks to wait
	gone    bool          // it will never take it
	away    bool          // so is it with all others, for now
	stopped bool          // it was not the receiver, but this process
}

// asked is how long the receiver asks to wait. Nil asks for nothing.
func (f *failure) asked() time.Duration {
	if f == nil {
		return 0
	}
	return f.after
}

// unsent is the failure of a request that was not answered. The errors of net/http hold the URL, which is not passed on.
func unsent(err error, stopped bool) *failure {
	var (
		dns    *net.DNSError
		verify *tls.CertificateVerificationError
		host   x509.HostnameError
		record tls.RecordHeaderError
		slow   interface{ Timeout() bool }
	)
	f := &failure{stopped: stopped, away: !stopped, said: "no connection could be made to the receiver, or it broke"}
	switch {
	case errors.As(err, &host):
		f.said = "the certificate of the receiver is for another name"
	case errors.As(err, &verify):
		f.said = "the certificate of the receiver is not trusted here"
	case errors.As(err, &record):
		f.said = "no secure connection could be made to the receiver"
	case errors.As(err, &dns):
		f.said = "the name of the receiver could not be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.said = "the receiver refuses connections"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		f.said = "the receiver did not answer in time"
	}
	return f
}

// refused is the failure of a request that was answered; nil when it was taken.
func refused(resp *http.Response) *failure {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	said := strings.TrimSpace(strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	if resp.StatusCode/100 == 3 {
		said += ", and redirects are not followed"
	}
	f := &failure{said: "the receiver answered " + said, after: retryAfter(resp.Header.Get("Retry-After")), gone: resp.StatusCode == http.StatusGone}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.away = true
	}
	return f
}

const longestWait = 365 * 24 * time.Hour

// retryAfter reads how long to wait, in seconds or until a date (RFC 9110, section 10.2.3); 0 when it does not say.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(longestWait/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
