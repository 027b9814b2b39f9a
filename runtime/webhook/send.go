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
	dialTimeout  = 10 * time.Second
	largestHead  = 64 << 10
	largestReply = 4 << 10 // that is read, so that the connection can be used again
)

// newClient makes what requests are sent with. Certificates are checked, redirects are not followed, and nothing is kept of an answer: no cookies.
func newClient() *resty.Client {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    most,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: largestHead,
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return resty.NewWithClient(&http.Client{Transport: transport, CheckRedirect: stay}).SetDoNotParseResponse(true).SetDisableWarn(true)
}

// send tries a delivery once. It returns nil when the receiver has taken it.
func (o *Outbox) send(hurry context.Context, d *delivery, h Hook, agent string) *failure {
	ctx, cancel := context.WithTimeout(hurry, h.Timeout)
	defer cancel()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	resp, err := o.client.R().SetContext(ctx).SetHeaders(map[string]string{
		"Content-Type":      "application/json",
		"User-Agent":        agent,
		"webhook-id":        d.ID,
		"webhook-timestamp": now,
		"webhook-signature": signatures(h.Keys, d.ID, now, d.Body),
	}).SetBody(bytes.NewReader(d.Body)).Post(h.URL)
	if err != nil {
		return unsent(err, hurry.Err() != nil)
	}
	defer resp.RawResponse.Body.Close()
	io.CopyN(io.Discard, resp.RawResponse.Body, largestReply)
	return refused(resp.RawResponse)
}

// signatures are those of all keys, of which who receives them needs to know one.
func signatures(keys [][]byte, id, timestamp string, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = signature(key, id, timestamp, body)
	}
	return strings.Join(all, " ")
}

// signature is that of Standard Webhooks, version 1.
func signature(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, id+"."+timestamp+".")
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
