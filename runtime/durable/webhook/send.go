package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hatchel/internal/backoff"
	"hatchel/internal/neterror"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"

	"github.com/go-resty/resty/v2"
)

const (
	dialTimeout      = 10 * time.Second
	maxHeaderBytes   = 64 << 10
	maxResponseBytes = 4 << 10 // that are read so that the connection can be used again
)

// newTransport returns the transport for newClient. It verifies certificates.
func newTransport() *http.Transport {
	transport := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxConcurrent,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	proxy.Configure(transport)
	return transport
}

// newClient returns the HTTP client for all requests. It follows no redirects, keeps no cookies, and sends a request
// once.
func newClient(transport *http.Transport) *resty.Client {
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := resty.NewWithClient(&http.Client{Transport: sendonce.New(transport), CheckRedirect: noRedirect})
	return client.SetDoNotParseResponse(true).SetDisableWarn(true)
}

// send makes one attempt. It returns nil when the receiver has accepted the event.
func (o *Outbox) send(ctx context.Context, d *delivery, h Endpoint, agent string) *failure {
	bounded, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	now, payload := strconv.FormatInt(time.Now().Unix(), 10), d.payload()
	resp, err := o.client.R().SetContext(bounded).SetHeaders(map[string]string{
		"Content-Type":      "application/json",
		"User-Agent":        agent,
		"webhook-id":        d.ID,
		"webhook-timestamp": now,
		"webhook-signature": signatures(h.Keys, d.ID, now, payload),
	}).SetBody(bytes.NewReader(payload)).Post(h.URL)
	if err != nil {
		return connectionFailure(err, ctx.Err() != nil)
	}
	defer resp.RawResponse.Body.Close()
	if resp.StatusCode() >= http.StatusOK { // the body of 101 Switching Protocols is the connection, without a timeout
		io.CopyN(io.Discard, resp.RawResponse.Body, maxResponseBytes)
	}
	return responseFailure(resp.RawResponse)
}

// signatures returns one signature of version 1 of Standard Webhooks for each key, so that keys can be
// rotated: a receiver needs to know only one of them.
func signatures(keys [][]byte, id, timestamp string, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		io.WriteString(mac, id+"."+timestamp+".")
		mac.Write(body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}

// failure is the reason why an attempt did not succeed.
type failure struct {
	message     string        // for the operator; it holds nothing of the URL
	retryAfter  time.Duration // that the receiver has asked for
	permanent   bool          // the receiver will never accept the event
	unavailable bool          // every other delivery would fail now, too
	stopped     bool          // this process has cancelled the request
}

// connectionFailure describes a request without a response. It does not pass on errors of net/http,
// because they hold the URL.
func connectionFailure(err error, stopped bool) *failure {
	message := "the connection to the receiver failed"
	if text := proxy.ErrorText(err); text != "" {
		return &failure{message: text, stopped: stopped, unavailable: !stopped}
	}
	switch neterror.Of(err) {
	case neterror.OtherName:
		message = "the certificate of the receiver is for another name"
	case neterror.Untrusted, neterror.Expired, neterror.BadCert:
		message = "the certificate of the receiver is not trusted here"
	case neterror.NoTLS:
		message = "the TLS handshake with the receiver failed"
	case neterror.NoSuchHost, neterror.Unresolved:
		message = "the name of the receiver could not be resolved"
	case neterror.Refused:
		message = "the receiver refuses connections"
	case neterror.Timeout:
		message = "the receiver did not answer in time"
	}
	return &failure{message: message, stopped: stopped, unavailable: !stopped}
}

// responseFailure describes a response other than success; nil means success.
func responseFailure(resp *http.Response) *failure {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	status := strings.TrimSpace(strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	if resp.StatusCode/100 == 3 {
		status += "; redirects are not followed"
	}
	f := &failure{
		message:    "the receiver answered " + status,
		retryAfter: backoff.RetryAfter(resp.Header),
		permanent:  resp.StatusCode == http.StatusGone,
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.unavailable = true
	}
	return f
}
