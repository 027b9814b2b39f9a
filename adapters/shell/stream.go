package shell

import (
	"errors"
	"os"
	"syscall"
	"time"
)

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
		s.reader.Close()
		s.captured.release()
	}
}
