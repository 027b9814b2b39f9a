package toolstest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path"

	"hatchel/adapters"
	"hatchel/hcl/value"
)

// response returns the response of a reply.
func (m *Mocks) response(r *adapters.HTTPRequest, reply *reply) (*http.Response, error) {
	status := http.StatusOK
	if n, ok := reply.args["status"].(int); ok {
		status = n
	}
	var body []byte
	header := http.Header{}
	if v, ok := reply.args["json"]; ok {
		encoded, err := value.AppendJSON(nil, v)
		if err != nil {
			return nil, m.fail(fmt.Sprintf("json cannot be encoded: %v.", err), reply.at)
		}
		body = encoded
		header.Set("Content-Type", "application/json")
	}
	if text, ok := reply.args["text"].(string); ok {
		body = []byte(text)
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if text, ok := reply.args["base64"].(string); ok {
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, m.fail(fmt.Sprintf("base64 of the tape cannot be decoded: %v.", err), reply.at)
		}
		body = content
	}
	if name, ok := reply.args["file"].(string); ok {
		content, err := m.readFile(name, maxBody)
		if err != nil {
			return nil, m.fail(fmt.Sprintf("the file %q cannot be read: %v.", name, err), reply.at)
		}
		body = content
		header.Set("Content-Type", contentType(name, content))
	}
	headers, _ := reply.args["headers"].(map[string]any)
	for _, name := range value.Keys(headers) {
		texts, err := textsOf(headers[name])
		if err != nil {
			return nil, m.fail(fmt.Sprintf("the header %s is no text: %v.", name, err), reply.at)
		}
		header[http.CanonicalHeaderKey(name)] = texts
	}
	if r.Method == http.MethodHead {
		body = nil
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: int64(len(body)), Request: r.Request,
		Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

func contentType(name string, content []byte) string {
	if path.Ext(name) == ".json" {
		return "application/json"
	}
	return http.DetectContentType(content)
}
