package http

import (
	"cmp"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/internal/hostname"
)

// spanNames is what the spans of the requests of a block say of them: what is the same for all calls.
type spanNames struct {
	name     string // the method and the template
	template string // of the path and the query
	server   string // the host; empty if it is a value
	port     int
}

func newSpanNames(a *action) spanNames {
	n := spanNames{template: a.service.base + a.address.Template()}
	if u, err := url.Parse(n.template); err == nil {
		n.server = u.Hostname()
		n.port, _ = strconv.Atoi(hostname.Port(u))
	}
	if _, afterScheme, ok := strings.Cut(n.template, "://"); ok {
		_, path, _ := strings.Cut(afterScheme, "/")
		n.template = "/" + path
	}
	n.name = a.method + " " + n.template
	return n
}

// startSpan begins the span of one attempt. The request carries the trace context of the span in place of that of the
// call, unless it carries none or one of the author's.
func (a *action) startSpan(r *compiledRequest) adapters.Span {
	if !r.call.Span.IsRecorded() {
		return adapters.Span{}
	}
	span := r.call.Span.Start(a.span.name, adapters.SpanClient)
	span.SetText("http.request.method", a.method)
	span.SetText("url.template", a.span.template)
	span.SetText("server.address", a.span.server)
	if a.span.port != 0 {
		span.SetInt("server.port", a.span.port)
	}
	if r.tries > 1 {
		span.SetInt("http.request.resend_count", r.tries-1)
	}
	if own := cmp.Or(span.Traceparent(), r.traceparent); r.traceparent != "" {
		if sent := r.header["Traceparent"]; len(sent) == 1 && sent[0] == r.traceparent {
			r.header = maps.Clone(r.header) // an attempt that timed out may still read it
			r.header["Traceparent"], r.traceparent = []string{own}, own
		}
	}
	return span
}

// endSpan ends the span of an attempt, whose response had a status, 0 for none.
func endSpan(span adapters.Span, status int, failed *failure) {
	if !span.IsRecorded() {
		return
	}
	if status != 0 {
		span.SetInt("http.response.status_code", status)
	}
	switch {
	case failed == nil:
		span.End("")
	case failed.timedOut:
		span.End("timeout")
	case failed.Status == 0 && status == 0:
		span.End("connection")
	default:
		span.End(adapters.ErrorType(&failed.Fault))
	}
}
