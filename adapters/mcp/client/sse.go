package client

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// event is one event of a stream (HTML, section 9.2).
type event struct {
	name string // "" for message
	data []byte // in memory of its own; nil if there is none
}

// eventReader reads the events of a stream.
type eventReader struct {
	r        io.Reader
	maxEvent int
	count    func(n int) error // is told of the bytes that were read
	lastID   string            // of the last event with an id
	retry    time.Duration     // the pause before a client comes back; 0 if the server gives none

	buf        *[]byte
	start, end int  // buf[start:end] is yet to be read
	skipLF     bool // the last line ended with a carriage return
	begun      bool
	line       []byte // the part of a line that the buffer did not hold
}

const (
	sseBuffer  = 16 << 10
	maxEventID = 4 << 10          // bytes; a longer id cannot be sent as a header
	maxRetry   = 30 * time.Second // the longest pause that a server may ask for
)

var sseBuffers = sync.Pool{New: func() any { b := make([]byte, sseBuffer); return &b }}

// newEventReader returns a reader of r. Release is called when it is no longer used.
func newEventReader(r io.Reader, maxEvent int, count func(n int) error) *eventReader {
	return &eventReader{r: r, maxEvent: maxEvent, count: count, buf: sseBuffers.Get().(*[]byte)}
}

func (e *eventReader) release() {
	sseBuffers.Put(e.buf)
	e.buf = nil
}

// next returns the next event that has data. The error is io.EOF at the end of the stream; an event that is not
// complete there is dropped, as the standard says.
func (e *eventReader) next() (event, error) {
	var ev event
	for {
		line, err := e.readLine()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if ev.data != nil {
				return ev, nil
			}
			ev = event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "data":
			if len(ev.data)+len(value) >= e.maxEvent {
				return event{}, tooLarge(e.maxEvent)
			}
			switch {
			case ev.data == nil && len(e.line) > 0 && len(value) > 0: // the line is in memory of its own
				ev.data, e.line = value[:len(value):len(value)], nil
			case ev.data == nil:
				ev.data = append(make([]byte, 0, len(value)), value...)
			default:
				ev.data = append(append(ev.data, '\n'), value...)
			}
		case "event":
			ev.name = string(value[:min(len(value), 64)])
		case "id":
			if bytes.IndexByte(value, 0) < 0 && len(value) <= maxEventID {
				e.lastID = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				e.retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
			}
		}
	}
}

// readLine returns the next line without its end. It is valid until the next call.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		rest := (*e.buf)[e.start:e.end]
		if e.skipLF && len(rest) > 0 {
			e.skipLF = false
			if rest[0] == '\n' {
				e.start++
				rest = rest[1:]
			}
		}
		i := lineEnd(rest)
		part := rest
		if i >= 0 {
			part = rest[:i]
		}
		if len(e.line)+len(part) > e.maxEvent+len("data: ") {
			return nil, tooLarge(e.maxEvent)
		}
		if i >= 0 {
			e.skipLF = rest[i] == '\r'
			e.start += i + 1
			if len(e.line) == 0 {
				return e.withoutMark(part), nil
			}
			e.line = append(grow(e.line, len(part)), part...)
			return e.withoutMark(e.line), nil
		}
		e.line = append(grow(e.line, len(part)), part...)
		n, err := e.r.Read(*e.buf)
		e.start, e.end = 0, n
		if n > 0 {
			if err := e.count(n); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
	}
}

// grow returns b with room for n more bytes. Unlike append it doubles buffers of every size.
func grow(b []byte, n int) []byte {
	if len(b)+n <= cap(b) {
		return b
	}
	return append(make([]byte, 0, max(2*cap(b), len(b)+n)), b...)
}

// lineEnd returns where the first line ends; -1 if it does not.
func lineEnd(text []byte) int {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return bytes.IndexByte(text, '\r')
	}
	if j := bytes.IndexByte(text[:i], '\r'); j >= 0 {
		return j
	}
	return i
}

// withoutMark removes the byte order mark of the first line.
func (e *eventReader) withoutMark(line []byte) []byte {
	if e.begun {
		return line
	}
	e.begun = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// limitError reports that what a server sent exceeds a limit.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

func tooLarge(limit int) error {
	return &limitError{fmt.Sprintf("the server sent a message of more than %d bytes", limit)}
}
