package adapters

import (
	"context"
	"errors"
	"strconv"
)

// Span is one part of a call that is traced, in the sense of OpenTelemetry. The zero Span is one of a call that is not:
// its methods do nothing, and the spans that it starts are zero, too. Names and attributes are texts of the
// configuration, numbers and classes of errors: never inputs, results or secrets. A Span may be used concurrently.
type Span struct{ recorder SpanRecorder }

// SpanRecorder records one Span.
type SpanRecorder interface {
	Start(name string, kind SpanKind) SpanRecorder // nil if the call has too many spans
	SetText(key, text string)
	SetInt(key string, n int)
	AddEvent(name string)
	AddLink(traceparent string)
	Traceparent() string
	End(errorType string)
}

// SpanKind is how a Span relates to those around it.
type SpanKind int

// The kinds of spans.
const (
	SpanInternal SpanKind = iota
	SpanServer            // handles a request
	SpanClient            // sends a request
)

// NewSpan returns the Span that r records; the zero Span for nil.
func NewSpan(r SpanRecorder) Span { return Span{r} }

// IsRecorded reports whether the call is traced. Attributes that take work are set only then.
func (s Span) IsRecorded() bool { return s.recorder != nil }

// Start begins a span below s, which End ends.
func (s Span) Start(name string, kind SpanKind) Span {
	if s.recorder == nil {
		return Span{}
	}
	return Span{s.recorder.Start(name, kind)}
}

// SetText sets an attribute, unless the text is empty.
func (s Span) SetText(key, text string) {
	if s.recorder != nil && text != "" {
		s.recorder.SetText(key, text)
	}
}

// SetInt sets an attribute.
func (s Span) SetInt(key string, n int) {
	if s.recorder != nil {
		s.recorder.SetInt(key, n)
	}
}

// AddEvent adds an event that happens now.
func (s Span) AddEvent(name string) {
	if s.recorder != nil {
		s.recorder.AddEvent(name)
	}
}

// AddLink links the span to one of another trace, or of the same one, by its W3C trace context. It ignores a text that
// is none.
func (s Span) AddLink(traceparent string) {
	if s.recorder != nil {
		s.recorder.AddLink(traceparent)
	}
}

// Traceparent returns the W3C trace context of the span, which a backend sends on to its service; empty for the zero
// Span.
func (s Span) Traceparent() string {
	if s.recorder == nil {
		return ""
	}
	return s.recorder.Traceparent()
}

// End ends the span. The class of its error becomes the attribute error.type; empty for none.
func (s Span) End(errorType string) {
	if s.recorder != nil {
		s.recorder.End(errorType)
	}
}

// ErrorType returns the class of the error of a backend, for Span.End; empty for none. It has no text of the error,
// which may hold values of the call.
func ErrorType(err error) string {
	f, isFault := errors.AsType[*Fault](err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case !isFault:
		return "internal"
	case f.Status != 0:
		return strconv.Itoa(f.Status)
	case f.Unavailable:
		return "unavailable"
	}
	return "fault"
}
