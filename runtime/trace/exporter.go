package trace

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

const (
	// maxQueued is how many ended spans wait for the collector. Others are dropped.
	maxQueued = 2048
	// maxBatch is how many spans one request has.
	maxBatch = 512
	// maxAttribute is how many characters an attribute has, unless OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT says so.
	maxAttribute = 4096
	// maxFlush is how long Close waits for the collector.
	maxFlush = 5 * time.Second
	// maxExport is how long one batch is tried, with its retries.
	maxExport = 30 * time.Second
	// logEvery is how often dropped spans are logged at most.
	logEvery = time.Minute
)

// ExporterOptions are where spans are sent. What is empty comes from the environment variables of OpenTelemetry, or is
// its default.
type ExporterOptions struct {
	Endpoint string            // base URL of the collector, to which /v1/traces is added
	Headers  map[string]string // of each request; never logged
	Version  string            // of the program
	Log      *slog.Logger
	Dropped  *atomic.Uint64 // counts the spans that are not sent
}

// Exporter sends spans to a collector, in batches and in the background. It is safe for concurrent use.
type Exporter struct {
	tracer    oteltrace.Tracer
	ctx       context.Context // of spans without a parent
	processor sdktrace.SpanProcessor
	client    sdktrace.SpanExporter
	log       *slog.Logger

	queued  atomic.Int64 // ended spans that are not sent
	dropped *atomic.Uint64
	closed  atomic.Bool // no more is sent
	logged  struct {    // used by the goroutine that sends
		at      time.Time
		dropped uint64
	}
}

// Open returns an Exporter. It does not wait for the collector. Close must be called.
func Open(ctx context.Context, o ExporterOptions) (*Exporter, error) {
	// The SDK logs what it reads from the environment, which may hold credentials, and what the collector answers.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	ctx = context.WithoutCancel(ctx)
	client, err := newClient(ctx, o)
	if err != nil {
		return nil, err
	}
	described, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "hatchel"), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES is not a list of NAME=value")
	}
	e := &Exporter{ctx: ctx, client: client, log: o.Log, dropped: o.Dropped}
	e.logged.dropped = o.Dropped.Load()
	e.processor = sdktrace.NewBatchSpanProcessor(&batchSender{e}, sdktrace.WithMaxQueueSize(maxQueued),
		sdktrace.WithMaxExportBatchSize(maxBatch), sdktrace.WithExportTimeout(maxExport))
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&queueLimit{e.processor, e}),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithResource(described),
		sdktrace.WithRawSpanLimits(limits))
	e.tracer = provider.Tracer("hatchel", oteltrace.WithInstrumentationVersion(o.Version))
	return e, nil
}

func newClient(ctx context.Context, o ExporterOptions) (sdktrace.SpanExporter, error) {
	// The headers may hold credentials, which a redirect would take along.
	options := []otlptracehttp.Option{otlptracehttp.WithProxy(func(r *http.Request) (*url.URL, error) {
		if r.Response != nil {
			return nil, errors.New("the collector has redirected a request")
		}
		return http.ProxyFromEnvironment(r)
	})}
	if o.Endpoint != "" {
		base, err := url.Parse(o.Endpoint)
		if err != nil {
			return nil, errors.New("the endpoint is not a URL")
		}
		options = append(options, otlptracehttp.WithEndpointURL(base.JoinPath("v1/traces").String()))
	}
	if len(o.Headers) > 0 {
		options = append(options, otlptracehttp.WithHeaders(o.Headers))
	}
	return otlptracehttp.New(ctx, options...)
}

// Close sends the spans that wait, for at most 5 seconds. Spans that end later are dropped.
func (e *Exporter) Close() error {
	ctx, cancel := context.WithTimeout(e.ctx, maxFlush)
	defer cancel()
	err := e.processor.Shutdown(ctx)
	e.closed.Store(true)
	stopped, stop := context.WithCancel(ctx)
	stop()
	e.client.Shutdown(stopped) // ends a request that is still under way
	e.dropped.Add(uint64(max(e.queued.Swap(0), 0)))
	if err != nil {
		return errors.New("not all traces were sent to the collector before the time for that was over")
	}
	return nil
}

// queueLimit is the processor of an Exporter for as long as not too many spans wait.
type queueLimit struct {
	sdktrace.SpanProcessor
	exporter *Exporter
}

// OnEnd implements sdktrace.SpanProcessor.
func (q *queueLimit) OnEnd(s sdktrace.ReadOnlySpan) {
	e := q.exporter
	if e.queued.Add(1) > maxQueued || e.closed.Load() {
		e.queued.Add(-1)
		e.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// batchSender counts and logs what the client of an Exporter does not send.
type batchSender struct{ *Exporter }

// ExportSpans implements sdktrace.SpanExporter.
func (s *batchSender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if s.closed.Load() {
		return nil // Close counts them
	}
	err := s.client.ExportSpans(ctx, spans)
	if err != nil && s.closed.Load() {
		return nil
	}
	s.queued.Add(-int64(len(spans)))
	if err != nil {
		s.dropped.Add(uint64(len(spans)))
	}
	s.logDropped(err)
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (s *batchSender) Shutdown(ctx context.Context) error { return s.client.Shutdown(ctx) }

// logDropped logs the spans that were dropped since it was done last. The texts of the client hold what the collector
// answers, so only its class is logged.
func (e *Exporter) logDropped(err error) {
	dropped := e.dropped.Load()
	if dropped == e.logged.dropped || time.Since(e.logged.at) < logEvery {
		return
	}
	reason := "too many spans wait for the collector"
	if err != nil {
		reason = "the collector does not take them"
		if timeout, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](err); ok {
			reason = "the collector cannot be reached"
			if timeout.Timeout() {
				reason = "the collector does not answer in time"
			}
		}
	}
	e.log.Warn("spans dropped", "spans", dropped-e.logged.dropped, "reason", reason)
	e.logged.at, e.logged.dropped = time.Now(), dropped
}
