//go:build unix

package shell

import (
	"syscall"
	"time"
)

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
