package trace

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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
	ctx := t.exporter.ctx
	if sc := spanContext(parent); sc.IsValid() {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return adapters.NewSpan(newSpan(ctx, t.exporter, &spanCount{}, name, adapters.SpanServer))
}

// spanCount is how many spans a call has begun, and how many it has left out.
type spanCount struct{ begun, omitted atomic.Int32 }

// span implements adapters.SpanRecorder.
type span struct {
	oteltrace.Span
	ctx      context.Context
	exporter *Exporter
	count    *spanCount // of the call
	isRoot   bool

	mu sync.Mutex
	// attributes are set when the span ends: the SDK would copy all of them for each that it gets alone. It is nil
	// after that; guarded by mu.
	attributes *[]attribute.KeyValue
}

// attributeLists are lists for attributes, which the SDK copies.
var attributeLists = sync.Pool{New: func() any { return new([]attribute.KeyValue) }}

func newSpan(ctx context.Context, e *Exporter, count *spanCount, name string, kind adapters.SpanKind) *span {
	s := &span{
		exporter: e, count: count, isRoot: count.begun.Add(1) == 1,
		attributes: attributeLists.Get().(*[]attribute.KeyValue),
	}
	s.ctx, s.Span = e.tracer.Start(ctx, name, spanKinds[kind]...)
	return s
}

// spanKinds are the options that the spans of a kind are started with.
var spanKinds = [...][]oteltrace.SpanStartOption{
	adapters.SpanInternal: {oteltrace.WithSpanKind(oteltrace.SpanKindInternal)},
	adapters.SpanServer:   {oteltrace.WithSpanKind(oteltrace.SpanKindServer)},
	adapters.SpanClient:   {oteltrace.WithSpanKind(oteltrace.SpanKindClient)},
}

// Start implements adapters.SpanRecorder.
func (s *span) Start(name string, kind adapters.SpanKind) adapters.SpanRecorder {
	if s.count.begun.Load() >= maxSpans {
		s.count.omitted.Add(1)
		return nil
	}
	return newSpan(s.ctx, s.exporter, s.count, name, kind)
}

// SetText implements adapters.SpanRecorder.
func (s *span) SetText(key, text string) { s.set(attribute.String(key, text)) }

// SetInt implements adapters.SpanRecorder.
func (s *span) SetInt(key string, n int) { s.set(attribute.Int(key, n)) }

func (s *span) set(a attribute.KeyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attributes != nil {
		*s.attributes = append(*s.attributes, a)
	}
}

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
	trace, span, flags := sc.TraceID(), sc.SpanID(), sc.TraceFlags()
	text := append(make([]byte, 0, len(exampleTraceparent)), "00-"...)
	text = append(hex.AppendEncode(text, trace[:]), '-')
	text = append(hex.AppendEncode(text, span[:]), '-')
	return string(hex.AppendEncode(text, []byte{byte(flags)}))
}

// End implements adapters.SpanRecorder.
func (s *span) End(errorType string) {
	if errorType != "" {
		s.SetText("error.type", errorType)
		s.SetStatus(codes.Error, "")
	}
	if n := s.count.omitted.Load(); s.isRoot && n > 0 {
		s.SetInt("hatchel.spans_omitted", int(n))
	}
	s.mu.Lock()
	attributes := s.attributes
	s.attributes = nil
	s.mu.Unlock()
	if attributes == nil {
		return // it has ended before
	}
	s.SetAttributes(*attributes...)
	clear(*attributes)
	*attributes = (*attributes)[:0]
	attributeLists.Put(attributes)
	s.Span.End()
	s.exporter.add(s.Span.(sdktrace.ReadOnlySpan))
}

const exampleTraceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// spanContext returns a W3C trace context of version 00; the invalid one for another text.
func spanContext(traceparent string) oteltrace.SpanContext {
	if len(traceparent) != len(exampleTraceparent) {
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
