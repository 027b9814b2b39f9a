package audit

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// maxStreamWait is how long a record waits for the reader of a stream.
const maxStreamWait = 5 * time.Second

var errNotRead = errors.New("nobody reads the stream of the audit log")

// stream writes to a pipe or a terminal, whose reader may stop to read. It is used by one goroutine at a time.
type stream struct {
	w       io.Writer
	pending chan writeResult // of a write that was given up and goes on; nil for none
}

type writeResult struct {
	n   int
	err error
}

// Write implements io.Writer. If the write takes longer than maxStreamWait, it goes on in the background: Write returns
// errNotRead and the length of p, because p is part of the stream as soon as it is read. Until then later writes return
// errNotRead and 0.
func (s *stream) Write(p []byte) (int, error) {
	if s.pending != nil {
		select {
		case earlier := <-s.pending:
			if s.pending = nil; earlier.err != nil {
				return 0, fmt.Errorf("a record that nobody had read is lost: %w", earlier.err)
			}
		default:
			return 0, errNotRead
		}
	}
	text := append([]byte(nil), p...) // the caller reuses p
	written := make(chan writeResult, 1)
	go func() {
		n, err := s.w.Write(text)
		written <- writeResult{n, err}
	}()
	timeout := time.NewTimer(maxStreamWait)
	defer timeout.Stop()
	select {
	case r := <-written:
		return r.n, r.err
	case <-timeout.C:
		s.pending = written
		return len(p), errNotRead
	}
}
