package shell

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/internal/charset"
)

// capture keeps the output of a program: all of it up to limit bytes, of more the first and the last half of limit.
type capture struct {
	buf      []byte
	limit    int
	next     int // beyond limit: the position of the oldest byte in the second half, which is overwritten next
	total    int64
	encoding *charset.Encoding // of the text
}

const (
	minCaptureBuffer    = 8 << 10
	maxPooledCaptureCap = 64 << 10
)

var capturePool = sync.Pool{New: func() any { return &capture{buf: make([]byte, 0, minCaptureBuffer)} }}

func newCapture(limit int, encoding *charset.Encoding) *capture {
	c := capturePool.Get().(*capture)
	c.buf, c.limit, c.next, c.total, c.encoding = c.buf[:0], limit, limit/2, 0, encoding
	return c
}

// release returns the buffer to the pool. Texts that were made of the capture stay valid.
func (c *capture) release() {
	if cap(c.buf) <= maxPooledCaptureCap {
		capturePool.Put(c)
	}
}

// nextBuffer returns where the next bytes are read to. It is never empty.
func (c *capture) nextBuffer() []byte {
	if len(c.buf) == c.limit {
		return c.buf[c.next:]
	}
	if len(c.buf) == cap(c.buf) {
		grown := make([]byte, len(c.buf), min(max(2*cap(c.buf), minCaptureBuffer), c.limit))
		copy(grown, c.buf)
		c.buf = grown
	}
	return c.buf[len(c.buf):min(cap(c.buf), c.limit)]
}

// add records that n bytes were read into nextBuffer.
func (c *capture) add(n int) {
	c.total += int64(n)
	if len(c.buf) < c.limit {
		c.buf = c.buf[:len(c.buf)+n]
		return
	}
	if c.next += n; c.next == c.limit {
		c.next = c.limit / 2
	}
}

// omitted returns how many bytes were not kept.
func (c *capture) omitted() int64 { return max(0, c.total-int64(c.limit)) }

// text returns what was kept, decoded and without a byte order mark, and the first place that is not in the encoding;
// each such byte is <0xFF>. Where bytes were omitted, a line says how many, and no part of a secret precedes or follows
// it.
func (c *capture) text(secrets []string) (text string, bad *charset.Error) {
	if c.omitted() == 0 {
		return charset.Show(c.buf, c.encoding)
	}
	half := c.limit / 2
	head, kept, bad := c.head(secrets)
	raw := append(append(make([]byte, 0, c.limit-half), c.buf[c.next:]...), c.buf[half:c.next]...)
	encoding, _ := charset.Detect(c.buf[:half], c.encoding)
	tail, size, badTail := charset.ShowTail(raw, encoding, c.total-int64(len(raw)))
	clean := adapters.SanitizeTail([]byte(tail), secrets)
	omitted := c.total - int64(kept) - int64(size-(len(tail)-len(clean)))
	return fmt.Sprintf("%s\n[... %d bytes truncated ...]\n%s", head, omitted, clean), cmp.Or(bad, badTail)
}

// head returns the text before the omitted bytes, as text does, and how many bytes of the output it is. No part of a
// secret ends it.
func (c *capture) head(secrets []string) (text string, size int, bad *charset.Error) {
	text, size, bad = charset.ShowHead(c.buf[:c.limit/2], c.encoding)
	clean := adapters.SanitizeHead([]byte(text), secrets)
	return string(clean), size - (len(text) - len(clean)), bad
}

// stream is one output of a job: a pipe, and what was read from it.
type stream struct {
	reader, writer *os.File // writer is nil when only the programs have it
	captured       *capture
}

func newStream(limit int, encoding *charset.Encoding) (*stream, error) {
	r, w, err := newOutputPipe()
	if err != nil {
		return nil, err
	}
	return &stream{reader: r, writer: w, captured: newCapture(limit, encoding)}, nil
}

// closeWriter closes the server's copy of the writing end, so that the stream ends when the programs close theirs.
func (s *stream) closeWriter() {
	if s != nil && s.writer != nil {
		s.writer.Close()
		s.writer = nil
	}
}

// collect reads until all writers have closed the pipe, or until the deadline.
func (s *stream) collect() {
	for {
		n, err := s.reader.Read(s.captured.nextBuffer())
		s.captured.add(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.drain()
		}
		if err != nil {
			return
		}
	}
}

// setDeadline makes collect return at a time. A stream that is nil or closed is ignored.
func (s *stream) setDeadline(t time.Time) {
	if s != nil {
		_ = s.reader.SetReadDeadline(t)
	}
}

func (s *stream) close() {
	if s != nil {
		s.closeWriter()
		if s.reader != nil { // the output of a mock has none
			s.reader.Close()
		}
		s.captured.release()
	}
}
