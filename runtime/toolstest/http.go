package toolstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/value"
)

const maxBody = 64 << 20

// request is an HTTP request, read.
type request struct {
	*adapters.HTTPRequest
	address string // without the query
	path    string // below the base_url of the connection; empty for another host
	query   url.Values
	body    []byte
	json    any
	isJSON  bool
	form    map[string][]string // of a form, or of a body of several parts; nil for another body
}

// RoundTrip implements adapters.Mocks.
func (m *Mocks) RoundTrip(r *adapters.HTTPRequest) (*http.Response, error) {
	read, err := readRequest(r)
	if err != nil {
		return nil, err
	}
	hide := func(text string) string { return m.hide(text, r.Secrets) }
	target := read.address
	if read.path != "" {
		target = read.path
	}
	q := &question{
		kind: "http", connection: r.Connection, name: hide(r.Method + " " + target), sent: read.sent(hide),
		matches: func(mock *Mock, _ bool) mismatch { return read.match(mock, hide) },
		paste:   func() string { return read.paste(hide) },
		asked:   read.asked, secrets: r.Secrets, readOnly: r.ReadOnly, asLive: m.Live(),
	}
	reply, err := m.answer(q)
	if err != nil {
		return nil, err
	}
	if reply == nil {
		return m.send(read, q)
	}
	if err := m.wait(r.Context(), reply); err != nil {
		return nil, err
	}
	if fail, _ := reply.args["fail"].(string); failures[fail] != nil {
		return nil, failures[fail]
	}
	return m.response(r, reply)
}

// failures are the errors of requests by the values of fail.
var failures = map[string]error{
	"refused": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	"reset":   &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
	"timeout": context.DeadlineExceeded,
}

// failureOf returns the value of fail for the error of a request, or nothing if there is none.
func failureOf(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return ""
}

func readRequest(r *adapters.HTTPRequest) (*request, error) {
	out := &request{HTTPRequest: r, address: r.URL.Scheme + "://" + r.URL.Host + r.URL.EscapedPath()}
	out.query = r.URL.Query()
	if rest, ok := strings.CutPrefix(out.address, r.BaseURL); ok && r.BaseURL != "" {
		if rest == "" || rest[0] == '/' {
			out.path = "/" + strings.TrimPrefix(rest, "/")
		}
	}
	if r.Body == nil {
		return out, nil
	}
	defer r.Body.Close()
	var err error
	if out.body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1)); err != nil {
		return nil, err
	}
	if len(out.body) > maxBody {
		return nil, &adapters.Fault{Message: "a test sends no body of more than 64 MiB"}
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "application/x-www-form-urlencoded":
		out.form, _ = url.ParseQuery(string(out.body))
	case kind == "multipart/form-data":
		out.form = readParts(out.body, params["boundary"])
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		out.json, err = value.Decode(out.body)
		out.isJSON = err == nil
	}
	return out, nil
}

// readParts returns the contents of the parts of a body by their names.
func readParts(body []byte, boundary string) map[string][]string {
	form := map[string][]string{}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := parts.NextPart()
		if err != nil {
			return form
		}
		content, _ := io.ReadAll(p) // of a buffer
		form[p.FormName()] = append(form[p.FormName()], string(content))
	}
}

// match compares the request with a mock.
func (r *request) match(m *Mock, hide func(string) string) mismatch {
	c := &matcher{hide: hide}
	address, _ := m.Request["path"].(string)
	address, query, _ := strings.Cut(address, "?")
	got := r.path
	if isURL(address) {
		got = r.address
	}
	c.part("the connection", m.Connection == "" && isURL(address) || m.Connection == r.Connection, m.Connection,
		r.Connection)
	method, _ := m.Request["method"].(string)
	c.part("the method", method == "" || method == r.Method, method, r.Method)
	c.part("the path", address == "" || likePath(address, got) || likePath(address, hide(got)), address, got)
	c.fields("query", writtenQuery(query), r.query)
	object := func(name string) map[string]any {
		v, _ := m.Request[name].(map[string]any)
		return v
	}
	c.fields("query", object("query"), r.query)
	headers := map[string][]string{}
	for name, texts := range r.Header {
		headers[strings.ToLower(name)] = []string{strings.Join(texts, ", ")}
	}
	for _, name := range value.Keys(object("headers")) {
		c.fields("headers", map[string]any{strings.ToLower(name): object("headers")[name]}, headers)
	}
	if want, ok := m.Request["json"]; ok {
		c.part("the body", r.isJSON, want, r.sentBody())
		c.subset("json", want, r.json)
	}
	if want := object("form"); want != nil {
		c.part("the body", r.form != nil, want, r.sentBody())
		c.fields("form", want, r.form)
	}
	if want, ok := m.Request["body"].(string); ok {
		c.part("the body", c.equalText(want, string(r.body)), want, string(r.body))
	}
	return c.mismatch()
}

// writtenQuery returns the parameters that are a part of an address.
func writtenQuery(text string) map[string]any {
	query, _ := url.ParseQuery(text) // without what is not valid
	out := make(map[string]any, len(query))
	for name, texts := range query {
		out[name] = fieldValue(texts)
	}
	return out
}

func isURL(address string) bool {
	return strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://")
}

// likePath reports whether a path matches a pattern, in which * stands for one segment or a part of it, and ** for any
// number of segments. Both may be escaped.
func likePath(pattern, got string) bool {
	segment := func(p, text string) bool {
		plain, err := url.PathUnescape(text)
		return like(p, text) || err == nil && like(p, plain)
	}
	return likeList(strings.Split(pattern, "/"), strings.Split(got, "/"), segment)
}

// sent returns the request as conditions read it.
func (r *request) sent(hide func(string) string) map[string]any {
	query, headers := map[string]any{}, map[string]any{}
	for name, texts := range r.query {
		query[name] = hideValue(fieldValue(texts), hide)
	}
	for name, texts := range r.Header {
		headers[strings.ToLower(name)] = hide(strings.Join(texts, ", "))
	}
	return map[string]any{
		"kind": "http", "connection": r.Connection, "method": r.Method, "url": hide(r.URL.String()),
		"path": hide(r.path), "query": query, "headers": headers, "body": hideValue(r.sentBody(), hide),
	}
}

// sentBody returns the body: decoded JSON, the fields of a form, text, or the size of anything else.
func (r *request) sentBody() any {
	switch {
	case r.isJSON:
		return r.json
	case r.form != nil:
		form := map[string]any{}
		for name, texts := range r.form {
			form[name] = fieldValue(texts)
		}
		return form
	case len(r.body) == 0:
		return nil
	case utf8.Valid(r.body):
		return string(r.body)
	}
	return fmt.Sprintf("%s%d bytes]", adapters.OmittedPrefix, len(r.body))
}

// hideValue returns a value with the secrets in its texts hidden.
func hideValue(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = hideValue(e, hide)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[hide(key)] = hideValue(e, hide)
		}
		return out
	}
	return v
}

// paste returns the mock block that answers the request.
func (r *request) paste(hide func(string) string) string {
	b := newBlock("http", r.Connection)
	target := r.path
	if target == "" {
		target = r.address
		b = newBlock("http", "")
	}
	b.set(strings.ToLower(r.Method), hide(target))
	if len(r.query) > 0 {
		query := map[string]any{}
		for name, texts := range r.query {
			query[name] = fieldValue(texts)
		}
		b.set("query", hideValue(query, hide))
	}
	switch body := hideValue(r.sentBody(), hide); {
	case body == nil && !r.isJSON:
	case r.isJSON:
		b.set("json", body)
	case r.form != nil:
		fields := body.(map[string]any)
		for name, texts := range r.form {
			if !utf8.ValidString(strings.Join(texts, "")) { // such as an image
				delete(fields, hide(name))
			}
		}
		b.set("form", fields)
	case utf8.Valid(r.body):
		b.set("body", body)
	}
	reply := b.nested("reply")
	if r.Answer != nil {
		reply.set("json", sampler{}.sample(r.Answer, 0))
	} else {
		reply.set("status", 200)
	}
	return b.text()
}
