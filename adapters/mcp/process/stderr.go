package process

import (
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
)

// maxStderr is how many bytes of an error output are kept, the last ones.
const maxStderr = 64 << 10

// stderr is the error output of a program. It is safe for concurrent use.
type stderr struct {
	reader    *os.File
	collected chan struct{} // closed when collect has returned

	mu   sync.Mutex
	kept []byte // guarded by mu
	next int    // of a full kept: the position of the oldest byte; guarded by mu
}

func newStderr(reader *os.File) *stderr {
	return &stderr{reader: reader, collected: make(chan struct{})}
}

// The limits of reading an error output.
const (
	stderrRate  = 16 << 20 // bytes in a second
	stderrBurst = 16 << 20
)

// collect reads the error output until it ends.
func (s *stderr) collect() {
	defer close(s.collected)
	throttle := client.NewThrottle(stderrRate, stderrBurst)
	buf := make([]byte, 16<<10)
	for {
		n, err := s.reader.Read(buf)
		s.add(buf[:n])
		if err != nil {
			return
		}
		time.Sleep(throttle.Pause(n)) // about a millisecond
	}
}

func (s *stderr) add(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := min(maxStderr-len(s.kept), len(p))
	s.kept = append(s.kept, p[:room]...)
	for p = p[room:]; len(p) > 0; {
		n := copy(s.kept[s.next:], p)
		s.next, p = (s.next+n)%maxStderr, p[n:]
	}
}

// finish ends the reading at a deadline, and waits for its end.
func (s *stderr) finish(deadline time.Time) {
	_ = s.reader.SetReadDeadline(deadline)
	<-s.collected
}

func (s *stderr) close() { s.reader.Close() }

// tail returns the last characters without secrets, at most limit. A part of a secret at the beginning is removed, too.
func (s *stderr) tail(limit int, secrets []string) string {
	s.mu.Lock()
	raw := append(append(make([]byte, 0, len(s.kept)), s.kept[s.next:]...), s.kept[:s.next]...)
	isCut := len(s.kept) == maxStderr
	s.mu.Unlock()
	if isCut {
		raw = adapters.SanitizeTail(raw, secrets)
	}
	text := strings.TrimSpace(adapters.Sanitize(strings.ToValidUTF8(string(raw), "\uFFFD"), secrets))
	if utf8.RuneCountInString(text) > limit {
		text = adapters.LastRunes(text, limit)
	}
	return text
}
