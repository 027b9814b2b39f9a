package http

import (
	"context"
	"io"
	nethttp "net/http"
	"strings"

	"hatchel/hcl/value"
)

// A stream is a body with uploaded files in it, which are read while they are sent. It can be opened any number of times.
type stream struct {
	pieces []piece
	size   int64
}

// A piece is a text or a file.
type piece struct {
	text string
	file value.File
}

func (s *stream) addText(text []byte) {
	s.pieces = append(s.pieces, piece{text: string(text)})
	s.size += int64(len(text))
}

func (s *stream) addFile(f value.File) {
	s.pieces = append(s.pieces, piece{file: f})
	s.size += f.Facts().Size
}

// open reads the body from its beginning.
func (s *stream) open() (io.ReadCloser, error) { return &streamReader{left: s.pieces}, nil }

// streamReader has at most one file open. It belongs to one goroutine.
type streamReader struct {
	left []piece
	now  io.ReadCloser
}

// Read implements io.Reader.
func (r *streamReader) Read(p []byte) (int, error) {
	for {
		if r.now == nil {
			if len(r.left) == 0 {
				return 0, io.EOF
			}
			next := r.left[0]
			if r.left = r.left[1:]; next.file == nil {
				r.now = io.NopCloser(strings.NewReader(next.text))
			} else if file, err := next.file.Open(); err != nil {
				return 0, err
			} else {
				r.now = file
			}
		}
		n, err := r.now.Read(p)
		if err == io.EOF {
			r.now.Close()
			r.now, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (r *streamReader) Close() error {
	r.left = nil
	if r.now == nil {
		return nil
	}
	return r.now.Close()
}

type streamKey struct{}

// with has the request of a context sent with this body.
func (s *stream) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, s)
}

// sendStream gives a request the body that its context holds.
func sendStream(req *nethttp.Request) {
	if s, ok := req.Context().Value(streamKey{}).(*stream); ok {
		req.ContentLength, req.GetBody = s.size, s.open
		req.Body, _ = s.open()
	}
}
