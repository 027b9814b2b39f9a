// Package tracetest is an OpenTelemetry collector for tests: it decodes the traces that it receives, and shows them as
// trees.
package tracetest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one span as it was received.
type Span struct {
	Trace, ID, Parent string // in hexadecimal; Parent is empty for none
	Name, Kind        string
	Start             uint64
	Attributes        map[string]string
	Events            []string
	Links             []string // trace-span
	Failed            bool
	Resource          map[string]string
}

// Receiver is a collector. Its methods may be called concurrently.
type Receiver struct {
	URL string

	mu      sync.Mutex
	spans   []Span        // guarded by mu
	headers []http.Header // of all requests; guarded by mu
	paths   []string      // of all requests; guarded by mu
	raw     []byte        // of all requests; guarded by mu
}

// New returns a Receiver, which the test closes. Answer handles each request after it was read; nil accepts it.
func New(t testing.TB, answer http.HandlerFunc) *Receiver {
	r := &Receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := r.receive(req); err != nil {
			t.Error(err)
		}
		if answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(s.Close)
	r.URL = s.URL
	return r
}

func (r *Receiver) receive(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil // the sender has given up
	}
	if req.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return err
		}
		if body, err = io.ReadAll(unpacked); err != nil {
			return err
		}
	}
	var traces collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &traces); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers, r.paths, r.raw = append(r.headers, req.Header), append(r.paths, req.URL.Path), append(r.raw, body...)
	for _, of := range traces.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans = append(r.spans, newSpan(s, attributes(of.Resource.Attributes)))
			}
		}
	}
	return nil
}

func newSpan(s *tracepb.Span, resource map[string]string) Span {
	out := Span{
		Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId),
		Parent: hex.EncodeToString(s.ParentSpanId), Name: s.Name,
		Kind: strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")), Start: s.StartTimeUnixNano,
		Attributes: attributes(s.Attributes), Failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		Resource: resource,
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, e.Name)
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, hex.EncodeToString(l.TraceId)+"-"+hex.EncodeToString(l.SpanId))
	}
	return out
}

func attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = fmt.Sprint(v.IntValue)
		default:
			out[a.Key] = a.Value.String()
		}
	}
	return out
}

// Spans returns the spans so far, by their start.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := slices.Clone(r.spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	return spans
}

// Requests returns the headers and the paths of all requests so far, and their bodies.
func (r *Receiver) Requests() (headers []http.Header, paths []string, raw string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.headers), slices.Clone(r.paths), string(r.raw)
}

// Tree returns the names, kinds and errors of all spans, each below its parent, and the attributes that show names.
func (r *Receiver) Tree(show ...string) string {
	spans := r.Spans()
	known := map[string]bool{}
	for _, s := range spans {
		known[s.ID] = true
	}
	var out strings.Builder
	var write func(parent, indent string)
	write = func(parent, indent string) {
		for _, s := range spans {
			if s.Parent != parent && (parent != "" || known[s.Parent]) {
				continue
			}
			fmt.Fprintf(&out, "%s%s %s", indent, s.Kind, s.Name)
			for _, key := range show {
				if text, ok := s.Attributes[key]; ok {
					fmt.Fprintf(&out, " %s=%s", key, text)
				}
			}
			if s.Failed {
				out.WriteString(" failed")
			}
			out.WriteByte('\n')
			write(s.ID, indent+"  ")
		}
	}
	write("", "")
	return out.String()
}
