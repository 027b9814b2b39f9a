package http

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/functions"
	"hatchel/hcl/value"
	"hatchel/internal/contentcoding"
	"hatchel/internal/cut"
)

// read converts a response to the output of the block.
func (a *action) read(resp *nethttp.Response, r *compiledRequest) (map[string]any, *failure) {
	if !a.okStatus.contains(resp.StatusCode) {
		head, _ := io.ReadAll(io.LimitReader(resp.Body, maxExcerptBytes))
		r.traceResponse(resp, head)
		return nil, statusFailure(resp, a.describeStatus(resp, head, r.secrets))
	}
	raw, err := readBody(resp, a.maxBody)
	if err != nil {
		failed := networkFailure(err, a.timeout)
		if errors.As(err, new(*tooLargeError)) {
			failed.Change = adapters.ChangeDone
		}
		return nil, failed
	}
	raw = r.hideFetchedToken(raw, resp.Header)
	r.traceResponse(resp, raw)
	content := content{raw, resp.Header.Get("Content-Type"), contentcoding.Unknown(resp.Header)}
	body, failed := a.decode(resp.Request.Context(), content, r)
	if failed != nil {
		failed.Change = adapters.ChangeDone
		return nil, failed
	}
	return map[string]any{"status": resp.StatusCode, "headers": lowerCaseHeaders(resp.Header), "body": body}, nil
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
	if text := excerpt(head, resp.Header.Get("Content-Type"), secrets); text != "" {
		detail += ": " + text
	}
	return detail
}

// hideFetchedToken hides the fetched token in a response that repeats it. The runtime hides only the
// secrets of the configuration.
func (r *compiledRequest) hideFetchedToken(raw []byte, header nethttp.Header) []byte {
	if len(r.fetchedToken) < adapters.MinSecretLength {
		return raw
	}
	for _, values := range header {
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, r.fetchedToken, hcl.Hidden)
		}
	}
	if token := []byte(r.fetchedToken); bytes.Contains(raw, token) {
		raw = bytes.ReplaceAll(raw, token, []byte(hcl.Hidden))
	}
	return raw
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

// content is the body of a response with what its headers say of it.
type content struct {
	raw         []byte
	contentType string
	coding      string // the content codings that were not decoded; empty for none
}

// codingFailure returns the failure of a body that cannot be read because of its coding; nil if that is not the reason.
func (c content) codingFailure() *failure {
	if c.coding == "" {
		return nil
	}
	message := fmt.Sprintf("the service's response has the content encoding %s, which is not supported; %s are",
		cut.Runes(c.coding, 60), contentcoding.Supported)
	return newPermanentFailure(message, nil)
}

// decode converts a body as the author has declared. A body in an unknown coding may be what it seems to be, because
// some services name codings that they do not use.
func (a *action) decode(ctx context.Context, c content, r *compiledRequest) (any, *failure) {
	if a.method == nethttp.MethodHead {
		return nil, nil
	}
	switch a.block.As {
	case asBytes:
		if failed := c.codingFailure(); failed != nil {
			return nil, failed
		}
		return value.Bytes(c.raw), nil
	case asText:
		text, failed := decodeText(c.raw, c.contentType)
		if failed != nil {
			return nil, cmp.Or(c.codingFailure(), failed)
		}
		return text, nil
	}
	text, replaced, err := value.Compact(c.raw)
	r.call.CountReplaced(replaced)
	if err != nil {
		return nil, cmp.Or(c.codingFailure(), notJSONFailure(err, text, c.contentType, r))
	}
	if a.response == nil {
		if len(text) == 0 {
			return nil, nil
		}
		return &jsonDocument{raw: text}, nil
	}
	var v any
	if len(text) > 0 {
		if v, err = decodeJSON(text); err != nil {
			return nil, newPermanentFailure(err.Error(), err)
		}
	}
	return a.checkResponse(ctx, v)
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
	if text := excerpt(raw[:min(len(raw), maxExcerptBytes)], contentType, r.secrets); text != "" {
		f.Message += ": " + text
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

// usualText is the Content-Type of most texts, which needs no parsing.
const usualText = "text/plain; charset=utf-8"

// decodeText decodes text in UTF-8 or in one of the Latin encodings that servers still send.
func decodeText(raw []byte, contentType string) (any, *failure) {
	message := "the service's response is not UTF-8 text"
	charset := ""
	if strings.Contains(contentType, ";") && contentType != usualText {
		_, params, _ := mime.ParseMediaType(contentType)
		charset = strings.ToLower(params["charset"])
	}
	switch charset {
	case "iso-8859-1", "latin1", "windows-1252":
		text, _ := charmap.Windows1252.NewDecoder().Bytes(raw) // every byte is a character
		return string(text), nil
	case "", "utf-8", "utf8", "us-ascii":
		if utf8.Valid(raw) {
			return string(raw), nil
		}
	default:
		charset = cut.Runes(charset, 40)
		message = fmt.Sprintf("the service's response is text in %s, which is not supported", charset)
	}
	return nil, newPermanentFailure(message+`; the tool must use as = "bytes"`, nil)
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
