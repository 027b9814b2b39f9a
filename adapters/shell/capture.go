package shell

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"hatchel/adapters"
)

// A capture keeps what a program writes: all of it up to limit bytes, beyond that the first and the last half of limit.
type capture struct {
	buf   []byte
	limit int
	at    int // beyond limit: where in the second half the oldest byte is, which the next one replaces
	total int64
}

const (
	firstRoom = 8 << 10
	pooled    = 64 << 10 // larger buffers are not kept
)

var captures = sync.Pool{New: func() any { return &capture{buf: make([]byte, 0, firstRoom)} }}

func newCapture(limit int) *capture {
	c := captures.Get().(*capture)
	c.buf, c.limit, c.at, c.total = c.buf[:0], limit, limit/2, 0
	return c
}

// release gives the buffer back. Nothing of the capture may be used afterwards; texts made of it may.
func (c *capture) release() {
	if cap(c.buf) <= pooled {
		captures.Put(c)
	}
}

// room is where the next bytes go. It is never empty.
func (c *capture) room() []byte {
	if len(c.buf) == c.limit {
		return c.buf[c.at:]
	}
	if len(c.buf) == cap(c.buf) {
		grown := make([]byte, len(c.buf), min(max(2*cap(c.buf), firstRoom), c.limit))
		copy(grown, c.buf)
		c.buf = grown
	}
	return c.buf[len(c.buf):min(cap(c.buf), c.limit)]
}

// took says that n bytes were put into room.
func (c *capture) took(n int) {
	c.total += int64(n)
	if len(c.buf) < c.limit {
		c.buf = c.buf[:len(c.buf)+n]
		return
	}
	if c.at += n; c.at == c.limit {
		c.at = c.limit / 2
	}
}

// cut is how many bytes were not kept.
func (c *capture) cut() int64 { return max(0, c.total-int64(c.limit)) }

// text is a copy of what was kept, as valid UTF-8: what is not becomes U+FFFD. Where something was cut a line says how much, and no part of a secret stands beside it.
func (c *capture) text(secrets []string) string {
	if c.cut() == 0 {
		return strings.ToValidUTF8(string(c.buf), "\uFFFD")
	}
	half := c.limit / 2
	head := adapters.Begun(wholeRunes(c.buf[:half]), secrets)
	tail := append(append(make([]byte, 0, c.limit-half), c.buf[c.at:]...), c.buf[half:c.at]...)
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	tail = adapters.Ended(tail, secrets)
	gone := c.total - int64(len(head)) - int64(len(tail))
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[... %d bytes cut here ...]\n%s", head, gone, tail), "\uFFFD")
}

// wholeRunes drops a character that b ends in the middle of.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
