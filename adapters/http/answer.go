package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// read turns an answer into the output of the block.
func (a *action) read(resp *nethttp.Response, d *draft) (map[string]any, *failure) {
	if !a.ok.has(resp.StatusCode) {
		head, _ := io.ReadAll(io.LimitReader(resp.Body, excerptRead))
		return nil, refused(resp.StatusCode, resp.Header, excerpt(head, resp.Header.Get("Content-Type"), d.secrets))
	}
	raw, err := readBody(resp, a.maxBody)
	if err != nil {
		return nil, networkFailure(err, a.timeout)
	}
	raw = d.silenced(raw, resp.Header)
	body, failed := a.decode(raw, resp, d)
	if failed != nil {
		return nil, failed
	}
	return map[string]any{"status": resp.StatusCode, "headers": lowered(resp.Header), "body": body}, nil
}

// silenced hides the fetched token in an answer that repeats it. Secrets of the configuration are hidden in what leaves the process, where the token is not
// known.
func (d *draft) silenced(raw []byte, header nethttp.Header) []byte {
	if len(d.fetched) < adapters.ShortestSecret {
		return raw
	}
	for _, values := range header {
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, d.fetched, hcl.Hidden)
		}
	}
	if bytes.Contains(raw, []byte(d.fetched)) {
		raw = bytes.ReplaceAll(raw, []byte(d.fetched), []byte(hcl.Hidden))
	}
	return raw
}

// firstRead is how much room a body gets whose length is not known, and the most that a promised length is believed.
const (
	firstRead = 4 << 10
	believed  = 256 << 10
)

// readBody reads a body of at most limit bytes.
func readBody(resp *nethttp.Response, limit int64) ([]byte, error) {
	size := int64(firstRead)
	if n := resp.ContentLength; n >= 0 {
		if n > limit && resp.Request.Method != nethttp.MethodHead {
			return nil, &tooLargeError{limit}
		}
		size = min(n+1, believed) // one more, so that the end is seen without growing
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

func (a *action) decode(raw []byte, resp *nethttp.Response, d *draft) (any, *failure) {
	if a.method == nethttp.MethodHead {
		return nil, nil
	}
	switch a.request.As {
	case asBytes:
		return value.Bytes(raw), nil
	case asText:
		text, err := decodeText(raw, resp.Header.Get("Content-Type"))
		if err != nil {
			return nil, &failure{message: err.Error(), final: true}
		}
		return text, nil
	}
	text, err := value.Compact(raw)
	if err != nil {
		return nil, notJSON(err, text, resp.Header.Get("Content-Type"), d)
	}
	var doc value.Deferred // an empty body is null
	if len(text) > 0 {
		doc = &document{raw: text}
	}
	if a.response != nil {
		return conform(a.response, doc)
	}
	if doc == nil {
		return nil, nil
	}
	return doc, nil
}

func notJSON(err error, raw []byte, contentType string, d *draft) *failure {
	f := &failure{final: true, cause: err, message: "the service's answer is not JSON"}
	if errors.Is(err, value.ErrDeep) {
		f.message = "the service's answer is nested too deeply"
		return f
	}
	switch kind, _, err := mime.ParseMediaType(contentType); {
	case err != nil:
	case strings.HasSuffix(kind, "json"):
		f.message += " although it says so"
	default:
		f.message += " but " + adapters.Head(kind, 60)
	}
	if text := excerpt(raw[:min(len(raw), excerptRead)], contentType, d.secrets); text != "" {
		f.message += ": " + text
	}
	return f
}

// shownViolations bounds what is said of an answer that is not of its type.
const shownViolations = 5

// conform checks a body against the type that the author gave it.
func conform(v *schema.Validator, doc value.Deferred) (any, *failure) {
	var body any
	if doc != nil {
		var err error
		if body, err = doc.Value(); err != nil {
			return nil, &failure{message: err.Error(), cause: err, final: true}
		}
	}
	out, violations := v.Check(body)
	if len(violations) == 0 {
		return out, nil
	}
	var said []string
	for _, x := range violations[:min(len(violations), shownViolations)] {
		said = append(said, x.String())
	}
	return nil, &failure{message: "the service's answer is not of the expected type: " + strings.Join(said, "; "), final: true}
}

// decodeText makes text of a body. UTF-8 and the Latin encodings that servers still send are known; others must be read as bytes.
func decodeText(raw []byte, contentType string) (string, error) {
	_, params, _ := mime.ParseMediaType(contentType)
	switch charset := strings.ToLower(params["charset"]); charset {
	case "iso-8859-1", "latin1", "windows-1252":
		text, err := charmap.Windows1252.NewDecoder().Bytes(raw)
		return string(text), err
	case "", "utf-8", "utf8", "us-ascii":
		if utf8.Valid(raw) {
			return string(raw), nil
		}
		return "", errors.New("the service's answer is not text in UTF-8; the tool must read it with as = \"bytes\"")
	default:
		return "", fmt.Errorf("the service's answer is text in %s, which is not read here; the tool must read it with as = \"bytes\"", adapters.Head(charset, 40))
	}
}

// lowered are the headers by their names in lower case; several of one name are joined as RFC 9110 says.
func lowered(h nethttp.Header) map[string]any {
	out := make(map[string]any, len(h))
	for name, values := range h {
		lower, ok := usual[name]
		if !ok {
			lower = strings.ToLower(name)
		}
		if len(values) == 1 {
			out[lower] = values[0]
		} else {
			out[lower] = strings.Join(values, ", ")
		}
	}
	return out
}

// usual spares the lower-case copy of names that nearly every answer has.
var usual = map[string]string{
	"Cache-Control": "cache-control", "Connection": "connection", "Content-Encoding": "content-encoding", "Content-Length": "content-length",
	"Content-Type": "content-type", "Date": "date", "Etag": "etag", "Last-Modified": "last-modified", "Link": "link", "Location": "location",
	"Server": "server", "Strict-Transport-Security": "strict-transport-security", "Vary": "vary", "X-Request-Id": "x-request-id",
}
