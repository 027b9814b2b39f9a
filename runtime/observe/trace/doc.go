// Package trace turns sampled calls into spans and sends them to an OpenTelemetry collector. A Tracer decides which
// calls are sampled; for those that are not it does nothing else. An Exporter sends the spans in the background and
// never delays a call: what the collector does not take in time is dropped and counted.
package trace
