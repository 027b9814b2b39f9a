package webhook

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// raw answers every request with bytes, and reports how many of them were taken.
func raw(written *atomic.Int64, header, part string, pause time.Duration) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		for text := header; err == nil; text = part {
			n := 0
			if n, err = io.WriteString(conn, text); text == "" {
				_, err = conn.Read(make([]byte, 1)) // until the connection is closed
			}
			written.Add(int64(n))
			time.Sleep(pause)
		}
	}
}

// A receiver gets at most the timeout, one of the places, and a few KiB of attention, whatever it answers.
func TestHostileReceiverTakesLittle(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, test := range map[string]struct {
		header, part string        // of the answer; the part is repeated, and an empty one waits
		pause        time.Duration // between the parts
		message      string        // of the failure; empty if the event counts as accepted
		takes        time.Duration
	}{
		"a body of 100 MB":          {ok + "Content-Length: 104857600\r\n\r\n", strings.Repeat("x", 4096), 0, "", 0},
		"a body without end":        {ok + "\r\n", strings.Repeat("x", 4096), 0, "", 0},
		"a body that trickles":      {ok + "Content-Length: 104857600\r\n\r\n", "x", time.Second, "", 10 * time.Second},
		"compressed data":           {ok + "Content-Encoding: gzip\r\n\r\n", strings.Repeat("\x1f\x8b", 2048), 0, "", 0},
		"headers without end":       {ok, "X-Header: " + strings.Repeat("x", 4096) + "\r\n", 0, "the connection to the receiver failed", 0},
		"a header line without end": {ok + "X-Header: ", strings.Repeat("x", 4096), 0, "the connection to the receiver failed", 0},
		"headers that trickle":      {ok, "X: y\r\n", time.Second, "the receiver did not answer in time", 10 * time.Second},
		"interim answers without end": {"HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n", time.Millisecond,
			"the connection to the receiver failed", 10 * time.Second},
		"another protocol":    {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "", 0, "the receiver answered 101 Switching Protocols", 10 * time.Second},
		"no HTTP":             {"220 mail.example ESMTP\r\n", "x", 0, "the connection to the receiver failed", 0},
		"a redirect":          {"HTTP/1.1 308 Moved\r\nLocation: http://dev.example/\r\nContent-Length: 0\r\n\r\n", "", 0, "the receiver answered 308 Permanent Redirect; redirects are not followed", 0},
		"a wait of a century": {"HTTP/1.1 503 Busy\r\nRetry-After: 3153600000\r\nContent-Length: 0\r\n\r\n", "", 0, "the receiver answered 503 Service Unavailable", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var written atomic.Int64
				var log bytes.Buffer
				r, other, store, h := newReceiver(t, raw(&written, test.header, test.part, test.pause)), newReceiver(t, always(200)), inMemory(t), hook("ops")
				h.Timeout = 10 * time.Second
				o := connected(t, store, map[string]*receiver{"ops": r, "dev": other}, h)
				o.Configure(serviceOf(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), h))
				began := time.Now()
				failed := o.send(t.Context(), &delivery{ID: "task-1", Body: []byte("{}")}, h, "hatchel/test")
				message := ""
				if failed != nil {
					message = failed.message
				}
				if took := time.Since(began); message != test.message || took > test.takes+time.Second/10 {
					t.Errorf("%q after %v", message, took)
				}
				if n := written.Load(); n > 1<<20 {
					t.Errorf("%d bytes were taken", n)
				}
				put(t, o, store, h, "task-2")
				pass(time.Minute)
				if text := log.String(); strings.Contains(text, "hunter22") || strings.Contains(text, "/hooks") {
					t.Error(text)
				}
				if n := len(other.all()); n != 0 {
					t.Errorf("%d requests to another host", n)
				}
				o.Close()
				o.client.GetClient().CloseIdleConnections()
				pass(time.Minute)
			})
		})
	}
}

func TestFailedHandshakeIsNamed(t *testing.T) {
	silence := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	for name, test := range map[string]struct {
		configure func(*tls.Config)
		message   string
	}{
		"an untrusted certificate": {func(*tls.Config) {}, "the certificate of the receiver is not trusted here"},
		"old TLS":                  {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 }, "the TLS handshake with the receiver failed"},
		"no certificate for us": {func(c *tls.Config) {
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, fmt.Errorf("go away") }
		}, "the TLS handshake with the receiver failed"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
			server.Config.ErrorLog = silence
			server.TLS = &tls.Config{}
			test.configure(server.TLS)
			server.StartTLS()
			defer server.Close()
			h := hook("ops")
			h.URL = server.URL + "/hooks?token=hunter22"
			failed := New(t.Context(), nil).send(t.Context(), &delivery{ID: "task-1", Body: []byte("{}")}, h, "hatchel/test")
			if failed == nil || failed.message != test.message {
				t.Errorf("%+v", failed)
			}
		})
	}
	t.Run("no TLS", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go http.Serve(listener, http.NotFoundHandler())
		h := hook("ops")
		h.URL = "https://" + listener.Addr().String()
		failed := New(t.Context(), nil).send(t.Context(), &delivery{ID: "task-1", Body: []byte("{}")}, h, "hatchel/test")
		if failed == nil || failed.message != "the TLS handshake with the receiver failed" {
			t.Errorf("%+v", failed)
		}
	})
}
