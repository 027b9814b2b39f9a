package http

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	nethttp "net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/mock"
	"hatchel/hcl/value"
)

// maxMockedBody is the maximum size in bytes of the bodies that tests send and get.
const maxMockedBody = 64 << 20

// mockedRequest is an HTTP request that mocks answer, read.
type mockedRequest struct {
	*nethttp.Request
	mockedDetails
	connection string
	address    string // without the query
	path       string // below the base_url of the connection; empty for another host
	query      url.Values
	body       []byte
	json       any
	isJSON     bool
	form       map[string][]string // of a form, or of a body of several parts; nil for another body
}

// readRequest reads a request to a service.
func (t *mockedTransport) readRequest(r *nethttp.Request) (*mockedRequest, error) {
	out := &mockedRequest{Request: r, connection: t.connection, query: r.URL.Query(),
		address: r.URL.Scheme + "://" + r.URL.Host + r.URL.EscapedPath()}
	out.mockedDetails, _ = r.Context().Value(detailsKey{}).(mockedDetails)
	if rest, ok := strings.CutPrefix(out.address, t.service.base); ok && t.service.base != "" {
		if rest == "" || rest[0] == '/' {
			out.path = "/" + strings.TrimPrefix(rest, "/")
		}
	}
	if r.Body == nil {
		return out, nil
	}
	defer r.Body.Close()
	out.Request = r.Clone(r.Context())
	defer func() { out.Body = bodyOf(out.body) }()
	var err error
	if out.body, err = io.ReadAll(io.LimitReader(r.Body, maxMockedBody+1)); err != nil {
		return nil, err
	}
	if len(out.body) > maxMockedBody {
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

// bodyOf returns the body of a request that has been read.
func bodyOf(content []byte) io.ReadCloser {
	if len(content) == 0 {
		return nethttp.NoBody
	}
	return io.NopCloser(bytes.NewReader(content))
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
func (r *mockedRequest) match(c *mock.Matcher, m *mock.Mock, _ bool) {
	method, address := written(m.Request)
	address, query, _ := strings.Cut(address, "?")
	got := r.path
	if isURL(address) {
		got = r.address
	}
	c.Part("the connection", m.Connection == "" && isURL(address) || m.Connection == r.connection, m.Connection,
		r.connection)
	c.Part("the method", method == "" || method == r.Method, method, r.Method)
	c.Part("the path", address == "" || likePath(address, got) || likePath(address, c.Hide(got)), address, got)
	c.Fields("query", writtenQuery(query), r.query)
	object := func(name string) map[string]any {
		v, _ := m.Request[name].(map[string]any)
		return v
	}
	c.Fields("query", object("query"), r.query)
	headers := map[string][]string{}
	for name, texts := range r.Header {
		headers[strings.ToLower(name)] = []string{strings.Join(texts, ", ")}
	}
	for _, name := range value.Keys(object("headers")) {
		c.Fields("headers", map[string]any{strings.ToLower(name): object("headers")[name]}, headers)
	}
	if want, ok := m.Request["json"]; ok {
		c.Part("the body", r.isJSON, want, r.sentBody())
		c.Subset("json", want, r.json)
	}
	if want := object("form"); want != nil {
		c.Part("the body", r.form != nil, want, r.sentBody())
		c.Fields("form", want, r.form)
	}
	if want, ok := m.Request["body"].(string); ok {
		c.Part("the body", c.EqualText(want, string(r.body)), want, string(r.body))
	}
}

// written returns the method of a mock, in upper case, and its address; empty for a mock without one.
func written(request map[string]any) (method, address string) {
	for _, method := range methods {
		if address, ok := request[strings.ToLower(method)].(string); ok {
			return method, address
		}
	}
	return "", ""
}

// writtenQuery returns the parameters that are a part of an address.
func writtenQuery(text string) map[string]any {
	query, _ := url.ParseQuery(text) // without what is not valid
	out := make(map[string]any, len(query))
	for name, texts := range query {
		out[name] = mock.FieldValue(texts)
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
		return mock.Like(p, text) || err == nil && mock.Like(p, plain)
	}
	return mock.LikeList(strings.Split(pattern, "/"), strings.Split(got, "/"), segment)
}

// sent returns the request as conditions read it.
func (r *mockedRequest) sent() map[string]any {
	query, headers := map[string]any{}, map[string]any{}
	for name, texts := range r.query {
		query[name] = mock.FieldValue(texts)
	}
	for name, texts := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(texts, ", ")
	}
	return map[string]any{
		"method": r.Method, "url": r.URL.String(), "path": r.path, "query": query, "headers": headers,
		"body": r.sentBody(),
	}
}

// sentBody returns the body: decoded JSON, the fields of a form, text, or the size of anything else.
func (r *mockedRequest) sentBody() any {
	switch {
	case r.isJSON:
		return r.json
	case r.form != nil:
		form := map[string]any{}
		for name, texts := range r.form {
			form[name] = mock.FieldValue(texts)
		}
		return form
	case len(r.body) == 0:
		return nil
	case utf8.Valid(r.body):
		return string(r.body)
	}
	return fmt.Sprintf("%s%d bytes]", adapters.OmittedPrefix, len(r.body))
}

// suggest returns the mock that answers the request.
func (r *mockedRequest) suggest() *mock.Mock {
	m := &mock.Mock{Connection: r.connection, Request: map[string]any{}, Replies: []map[string]any{{"status": 200}}}
	target := r.path
	if target == "" {
		target, m.Connection = r.address, ""
	}
	m.Request[strings.ToLower(r.Method)] = target
	if len(r.query) > 0 {
		query := map[string]any{}
		for name, texts := range r.query {
			query[name] = mock.FieldValue(texts)
		}
		m.Request["query"] = query
	}
	switch body := r.sentBody(); {
	case r.isJSON:
		m.Request["json"] = body
	case r.form != nil:
		fields := body.(map[string]any)
		for name, texts := range r.form {
			if !utf8.ValidString(strings.Join(texts, "")) { // such as an image
				delete(fields, name)
			}
		}
		m.Request["form"] = fields
	case body != nil && utf8.Valid(r.body):
		m.Request["body"] = body
	}
	if r.answer != nil {
		m.Replies[0] = map[string]any{"json": r.answer}
	}
	return m
}
