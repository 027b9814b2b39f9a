package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl/functions"
	"hatchel/hcl/value"
	"hatchel/internal/contentcoding"
	"hatchel/internal/cut"
)

// read converts a response to the output of the block.
func (a *action) read(resp *nethttp.Response, r *compiledRequest) (map[string]any, *failure) {
	if !a.okStatus.contains(resp.StatusCode) {
		head, _ := io.ReadAll(io.LimitReader(resp.Body, adapters.MaxExcerptBytes))
		r.traceResponse(resp, head)
		return nil, statusFailure(resp, r.fetched.Text(a.describeStatus(resp, head, r.secrets)))
	}
	raw, err := readBody(resp, a.maxBody)
	if err != nil {
		failed := networkFailure(err, a.timeout)
		if errors.As(err, new(*tooLargeError)) {
			failed.Change = adapters.ChangeDone
		}
		return nil, failed
	}
	c := content{
		raw: raw, contentType: resp.Header.Get("Content-Type"), coding: contentcoding.Unknown(resp.Header),
	}
	if failed := a.decodeCharset(&c); failed != nil {
		r.traceResponse(resp, raw)
		failed.Change = adapters.ChangeDone
		return nil, failed
	}
	c.raw = a.hideFetched(c.raw, resp.Header, r)
	r.traceResponse(resp, c.raw)
	body, failed := a.decode(resp.Request.Context(), &c, r)
	if failed != nil {
		failed.Change = adapters.ChangeDone
		return nil, failed
	}
	out := map[string]any{"status": resp.StatusCode, "headers": lowerCaseHeaders(resp.Header), "body": body}
	if a.block.As == asJSONLines {
		out["truncated"] = c.cut
	}
	return out, nil
}

// describeStatus returns what a message says of a response after its status; head is the beginning of its body.
func (a *action) describeStatus(resp *nethttp.Response, head []byte, secrets []string) string {
	if redirect := describeRedirect(resp, a.service.redirects, secrets); redirect != "" {
		return redirect
	}
	detail := ""
	if hasLostCredentials(resp) {
		detail = fmt.Sprintf(" at %s, to which a redirect has led and credentials are not sent",
			redirectAddress(new(url.URL), resp.Request.URL, secrets))
	}
	if a.service.authorizer != nil {
		detail += a.service.authorizer.ExplainRefusal(resp, head)
	}
	if text := adapters.Excerpt(head, resp.Header.Get("Content-Type"), secrets); text != "" {
		detail += ": " + text
	}
	return detail
}

// hideFetched removes the fetched token from a response that repeats it, in whatever spelling. The runtime removes only
// the secrets of the configuration.
func (a *action) hideFetched(raw []byte, header nethttp.Header, r *compiledRequest) []byte {
	if r.fetched == nil {
		return raw
	}
	for _, values := range header {
		for i, v := range values {
			values[i] = r.fetched.Text(v)
		}
	}
	if a.block.As == asBytes || a.block.As == asText {
		return r.fetched.Bytes(raw)
	}
	return r.fetched.JSON(raw)
}

const (
	initialBuffer = 4 << 10   // for a body of unknown length
	maxInitial    = 256 << 10 // for a body of known length
)

// readBody reads a body of at most limit bytes.
func readBody(resp *nethttp.Response, limit int64) ([]byte, error) {
	size := int64(initialBuffer)
	if n := resp.ContentLength; n >= 0 {
		if n > limit && resp.Request.Method != nethttp.MethodHead {
			return nil, &tooLargeError{limit}
		}
		size = min(n+1, maxInitial) // one more byte, so that EOF is read without growing the buffer
	}
	buf := make([]byte, 0, size)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return nil, &tooLargeError{limit}
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// jsonDocument is the JSON body of a response. Its syntax is checked, and it is decoded on first use.
type jsonDocument struct {
	raw  []byte // compact; never modified
	once sync.Once
	v    any
	err  error
}

// AppendJSON implements value.LazyJSON.
func (d *jsonDocument) AppendJSON(dst []byte) []byte { return append(dst, d.raw...) }

// Weight returns that of the decoded value; see value.Weight.
func (d *jsonDocument) Weight() int64 { return value.WeightOfJSON(d.raw) }

// Value implements value.LazyJSON.
func (d *jsonDocument) Value() (any, error) {
	d.once.Do(func() { d.v, d.err = decodeJSON(d.raw) })
	return d.v, d.err
}

func decodeJSON(raw []byte) (any, error) {
	v, err := value.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("the service's response cannot be decoded: %w", err)
	}
	return v, nil
}

func notJSONFailure(err error, raw []byte, contentType string, r *compiledRequest) *failure {
	f := newPermanentFailure("the service's response is not JSON", err)
	if errors.Is(err, value.ErrTooDeep) {
		f.Message = "the service's response is nested too deeply"
		return f
	}
	var syntax *value.SyntaxError
	if errors.Is(err, value.ErrDuplicateKey) && errors.As(err, &syntax) {
		f.Message = "the service's response has more than one meaning: " + syntax.Reason +
			`; as = "text" reads it as it is`
		return f
	}
	switch kind, _, err := mime.ParseMediaType(contentType); {
	case err != nil:
	case strings.HasSuffix(kind, "json"):
		f.Message += ", although its content type is"
	default:
		f.Message += " but " + cut.Runes(kind, 60)
	}
	if text := adapters.Excerpt(raw[:min(len(raw), adapters.MaxExcerptBytes)], contentType, r.secrets); text != "" {
		f.Message += ": " + r.fetched.Text(text)
	}
	return f
}

const maxViolations = 5

// checkResponse checks a decoded body against the type that the author declared.
func (a *action) checkResponse(ctx context.Context, body any) (any, *failure) {
	out, violations, err := a.response.Check(body, &functions.Context{Call: ctx})
	if err != nil {
		return nil, newPermanentFailure("checking the response of the service took longer than the timeout", err)
	}
	if len(violations) == 0 {
		return out, nil
	}
	var list []string
	for _, violation := range violations[:min(len(violations), maxViolations)] {
		list = append(list, violation.String())
	}
	message := "the service's response does not have the expected type: " + strings.Join(list, "; ")
	return nil, newPermanentFailure(message, nil)
}

// lowerCaseHeaders returns the headers with names in lower case. Repeated headers are joined as RFC 9110
// defines.
func lowerCaseHeaders(h nethttp.Header) map[string]any {
	out := make(map[string]any, len(h))
	for name, values := range h {
		lower, ok := commonHeaders[name]
		if !ok {
			lower = strings.ToLower(name)
		}
		out[lower] = strings.Join(values, ", ")
	}
	return out
}

// commonHeaders avoids an allocation for names that most responses have.
var commonHeaders = map[string]string{
	"Cache-Control": "cache-control", "Connection": "connection", "Content-Encoding": "content-encoding",
	"Content-Length": "content-length", "Content-Type": "content-type", "Date": "date", "Etag": "etag",
	"Last-Modified": "last-modified", "Link": "link", "Location": "location", "Server": "server",
	"Strict-Transport-Security": "strict-transport-security", "Vary": "vary", "X-Request-Id": "x-request-id",
}
