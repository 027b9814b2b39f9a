package http

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/mock"
	"hatchel/hcl/value"
	"hatchel/internal/contentcoding"
	"hatchel/internal/neterror"
)

// ownHeaders are headers of requests that the program sets, or that differ each time.
var ownHeaders = []string{
	"Accept-Encoding", "Content-Length", "Content-Type", "Idempotency-Key", "Traceparent", "Tracestate", "User-Agent",
}

// taped returns the request as a tape has it.
func (r *mockedRequest) taped() map[string]any {
	out, query, headers := map[string]any{"method": r.Method, "path": r.path}, map[string]any{}, map[string]any{}
	if r.path == "" {
		delete(out, "path")
		out["url"] = r.address
	}
	for name, texts := range r.query {
		query[name] = mock.FieldValue(texts)
	}
	for name, texts := range r.Header {
		if !slices.Contains(ownHeaders, name) {
			headers[strings.ToLower(name)] = strings.Join(texts, ", ")
		}
	}
	for name, members := range map[string]map[string]any{"query": query, "headers": headers} {
		if len(members) > 0 {
			out[name] = members
		}
	}
	switch {
	case r.isJSON:
		out["json"] = r.json
	case r.form != nil:
		out["form"] = r.sentBody()
	case len(r.body) > 0 && utf8.Valid(r.body):
		out["body"] = string(r.body)
	case len(r.body) > 0:
		out["sha256"] = fmt.Sprintf("%x", sha256.Sum256(r.body))
	}
	return out
}

// send asks the service for real, and records its answer.
func (t *mockedTransport) send(r *mockedRequest, q *mock.Question) (*nethttp.Response, error) {
	resp, err := t.service.decoding.RoundTrip(r.Request)
	mocks := t.service.mocks
	if !mocks.IsRecording() {
		return resp, err
	}
	if err != nil {
		if fail := failureOf(err); fail != "" {
			mocks.Record(q, map[string]any{"fail": fail})
		} else {
			mocks.FailRecording(q.Secrets, "%s has failed in a way that a tape cannot hold: %v", q.Name, err)
		}
		return nil, err
	}
	if coding := contentcoding.Unknown(resp.Header); coding != "" {
		mocks.FailRecording(q.Secrets, "the answer to %s has the content encoding %s, which is not decoded", q.Name,
			coding)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTapedBody+1))
	if err != nil || len(body) > maxTapedBody {
		mocks.FailRecording(q.Secrets, "the answer to %s cannot be read, or has more than %d MiB", q.Name,
			maxTapedBody>>20)
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(string(body)), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	mocks.Record(q, tapedReply(resp, body, r.lines))
	return resp, nil
}

// maxTapedBody is the maximum size in bytes of a body on a tape.
const maxTapedBody = 4 << 20

// failureOf returns the value of fail for the error of a request, or nothing if there is none.
func failureOf(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, neterror.ECONNREFUSED):
		return "refused"
	case errors.Is(err, neterror.ECONNRESET):
		return "reset"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return ""
}

// transientHeaders are headers of responses that say nothing about the resource, and differ each time.
var transientHeaders = []string{
	"Age", "Alt-Svc", "Connection", "Content-Length", "Date", "Keep-Alive", "Nel", "Report-To", "Server",
	"Server-Timing", "Strict-Transport-Security", "Transfer-Encoding", "Via", "X-Powered-By", "X-Request-Id",
	"X-Runtime",
}

// decodeAnswer decodes JSON, or the JSON values of lines.
func decodeAnswer(body []byte, lines bool) (any, error) {
	if !lines {
		v, _, err := value.DecodeLossy(body, nil)
		return v, err
	}
	rows := []any{}
	for line := range bytes.Lines(body) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, _, err := value.DecodeLossy(line, nil)
		if err != nil {
			return nil, err
		}
		rows = append(rows, v)
	}
	return rows, nil
}

// tapedReply returns a response as a tape has it.
func tapedReply(resp *nethttp.Response, body []byte, lines bool) map[string]any {
	reply := map[string]any{"status": resp.StatusCode}
	headers := map[string]any{}
	for name, texts := range resp.Header {
		if !slices.Contains(transientHeaders, name) {
			headers[strings.ToLower(name)] = strings.Join(texts, ", ")
		}
	}
	if len(headers) > 0 {
		reply["headers"] = headers
	}
	v, err := decodeAnswer(body, lines)
	switch {
	case len(body) == 0:
	case err == nil && strings.Contains(resp.Header.Get("Content-Type"), "json"):
		reply["json"] = v
	case utf8.Valid(body):
		reply["text"] = string(body)
	default:
		reply["base64"] = base64.StdEncoding.EncodeToString(body)
	}
	return reply
}
