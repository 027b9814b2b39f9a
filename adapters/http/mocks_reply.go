package http

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	nethttp "net/http"
	"path"

	"hatchel/hcl/mock"
	"hatchel/hcl/value"
)

// response returns the response of a reply.
func (t *mockedTransport) response(r *mockedRequest, reply *mock.Reply) (*nethttp.Response, error) {
	status := nethttp.StatusOK
	if n, ok := reply.Args["status"].(int); ok {
		status = n
	}
	var body []byte
	header := nethttp.Header{}
	if v, ok := reply.Args["json"]; ok {
		encoded, err := appendAnswer(nil, v, r.lines)
		if err != nil {
			return nil, t.service.mocks.Fail(reply.Mock, fmt.Sprintf("json cannot be encoded: %v.", err))
		}
		body = encoded
		header.Set("Content-Type", "application/json")
	}
	if text, ok := reply.Args["text"].(string); ok {
		body = []byte(text)
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if text, ok := reply.Args["base64"].(string); ok {
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, t.service.mocks.Fail(reply.Mock, fmt.Sprintf("base64 of the tape cannot be decoded: %v.", err))
		}
		body = content
	}
	if name, ok := reply.Args["file"].(string); ok {
		content, err := t.service.mocks.ReadFile(name, maxMockedBody)
		if err != nil {
			return nil, t.service.mocks.Fail(reply.Mock, fmt.Sprintf("the file %q cannot be read: %v.", name, err))
		}
		body = content
		header.Set("Content-Type", contentType(name, content))
	}
	headers, _ := reply.Args["headers"].(map[string]any)
	for _, name := range value.Keys(headers) {
		texts, err := mock.TextsOf(headers[name])
		if err != nil {
			return nil, t.service.mocks.Fail(reply.Mock, fmt.Sprintf("the header %s is no text: %v.", name, err))
		}
		header[nethttp.CanonicalHeaderKey(name)] = texts
	}
	if r.Method == nethttp.MethodHead {
		body = nil
	}
	return &nethttp.Response{
		Status: fmt.Sprintf("%d %s", status, nethttp.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: int64(len(body)), Request: r.Request,
		Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// appendAnswer appends a value as JSON, and a list as one value in each line if the block reads lines.
func appendAnswer(dst []byte, v any, lines bool) (_ []byte, err error) {
	rows, ok := v.([]any)
	if !ok || !lines {
		return value.AppendJSON(dst, v)
	}
	for _, row := range rows {
		if dst, err = value.AppendJSON(dst, row); err != nil {
			return nil, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

func contentType(name string, content []byte) string {
	if path.Ext(name) == ".json" {
		return "application/json"
	}
	return nethttp.DetectContentType(content)
}
