package trace

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"hatchel/adapters"
)

// maxSpans is how many spans one call has.
const maxSpans = 1000

// Tracer decides which calls are traced, and begins their spans. It is safe for concurrent use.
type Tracer struct {
	exporter *Exporter
	ratio    float64
	burst    *bucket
}

// NewTracer returns a Tracer whose spans the exporter sends. Ratio is the share of the calls without a decision of
// their caller that are traced, and burst how many calls a second are traced at most.
func NewTracer(e *Exporter, ratio float64, burst int) *Tracer {
	return &Tracer{exporter: e, ratio: ratio, burst: &bucket{interval: time.Second / time.Duration(burst), size: burst}}
}

// Decision is what the trace context of a request says about its call.
type Decision int

// The decisions of a caller.
const (
	Undecided  Decision = iota // there is no trace context, or its caller is not trusted to decide
	Sampled                    // the caller traces the request
	NotSampled                 // the caller does not
)

// Samples decides whether a call is traced.
func (t *Tracer) Samples(d Decision) bool {
	if d == NotSampled || d == Undecided && rand.Float64() >= t.ratio {
		return false
	}
	return t.burst.take(time.Now())
}

// Start begins the span of a call that is traced. It belongs to the trace of a parent, in the form of a W3C trace
// context; empty for none.
func (t *Tracer) Start(name, parent string) adapters.Span {
	e := t.exporter
	ctx := e.ctx
	if sc := spanContext(parent); sc.IsValid() {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return adapters.NewSpan(newSpan(ctx, e.tracer, &spanCount{}, name, adapters.SpanServer))
}

// spanCount is how many spans a call has begun, and how many it has left out.
type spanCount struct{ begun, omitted atomic.Int32 }

// span implements adapters.SpanRecorder.
type span struct {
	oteltrace.Span
	ctx    context.Context
	tracer oteltrace.Tracer
	count  *spanCount // of the call
	isRoot bool
}

func newSpan(
	ctx context.Context, tracer oteltrace.Tracer, count *spanCount, name string, kind adapters.SpanKind,
) *span {
	s := &span{tracer: tracer, count: count, isRoot: count.begun.Add(1) == 1}
	s.ctx, s.Span = tracer.Start(ctx, name, oteltrace.WithSpanKind(spanKinds[kind]))
	return s
}

var spanKinds = [...]oteltrace.SpanKind{
	adapters.SpanInternal: oteltrace.SpanKindInternal,
	adapters.SpanServer:   oteltrace.SpanKindServer,
	adapters.SpanClient:   oteltrace.SpanKindClient,
}

// Start implements adapters.SpanRecorder.
func (s *span) Start(name string, kind adapters.SpanKind) adapters.SpanRecorder {
	if s.count.begun.Load() >= maxSpans {
		s.count.omitted.Add(1)
		return nil
	}
	return newSpan(s.ctx, s.tracer, s.count, name, kind)
}

// SetText implements adapters.SpanRecorder.
func (s *span) SetText(key, text string) { s.SetAttributes(attribute.String(key, text)) }

// SetInt implements adapters.SpanRecorder.
func (s *span) SetInt(key string, n int) { s.SetAttributes(attribute.Int(key, n)) }

// AddEvent implements adapters.SpanRecorder.
func (s *span) AddEvent(name string) { s.Span.AddEvent(name) }

// AddLink implements adapters.SpanRecorder.
func (s *span) AddLink(traceparent string) {
	if sc := spanContext(traceparent); sc.IsValid() {
		s.Span.AddLink(oteltrace.Link{SpanContext: sc})
	}
}

// Traceparent implements adapters.SpanRecorder.
func (s *span) Traceparent() string {
	sc := s.SpanContext()
	return "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + sc.TraceFlags().String()
}

// End implements adapters.SpanRecorder.
func (s *span) End(errorType string) {
	if errorType != "" {
		s.SetAttributes(attribute.String("error.type", errorType))
		s.SetStatus(codes.Error, "")
	}
	if n := s.count.omitted.Load(); s.isRoot && n > 0 {
		s.SetAttributes(attribute.Int("hatchel.spans_omitted", int(n)))
	}
	s.Span.End()
}

// spanContext returns a W3C trace context of version 00; the invalid one for another text.
func spanContext(traceparent string) oteltrace.SpanContext {
	if len(traceparent) != len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") {
		return oteltrace.SpanContext{}
	}
	trace, _ := oteltrace.TraceIDFromHex(traceparent[3:35])
	parent, _ := oteltrace.SpanIDFromHex(traceparent[36:52])
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: trace, SpanID: parent, TraceFlags: oteltrace.FlagsSampled, Remote: true,
	})
}

// bucket admits size traces at once, and one more after each interval. Its methods may be called concurrently.
type bucket struct {
	interval time.Duration
	size     int
	fullAt   atomic.Int64 // when nothing of it is used, in nanoseconds since 1970
}

// take reports whether the bucket has one left, which is taken.
func (b *bucket) take(now time.Time) bool {
	for {
		fullAt, at := b.fullAt.Load(), now.UnixNano()
		next := max(fullAt, at) + int64(b.interval)
		if next-at > int64(b.interval)*int64(b.size) {
			return false
		}
		if b.fullAt.CompareAndSwap(fullAt, next) {
			return true
		}
	}
}
