package mcp

import (
	"bytes"
	"sync"
)

// Buffer is reusable memory for one request or one reply.
type Buffer struct {
	B      []byte
	memory Reservation // of the request
}

// maxReusedBuffer is the largest buffer that is reused, so that one large reply does not occupy
// memory forever.
const maxReusedBuffer = 1 << 20

var buffers = sync.Pool{New: func() any { return &Buffer{B: make([]byte, 0, uncounted)} }}

// BorrowBuffer returns an empty buffer. The caller must release it.
func BorrowBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release returns the memory. The buffer must not be used afterwards.
func (b *Buffer) Release() {
	b.memory.Release()
	if cap(b.B) > maxReusedBuffer {
		return
	}
	b.B = b.B[:0]
	buffers.Put(b)
}

// removeLineBreaks replaces the line breaks of a JSON text, which can only be white space, so that
// it fits in a line or an event.
func removeLineBreaks(frame []byte) {
	for i, c := range frame {
		if c == '\n' || c == '\r' {
			frame[i] = ' '
		}
	}
}

// appendOneLine appends a JSON text without its line breaks.
func appendOneLine(dst, frame []byte) []byte {
	start := len(dst)
	dst = append(dst, frame...)
	if bytes.IndexByte(dst[start:], '\n') >= 0 || bytes.IndexByte(dst[start:], '\r') >= 0 {
		removeLineBreaks(dst[start:])
	}
	return dst
}
