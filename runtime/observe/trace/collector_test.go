package trace

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"hatchel/runtime/observe/trace/tracetest"
)

// openFromEnvironment opens an Exporter that has no settings of its own.
func openFromEnvironment(t *testing.T) (*Exporter, error) {
	t.Helper()
	return Open(t.Context(), ExporterOptions{Log: slog.New(slog.DiscardHandler), Dropped: new(atomic.Uint64)})
}

// sendOne sends one span, and returns how many were dropped.
func sendOne(t *testing.T) uint64 {
	t.Helper()
	e, err := openFromEnvironment(t)
	if err != nil {
		t.Fatal(err)
	}
	NewTracer(e, 1, 1).Start("call", "").End("")
	e.Close()
	return e.dropped.Load()
}

func TestTheEnvironmentOfTracesComesFirst(t *testing.T) {
	collector := tracetest.New(t, nil)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.URL+"/tenants/a/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=b")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-tenant = a%20b , authorization=Basic%20eDp5")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	if n := sendOne(t); n != 0 || len(collector.Spans()) != 1 {
		t.Fatalf("%d spans are dropped", n)
	}
	headers, paths, _ := collector.Requests()
	if h := headers[0]; paths[0] != "/tenants/a/traces" || h.Get("X-Tenant") != "a b" ||
		h.Get("Authorization") != "Basic eDp5" || h.Get("Content-Encoding") != "gzip" || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("got %v %v", paths, headers)
	}
}

// TestTheCertificatesOfTheEnvironment has a collector that wants a certificate of its clients.
func TestTheCertificatesOfTheEnvironment(t *testing.T) {
	var received atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 1 {
			received.Add(1)
		}
	}))
	s.TLS = &tls.Config{}
	s.TLS.ClientAuth = tls.RequestClientCert // it is asked for, and not verified: the one below is for servers
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	defer s.Close()
	own := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificateFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{
		certificateFile: {Type: "CERTIFICATE", Bytes: own.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	if n := sendOne(t); n != 1 {
		t.Fatal("a collector with an unknown certificate was trusted")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certificateFile)
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", certificateFile)
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", keyFile)
	if n := sendOne(t); n != 0 || received.Load() != 1 {
		t.Errorf("%d spans are dropped, %d requests had a certificate", n, received.Load())
	}
}

func TestWrongSettingsOfTheEnvironmentAreReportedWithoutTheirValues(t *testing.T) {
	for name, values := range map[string][]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT":           {"secret.example:4318", "ftp://secret", "http://", "http://secret\x7f"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":    {"/secret"},
		"OTEL_EXPORTER_OTLP_HEADERS":            {"secret", "a=b,secret", "=secret", "a=%secret"},
		"OTEL_EXPORTER_OTLP_COMPRESSION":        {"secret"},
		"OTEL_EXPORTER_OTLP_TIMEOUT":            {"0", "-1", "10s", "secret"},
		"OTEL_EXPORTER_OTLP_CERTIFICATE":        {"/secret"},
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": {"/secret"},
		"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY":  {"/secret"},
	} {
		for _, value := range values {
			t.Run(name, func(t *testing.T) {
				t.Setenv(name, value)
				e, err := openFromEnvironment(t)
				if err == nil {
					e.Close()
					t.Fatalf("%q is accepted", value)
				}
				if !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%q: %v", value, err)
				}
			})
		}
	}
}

// answering is a network with a collector that answers each request with the next status.
type answering struct {
	statuses []int
	at       []time.Duration // when the requests were made
	began    time.Time
	headers  http.Header
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.at = append(a.at, time.Since(a.began))
	status := a.statuses[min(len(a.at), len(a.statuses))-1]
	return &http.Response{StatusCode: status, Header: maps.Clone(a.headers), Body: http.NoBody, Request: r}, nil
}

// TestABusyCollectorIsAskedAgain sends one batch to collectors that take it later, never, or do not want it.
func TestABusyCollectorIsAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		after    string
		requests int
		dropped  int
	}{
		"busy once":              {[]int{503, 200}, "", 2, 0},
		"three kinds of busy":    {[]int{429, 502, 504, 200}, "", 4, 0},
		"busy for eight seconds": {[]int{429, 200}, "8", 2, 0},
		"for longer than a try":  {[]int{503, 200}, "60", 1, 10},
		"refused":                {[]int{500, 200}, "", 1, 10},
		"not found":              {[]int{404, 200}, "", 1, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &answering{statuses: c.statuses, headers: http.Header{}, began: time.Now()}
				if c.after != "" {
					network.headers.Set("Retry-After", c.after)
				}
				collector := newCollector(collectorSettings{url: "http://collector.example/v1/traces", timeout: time.Second})
				collector.client.Transport = network
				ctx, cancel := context.WithTimeout(t.Context(), maxExport)
				defer cancel()
				err := collector.UploadTraces(ctx, nil)
				if n := countRejected(10, err); n != c.dropped || len(network.at) != c.requests {
					t.Errorf("%d are dropped after %d requests at %v: %v", n, len(network.at), network.at, err)
				}
				if c.after == "8" && network.at[1] < 8*time.Second {
					t.Errorf("it was asked again after %s", network.at[1])
				}
			})
		})
	}
}

func TestRejectedSpansAreCounted(t *testing.T) {
	response := func(fields ...byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), fields)
	}
	three := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	warning := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "use gzip")
	const proto, json = "application/x-protobuf", "application/json"
	for _, c := range []struct {
		mediaType string
		answer    []byte
		want      int64
	}{
		{proto, nil, 0}, {proto, response(three...), 3}, {proto, response(append(warning, three...)...), 3},
		{proto, response(warning...), 0}, {proto, slices.Concat([]byte{9 << 3, 7}, response(three...)), 3},
		{proto, []byte{0xff}, 0}, {proto, response(0x08), 0}, {proto, []byte{0x0a, 0x7f}, 0},
		{json, []byte(`{"partialSuccess": {"rejectedSpans": "3"}}`), 3},
		{json, []byte(`{"partialSuccess": {"rejectedSpans": 3}}`), 3},
		{json, []byte(`{"partialSuccess": {"errorMessage": "use gzip"}}`), 0}, {json, []byte(`{}`), 0}, {json, []byte(`<html>`), 0},
		{"text/html", []byte("3"), 0},
	} {
		if got := rejectedSpans(c.mediaType, c.answer); got != c.want {
			t.Errorf("%s %q: %d, not %d", c.mediaType, c.answer, got, c.want)
		}
	}
}
