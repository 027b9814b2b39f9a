package trace

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"hatchel/internal/queue"
	"hatchel/internal/service"
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
	tracer  oteltrace.Tracer
	ctx     context.Context // of spans without a parent
	client  sdktrace.SpanExporter
	log     *slog.Logger
	dropped *atomic.Uint64

	mu      sync.Mutex
	waiting []sdktrace.ReadOnlySpan // ended spans; guarded by mu
	sending int                     // how many spans the request under way has; guarded by mu
	closed  bool                    // no more spans are taken; guarded by mu

	full    queue.Signal   // receives when a full batch waits
	closing chan struct{}  // closed by Close
	sender  *service.Group // its context is that of requests

	logged struct { // used by the goroutine that sends
		at      time.Time
		dropped uint64
		failure string // why the last batch since then was not taken; empty if all were
	}
}

// Open returns an Exporter. It does not wait for the collector. Close must be called.
func Open(ctx context.Context, o ExporterOptions) (*Exporter, error) {
	// The SDK logs what it reads from the environment, which may hold credentials, and what the collector answers.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	ctx = context.WithoutCancel(ctx)
	interval, err := sendInterval()
	if err != nil {
		return nil, err
	}
	settings, err := fromEnvironment(o)
	if err != nil {
		return nil, err
	}
	client, err := otlptrace.New(ctx, newCollector(settings))
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
	e := &Exporter{ctx: ctx, client: client, log: o.Log, dropped: o.Dropped,
		full: queue.NewSignal(), closing: make(chan struct{}), sender: service.NewGroup(ctx)}
	e.logged.dropped = o.Dropped.Load()
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(described), sdktrace.WithRawSpanLimits(limits))
	e.tracer = provider.Tracer("hatchel", oteltrace.WithInstrumentationVersion(o.Version))
	e.sender.Go(func(ctx context.Context) { e.run(ctx, interval) })
	return e, nil
}

// Close sends the spans that wait, for at most 5 seconds. Spans that end later are dropped.
func (e *Exporter) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.closing)
	}
	e.mu.Unlock()
	defer e.client.Shutdown(e.ctx)
	if !e.sender.Drain(maxFlush) {
		return errors.New("not all traces were sent to the collector before the time for that was over")
	}
	return nil
}

// add takes an ended span. Unlike the processor of the SDK it wakes the goroutine that sends for a full batch and not
// for each span, which would take more time than the span.
func (e *Exporter) add(s sdktrace.ReadOnlySpan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.waiting)+e.sending >= maxQueued {
		e.dropped.Add(1)
		return
	}
	e.waiting = append(e.waiting, s)
	if len(e.waiting) == maxBatch {
		e.full.Send()
	}
}

// run sends a full batch at once, what else waits after each interval, and all that is left when e is closed.
func (e *Exporter) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-e.full:
			e.send(ctx, maxBatch)
		case <-ticker.C:
			e.send(ctx, 1)
		case <-e.closing:
			e.send(ctx, 1)
			return
		}
	}
}

// send sends batches for as long as at least that many spans wait. It counts and logs what the collector does not take.
func (e *Exporter) send(ctx context.Context, least int) {
	for batch := e.take(least); batch != nil; batch = e.take(least) {
		exportCtx, cancel := context.WithTimeout(ctx, maxExport)
		err := e.client.ExportSpans(exportCtx, batch)
		cancel()
		if rejected := countRejected(len(batch), err); rejected > 0 {
			e.dropped.Add(uint64(rejected))
			e.logged.failure = describeFailure(err)
		}
		e.logDropped()
	}
}

// countRejected returns how many spans of a batch the collector has not taken.
func countRejected(batch int, err error) int {
	if err == nil {
		return 0
	}
	if n, ok := errors.AsType[rejectedError](err); ok {
		return int(min(int64(n), int64(batch)))
	}
	return batch
}

// take returns the next batch; nil if fewer spans wait, and the last batch is no longer under way.
func (e *Exporter) take(least int) []sdktrace.ReadOnlySpan {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sending = 0
	if len(e.waiting) < least {
		return nil
	}
	batch := e.waiting[:min(len(e.waiting), maxBatch)]
	rest := e.waiting[len(batch):]
	e.waiting, e.sending = append(make([]sdktrace.ReadOnlySpan, 0, maxBatch), rest...), len(batch)
	return batch
}

// describeFailure returns why a batch was not taken. Errors of the network have the address, so it is only their class.
func describeFailure(err error) string {
	status, isStatus := errors.AsType[statusError](err)
	rejected, isRejected := errors.AsType[rejectedError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case isStatus:
		return status.Error()
	case isRejected:
		return rejected.Error()
	case isNetwork && network.Timeout():
		return "the collector does not answer in time"
	}
	return "the collector cannot be reached"
}

// logDropped logs the spans that were dropped since it was done last. Where batches failed, that is the reason, also if
// the collector takes spans again.
func (e *Exporter) logDropped() {
	dropped := e.dropped.Load()
	if dropped == e.logged.dropped || time.Since(e.logged.at) < logEvery {
		return
	}
	reason := cmp.Or(e.logged.failure, "too many spans wait for the collector")
	e.log.Warn("spans dropped", "spans", dropped-e.logged.dropped, "reason", reason)
	e.logged.at, e.logged.dropped, e.logged.failure = time.Now(), dropped, ""
}
