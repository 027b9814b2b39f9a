package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
	"hatchel/internal/neterror"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
)

// collector sends spans by OTLP over HTTP, as protobuf. It implements [otlptrace.Client]. The client of the SDK does
// the same, and takes the code of gRPC along: 94 packages and 2.1 MB of the program.
//
// Its errors have nothing of what the collector answers, which may repeat a header: they are a [statusError], a
// [rejectedError], or those of the network.
type collector struct {
	collectorSettings
	client *http.Client
}

func newCollector(s collectorSettings) *collector {
	transport := proxy.NewTransport()
	if s.tls != nil {
		transport.TLSClientConfig = s.tls
	}
	return &collector{s, &http.Client{
		Transport: sendonce.New(transport), Timeout: s.timeout,
		// The headers may hold credentials, which a redirect would take along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// statusError is the status with which a collector refuses a batch.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("the collector answers with status %d", int(s))
}

// mayRetry reports whether the collector may take the batch later:
// https://opentelemetry.io/docs/specs/otlp/#failures-1.
func (s statusError) mayRetry() bool {
	return s == http.StatusTooManyRequests || s == http.StatusBadGateway || s == http.StatusServiceUnavailable ||
		s == http.StatusGatewayTimeout
}

// rejectedError is how many spans of a batch a collector has rejected.
type rejectedError int64

func (rejectedError) Error() string { return "the collector does not take them" }

// Start implements otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// retries are the pauses after a batch that may be sent again.
var retries = backoff.Policy{First: 2500 * time.Millisecond, Max: 15 * time.Second, Jitter: 0.5}

// UploadTraces implements otlptrace.Client. It sends a batch again, until ctx ends, while the collector is busy or does
// not answer in time.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the form of the message of a request, whose package has the code of gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.compress {
		body = compressed(body)
	}
	for n := 1; ; n++ {
		after, err := c.send(ctx, body)
		status, _ := errors.AsType[statusError](err)
		timeout, isNetwork := errors.AsType[net.Error](err)
		if !status.mayRetry() && (!isNetwork || !timeout.Timeout()) && !errors.Is(err, neterror.ECONNRESET) {
			return err
		}
		if !waitForRetry(ctx, n, after) {
			return err
		}
	}
}

// waitForRetry pauses after a number of failures, at least as long as the collector wants. It reports false when ctx
// has ended meanwhile.
func waitForRetry(ctx context.Context, failures int, after time.Duration) bool {
	return ctxtime.Sleep(ctx, max(after, retries.Pause(failures))) == nil
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(body) // a Buffer takes everything
	w.Close()
	return b.Bytes()
}

// send sends a batch once. It returns how long the collector wants to be left alone.
func (c *collector) send(ctx context.Context, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if c.compress {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode/100 != 2 {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, statusError(resp.StatusCode)
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if n := rejectedSpans(mediaType, answer); n > 0 {
		return 0, rejectedError(n)
	}
	return 0, nil
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 64 << 10

// rejectedSpans returns how many spans an answer says were rejected:
// https://opentelemetry.io/docs/specs/otlp/#partial-success-1. A collector that takes all may send a warning there.
// What cannot be read rejects nothing.
func rejectedSpans(mediaType string, answer []byte) int64 {
	switch mediaType {
	case "application/json":
		var parsed struct {
			PartialSuccess struct {
				RejectedSpans json.RawMessage `json:"rejectedSpans"` // a string, or from some a number
			} `json:"partialSuccess"`
		}
		_ = json.Unmarshal(answer, &parsed) // the batch was accepted, whatever follows
		n, _ := strconv.ParseInt(string(bytes.Trim(parsed.PartialSuccess.RejectedSpans, `"`)), 10, 64)
		return n
	case "application/x-protobuf":
		const partialSuccess, rejected = 1, 1
		_, inner := findField(answer, partialSuccess)
		n, _ := findField(inner, rejected)
		return int64(n)
	}
	return 0
}

// findField returns the last field with a number in an encoded message: a number, or the bytes of a message in it.
func findField(message []byte, number protowire.Number) (n uint64, inner []byte) {
	for len(message) > 0 {
		found, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return n, inner
		}
		message = message[size:]
		length := protowire.ConsumeFieldValue(found, kind, message)
		if length < 0 {
			return n, inner
		}
		switch value := message[:length]; {
		case found != number:
		case kind == protowire.VarintType:
			n, _ = protowire.ConsumeVarint(value)
		case kind == protowire.BytesType:
			inner, _ = protowire.ConsumeBytes(value)
		}
		message = message[length:]
	}
	return n, inner
}
