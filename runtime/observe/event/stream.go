package event

import (
	"context"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	writeTimeout = 10 * time.Second // of one write, for a client that does not read
	finalTimeout = time.Second      // of all writes after End
	// LinesType is the media type of JSON lines, which Stream sends instead of an event stream.
	LinesType = "application/x-ndjson"
	// comment keeps a connection open on which nothing happens.
	comment = ": keep-alive\n\n"
)

// Stream sends the events of a listener in an HTTP response.
type Stream struct {
	w     http.ResponseWriter
	lines bool
	// closes says that the connection, which has no other streams, is closed after the response, so that a server that
	// stops does not wait for the client.
	closes bool
	out    []byte
	until  atomic.Pointer[time.Time] // deadline of all writes; nil before End
}

// NewStream returns the stream for a request. Its form is that of the Accept header: JSON lines if that
// names them, otherwise an event stream.
func NewStream(w http.ResponseWriter, r *http.Request) *Stream {
	s := &Stream{w: w, closes: r.ProtoMajor == 1}
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		media, _, err := mime.ParseMediaType(part)
		s.lines = s.lines || err == nil && media == LinesType
	}
	return s
}

// End ends the stream after what was published until now, within a second. It may be called concurrently with Serve.
func (s *Stream) End(l *Listener) {
	until := time.Now().Add(finalTimeout)
	s.until.Store(&until)
	l.End()
	http.NewResponseController(s.w).SetWriteDeadline(until)
}

// Serve sends what a listener gets until ctx ends, the client goes, or the viewer may no longer listen. It returns
// why it has ended.
func (s *Stream) Serve(ctx context.Context, l *Listener) error {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	if s.lines {
		h.Set("Content-Type", LinesType)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no")
	if s.closes {
		h.Set("Connection", "close")
	}
	s.w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(s.w)
	defer control.SetWriteDeadline(time.Time{})
	if err := control.Flush(); err != nil {
		return err
	}
	for {
		events, err := l.Next(ctx)
		if err != nil {
			return err
		}
		s.out = s.out[:0]
		for i := range events {
			s.append(&events[i])
		}
		if len(events) == 0 && s.lines {
			s.out = append(s.out, '\n') // an empty line, which readers of JSON lines skip
		} else if len(events) == 0 {
			s.out = append(s.out, comment...)
		}
		deadline := time.Now().Add(writeTimeout)
		if until := s.until.Load(); until != nil {
			deadline = *until
		}
		control.SetWriteDeadline(deadline)
		if _, err := s.w.Write(s.out); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
	}
}

// append appends an event. Its data is JSON of one line, so nothing in it can begin another field or event.
func (s *Stream) append(e *Event) {
	if s.lines {
		s.out = append(e.AppendID(append(s.out, `{"id":"`...)), `",`...)
		s.out = append(append(s.out, e.Data[1:]...), '\n')
		return
	}
	s.out = append(append(s.out, "event: "...), e.Kind.String()...)
	s.out = e.AppendID(append(s.out, "\nid: "...))
	s.out = append(append(append(s.out, "\ndata: "...), e.Data...), "\n\n"...)
}
