package mcp

import (
	"bytes"
	"sync"
)

// buffer is a reusable piece of memory for one request or one reply.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 4096)} }}

// borrow returns an empty buffer.
func borrow() *buffer { return buffers.Get().(*buffer) }

// release gives the buffer back; a huge one is left to the collector, so that one large reply does not stay in memory for good.
func (b *buffer) release() {
	if cap(b.b) > 1<<20 {
		return
	}
	b.b = b.b[:0]
	buffers.Put(b)
}

// oneLine makes a JSON text fit for a line or an event: raw line breaks can only be whitespace between tokens.
func oneLine(frame []byte) {
	for i, c := range frame {
		if c == '\n' || c == '\r' {
			frame[i] = ' '
		}
	}
}

func hasBreak(frame []byte) bool {
	return bytes.IndexByte(frame, '\n') >= 0 || bytes.IndexByte(frame, '\r') >= 0
}
