package shell

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// A stream is one output of a job: a pipe and what came through it.
type stream struct {
	read, write *os.File // write is nil once the programs have it
	kept        *capture
}

func newStream(limit int) (*stream, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &stream{read: r, write: w, kept: newCapture(limit)}, nil
}

// handOver closes our copy of the end that the programs write to, so that the stream ends when theirs do.
func (s *stream) handOver() {
	if s != nil && s.write != nil {
		s.write.Close()
		s.write = nil
	}
}

// collect reads until nobody writes any more, or until the deadline of the pipe.
func (s *stream) collect() {
	for {
		n, err := s.read.Read(s.kept.room())
		s.kept.took(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.rest()
		}
		if err != nil {
			return
		}
	}
}

// pipeCapacity is the most that is read of a pipe after its deadline: what a pipe can hold, with room for large ones.
const pipeCapacity = 1 << 20

// rest reads what is in the pipe already: on a machine under load a deadline may pass before anybody looked.
func (s *stream) rest() {
	raw, err := s.read.SyscallConn()
	if err != nil || s.read.SetReadDeadline(time.Time{}) != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for read := 0; read < pipeCapacity; {
			n, err := syscall.Read(int(fd), s.kept.room())
			if err == syscall.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				break
			}
			s.kept.took(n)
			read += n
		}
		return true
	})
}

// endBy makes collect return by a time. A stream that is nil or closed is left alone.
func (s *stream) endBy(t time.Time) {
	if s != nil {
		_ = s.read.SetReadDeadline(t)
	}
}

func (s *stream) close() {
	if s != nil {
		s.handOver()
		s.read.Close()
		s.kept.release()
	}
}
