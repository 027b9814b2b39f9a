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

	"github.com/go-resty/resty/v2"
)

const (
	dialTimeout      = 10 * time.Second
	maxHeaderBytes   = 64 << 10
	maxResponseBytes = 4 << 10 // that are read so that the connection can be used again
)

// newClient returns the HTTP client for all requests. It verifies certificates, follows no redirects
// and keeps no cookies.
func newClient() *resty.Client {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxConcurrent,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := resty.NewWithClient(&http.Client{Transport: transport, CheckRedirect: noRedirect})
	return client.SetDoNotParseResponse(true).SetDisableWarn(true)
}

// send makes one attempt. It returns nil when the receiver has accepted the event.
func (o *Outbox) send(ctx context.Context, d *delivery, h Endpoint, agent string) *failure {
	bounded, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	resp, err := o.client.R().SetContext(bounded).SetHeaders(map[string]string{
		"Content-Type":      "application/json",
		"User-Agent":        agent,
		"webhook-id":        d.ID,
		"webhook-timestamp": now,
		"webhook-signature": signatures(h.Keys, d.ID, now, d.Body),
	}).SetBody(bytes.NewReader(d.Body)).Post(h.URL)
	if err != nil {
		return connectionFailure(err, ctx.Err() != nil)
	}
	defer resp.RawResponse.Body.Close()
	io.CopyN(io.Discard, resp.RawResponse.Body, maxResponseBytes)
	return responseFailure(resp.RawResponse)
}

// signatures returns one signature for each key, so that keys can be rotated: a receiver needs to
// know only one of them.
func signatures(keys [][]byte, id, timestamp string, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = signature(key, id, timestamp, body)
	}
	return strings.Join(all, " ")
}

// signature returns a signature of version 1 of Standard Webhooks.
func signature(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, id+"."+timestamp+".")
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
