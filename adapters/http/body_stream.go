package http

import (
	"context"
	"io"
	nethttp "net/http"
	"strings"

	"hatchel/hcl/value"
)

// bodyStream is a body with uploaded files, which are read while they are sent. It can be opened any
// number of times, for example for a retry.
type bodyStream struct {
	pieces []piece
	size   int64
}

// piece is a text or a file.
type piece struct {
	text string
	file value.File
}

func (s *bodyStream) addText(text []byte) {
	s.pieces = append(s.pieces, piece{text: string(text)})
	s.size += int64(len(text))
}

func (s *bodyStream) addFile(f value.File) {
	s.pieces = append(s.pieces, piece{file: f})
	s.size += f.Info().Size
}

func (s *bodyStream) open() (io.ReadCloser, error) { return &bodyReader{rest: s.pieces}, nil }

// bodyReader reads a bodyStream with at most one open file. It is not safe for concurrent use.
type bodyReader struct {
	rest    []piece
	current io.ReadCloser
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	for {
		if r.current == nil {
			if len(r.rest) == 0 {
				return 0, io.EOF
			}
			next := r.rest[0]
			if r.rest = r.rest[1:]; next.file == nil {
				r.current = io.NopCloser(strings.NewReader(next.text))
			} else if file, err := next.file.Open(); err != nil {
				return 0, err
			} else {
				r.current = file
			}
		}
		n, err := r.current.Read(p)
		if err == io.EOF {
			r.current.Close()
			r.current, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (r *bodyReader) Close() error {
	r.rest = nil
	if r.current == nil {
		return nil
	}
	return r.current.Close()
}

type streamKey struct{}

// attach returns a context whose request is sent with this body.
func (s *bodyStream) attach(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, s)
}

// setStream sets the body of a request to the stream attached to its context.
func setStream(req *nethttp.Request) {
	if s, ok := req.Context().Value(streamKey{}).(*bodyStream); ok {
		req.ContentLength, req.GetBody = s.size, s.open
		req.Body, _ = s.open()
	}
}
