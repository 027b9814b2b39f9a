package shell

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/internal/cut"
)

// capture keeps the output of a program: all of it up to limit bytes, of more the first and the last half of limit.
type capture struct {
	buf   []byte
	limit int
	next  int // beyond limit: the position of the oldest byte in the second half, which is overwritten next
	total int64
}

const (
	minCaptureBuffer    = 8 << 10
	maxPooledCaptureCap = 64 << 10
)

var capturePool = sync.Pool{New: func() any { return &capture{buf: make([]byte, 0, minCaptureBuffer)} }}

func newCapture(limit int) *capture {
	c := capturePool.Get().(*capture)
	c.buf, c.limit, c.next, c.total = c.buf[:0], limit, limit/2, 0
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

// text returns what was kept as valid UTF-8, with U+FFFD for other bytes. Where bytes were omitted, a line says how
// many, and no part of a secret precedes or follows it.
func (c *capture) text(secrets []string) string {
	if c.omitted() == 0 {
		return strings.ToValidUTF8(string(c.buf), "\uFFFD")
	}
	half, head := c.limit/2, c.head(secrets)
	tail := append(append(make([]byte, 0, c.limit-half), c.buf[c.next:]...), c.buf[half:c.next]...)
	tail = adapters.SanitizeTail(tail[cut.After(tail, 0):], secrets)
	omitted := c.total - int64(len(head)) - int64(len(tail))
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[... %d bytes truncated ...]\n%s", head, omitted, tail), "\uFFFD")
}

// head returns the text before the omitted bytes. No part of a secret ends it.
func (c *capture) head(secrets []string) string {
	return string(adapters.SanitizeHead(trimPartialRune(c.buf[:c.limit/2]), secrets))
}

// trimPartialRune removes the beginning of a character from the end of b.
func trimPartialRune(b []byte) []byte {
	for i := max(0, len(b)-utf8.UTFMax); i < len(b); i++ {
		if utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			return b[:i]
		}
	}
	return b
}

// stream is one output of a job: a pipe, and what was read from it.
type stream struct {
	reader, writer *os.File // writer is nil when only the programs have it
	captured       *capture
}

func newStream(limit int) (*stream, error) {
	r, w, err := newOutputPipe()
	if err != nil {
		return nil, err
	}
	return &stream{reader: r, writer: w, captured: newCapture(limit)}, nil
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

// maxDrain is how much is read after the deadline: the capacity of a large pipe.
const maxDrain = 1 << 20

// drain reads what is in the pipe. On a busy machine the deadline may expire before anything was read.
func (s *stream) drain() {
	raw, err := s.reader.SyscallConn()
	if err != nil || s.reader.SetReadDeadline(time.Time{}) != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for total := 0; total < maxDrain; {
			n, err := syscall.Read(int(fd), s.captured.nextBuffer())
			if err == syscall.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				break
			}
			s.captured.add(n)
			total += n
		}
		return true
	})
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
