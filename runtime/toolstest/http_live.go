package toolstest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/value"
)

// ownHeaders are headers of requests that the program sets, or that differ each time.
var ownHeaders = []string{
	"Accept-Encoding", "Content-Length", "Content-Type", "Idempotency-Key", "Traceparent", "Tracestate", "User-Agent",
}

// asked returns the request as a tape has it.
func (r *request) asked() map[string]any {
	out, query, headers := map[string]any{"method": r.Method, "path": r.path}, map[string]any{}, map[string]any{}
	if r.path == "" {
		delete(out, "path")
		out["url"] = r.address
	}
	for name, texts := range r.query {
		query[name] = fieldValue(texts)
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

// send asks a service for real, and records its answer.
func (m *Mocks) send(r *request, q *question) (*http.Response, error) {
	again := r.Clone(r.Context())
	if r.HTTPRequest.Body != nil {
		again.Body = io.NopCloser(strings.NewReader(string(r.body)))
		if len(r.body) == 0 {
			again.Body = http.NoBody
		}
	}
	resp, err := r.Send(again)
	if !m.isRecording() {
		return resp, err
	}
	if err != nil {
		if fail := failureOf(err); fail != "" {
			m.record(&exchange{kind: "http", connection: r.Connection, request: q.asked(),
				reply: map[string]any{"fail": fail}, secrets: r.Secrets})
		} else {
			m.failRecording("%s has failed in a way that a tape cannot hold: %v", q.name, m.hide(err.Error(), r.Secrets))
		}
		return nil, err
	}
	if code := resp.Header.Get("Content-Encoding"); code != "" && code != "identity" {
		m.failRecording("the answer to %s is compressed, because the request has an Accept-Encoding header", q.name)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTape+1))
	if err != nil || len(body) > maxTape {
		m.failRecording("the answer to %s cannot be read, or has more than %d MiB", q.name, maxTape>>20)
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(string(body)), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	m.record(&exchange{kind: "http", connection: r.Connection, request: q.asked(), reply: httpReply(resp, body),
		secrets: r.Secrets})
	return resp, nil
}

// transientHeaders are headers of responses that say nothing about the resource, and differ each time.
var transientHeaders = []string{
	"Age", "Alt-Svc", "Connection", "Content-Length", "Date", "Keep-Alive", "Nel", "Report-To", "Server",
	"Server-Timing", "Strict-Transport-Security", "Transfer-Encoding", "Via", "X-Powered-By", "X-Request-Id",
	"X-Runtime",
}

// httpReply returns a response as a tape has it.
func httpReply(resp *http.Response, body []byte) map[string]any {
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
	switch v, err := value.Decode(body); {
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
