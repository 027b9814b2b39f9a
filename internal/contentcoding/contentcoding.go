// Package contentcoding decodes the bodies of HTTP responses that have a Content-Encoding (RFC 9110, section 8.4).
package contentcoding

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"hatchel/internal/cut"
)

// maxCodings is the maximum number of codings of a body; curl has the same limit.
const maxCodings = 5

// maxWindow is the maximum size in bytes of the window of zstd, which RFC 9659 sets for HTTP.
const maxWindow = 8 << 20

// Supported lists the codings that are decoded, for messages.
const Supported = "gzip, deflate, br and zstd"

// Error reports a body that is not what its Content-Encoding says.
type Error struct {
	Coding string
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("invalid %s: %v", e.Coding, e.Err) }

// Unwrap returns the error of the decoder.
func (e *Error) Unwrap() error { return e.Err }

// Transport decodes the responses of another transport.
type Transport struct {
	Next interface {
		http.RoundTripper
		CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper. It asks for gzip where http.Transport does, which would read the first header
// of several as all codings, and would report a body that is not gzip as one that was not complete.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	asking := r
	if r.Header["Accept-Encoding"] == nil && r.Header["Range"] == nil && r.Method != http.MethodHead {
		with := *r
		with.Header = make(http.Header, len(r.Header)+1)
		maps.Copy(with.Header, r.Header)
		with.Header["Accept-Encoding"] = []string{"gzip"}
		asking = &with
	}
	resp, err := t.Next.RoundTrip(asking)
	if err != nil {
		return nil, err
	}
	resp.Request = r
	Decode(resp)
	return resp, nil
}

// CloseIdleConnections closes those of the other transport.
func (t Transport) CloseIdleConnections() { t.Next.CloseIdleConnections() }

// Decode has the body of a response decoded while it is read. It decodes nothing before. The Content-Encoding header
// keeps the codings that are unknown, and those below them.
func Decode(resp *http.Response) {
	codings := list(resp.Header.Values("Content-Encoding"))
	if len(codings) == 0 || resp.Body == nil || resp.Body == http.NoBody || len(codings) > maxCodings ||
		resp.Request != nil && resp.Request.Method == http.MethodHead {
		return
	}
	body, decoded := resp.Body, false
	for len(codings) > 0 {
		name := strings.ToLower(codings[len(codings)-1])
		open := decoders[name]
		if open == nil && name != "identity" {
			break
		}
		codings = codings[:len(codings)-1]
		if open != nil {
			body, decoded = &decoder{coding: name, open: open, from: body}, true
		}
	}
	if len(codings) > 0 {
		resp.Header.Set("Content-Encoding", strings.Join(codings, ", "))
	} else {
		resp.Header.Del("Content-Encoding")
	}
	if !decoded {
		return
	}
	resp.Header.Del("Content-Length")
	resp.Body, resp.ContentLength, resp.Uncompressed = body, -1, true
}

// list returns the codings of the values of a header as they are written, in the order in which they were applied.
func list(values []string) (codings []string) {
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name != "" {
				codings = append(codings, name)
			}
		}
	}
	return codings
}

// noCodings are values of the header that some services send for bodies that are not encoded.
var noCodings = []string{"none", "utf-8", "utf8", "us-ascii", "iso-8859-1", "binary", "8bit", "text", "aws-chunked"}

// Unknown returns the codings of a response that Decode has not decoded; empty if there are none.
func Unknown(header http.Header) string {
	codings := list(header.Values("Content-Encoding"))
	codings = slices.DeleteFunc(codings, func(name string) bool {
		return slices.Contains(noCodings, strings.ToLower(name))
	})
	return strings.Join(codings, ", ")
}

// Unsupported names a content coding in a message, with those that are supported.
func Unsupported(coding string) string {
	return fmt.Sprintf("the content encoding %s, which is not supported; %s are", cut.Runes(coding, 60),
		Supported)
}

// opener begins to decode.
type opener func(from *bufio.Reader) (io.Reader, error)

var decoders = map[string]opener{
	"gzip": openGzip, "x-gzip": openGzip, "deflate": openDeflate, "br": openBrotli, "zstd": openZstd,
}

func openGzip(from *bufio.Reader) (io.Reader, error) {
	r, err := gzip.NewReader(from)
	if err != nil {
		return nil, err // not a nil *gzip.Reader, which cannot be closed
	}
	return r, nil
}

// openDeflate reads the zlib format, as RFC 9110 defines, and the raw format, which some servers send.
func openDeflate(from *bufio.Reader) (io.Reader, error) {
	head, _ := from.Peek(2)
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(from)
	}
	return flate.NewReader(from), nil
}

func openBrotli(from *bufio.Reader) (io.Reader, error) { return brotli.NewReader(from), nil }

func openZstd(from *bufio.Reader) (io.Reader, error) {
	d, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// decoder decodes a body. It is not safe for concurrent use.
type decoder struct {
	coding string
	open   opener
	from   io.ReadCloser
	source *bufio.Reader // nil before the first read
	out    io.Reader
	err    error // of an earlier read
}

// Read implements io.Reader. An empty body is empty in every coding.
func (d *decoder) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.source == nil {
		d.source = bufio.NewReader(failing{d.from})
		if _, d.err = d.source.Peek(1); d.err == nil {
			d.out, d.err = d.open(d.source)
		}
	}
	if d.err == nil {
		n, d.err = d.out.Read(p)
	}
	d.err = d.explain(d.err)
	return n, d.err
}

// explain returns an Error for an error of the decoder, and the error of the network or of another coding as it is.
func (d *decoder) explain(err error) error {
	var source sourceError
	var inner *Error
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.As(err, &source):
		return source.error
	case errors.As(err, &inner):
		return err
	}
	return &Error{d.coding, err}
}

// Close implements io.Closer.
func (d *decoder) Close() error {
	if c, ok := d.out.(io.Closer); ok {
		c.Close()
	}
	return d.from.Close()
}

// failing marks the errors of a source, so that they are told from those of its decoder.
type failing struct{ from io.Reader }

type sourceError struct{ error }

// Read implements io.Reader.
func (f failing) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if err != nil && err != io.EOF {
		err = sourceError{err}
	}
	return n, err
}
