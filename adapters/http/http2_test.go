package http_test

import (
	"crypto/tls"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// TestAServiceOfHTTP2GetsEachRequestOnce has a service answer over HTTP/2, and reset the stream of a request that it has
// read.
func TestAServiceOfHTTP2GetsEachRequestOnce(t *testing.T) {
	dir := t.TempDir()
	cert, key := newCertificate(t, dir, "server", time.Now().Add(time.Hour))
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var reset atomic.Int64
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ProtoMajor != 2 {
			w.WriteHeader(nethttp.StatusHTTPVersionNotSupported)
			return
		}
		if r.URL.Path == "/reset" {
			reset.Add(1)
			panic(nethttp.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}))
	s.EnableHTTP2, s.TLS = true, &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)
	bind := func(path string) *adaptertest.BoundTool {
		src := source(s.URL, `  ca_file = "server.pem"`, "", `    post = "`+path+"\"\n    json = { text = \"sent\" }")
		src.Dir = dir
		return adaptertest.Bind(t, src)
	}
	out, err := bind("/echo").Do(t.Context(), `{}`)
	if err != nil || fmt.Sprint(out["status"]) != "200" {
		t.Errorf("%v, %v", out, err)
	}
	if _, err := bind("/reset").Do(t.Context(), `{}`); err == nil || wantFault(t, err).NotSent || reset.Load() != 1 {
		t.Errorf("after %d requests: %v", reset.Load(), err)
	}
}
