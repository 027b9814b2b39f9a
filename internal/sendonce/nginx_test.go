package sendonce_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// nginxConfig has one worker process, which a reload replaces while it serves requests.
const nginxConfig = `daemon off;
master_process on;
user root;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s;
  proxy_temp_path %[1]s;
  fastcgi_temp_path %[1]s;
  uwsgi_temp_path %[1]s;
  scgi_temp_path %[1]s;
  server {
    listen %[2]s ssl %[5]s;
    ssl_certificate %[1]s/certificate.pem;
    ssl_certificate_key %[1]s/key.pem;
    keepalive_requests %[3]d;
    location / {
      proxy_pass %[4]s;
      proxy_next_upstream off;
    }
  }
}
`

// counted is a service that counts the requests with each body.
type counted struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]int // guarded by mu
}

func newCounted(t *testing.T) *counted {
	c := &counted{seen: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.seen[string(body)]++
		c.mu.Unlock()
		io.WriteString(w, "done")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *counted) times(body string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[body]
}

// startNginx starts nginx in front of a service, with a protocol: http2, or empty for HTTP/1. Each connection takes a
// number of requests. The function that it returns replaces the worker process.
func startNginx(t *testing.T, service, protocol string, requests int) (url string, reload func()) {
	t.Helper()
	program := os.Getenv("HATCHEL_TEST_NGINX")
	if program == "" {
		t.Skip("HATCHEL_TEST_NGINX is not set")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	certificate := certified.TLS.Certificates[0]
	address := certified.Listener.Addr().String() // nobody listens there from now on
	certified.Close()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"certificate.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		"key.pem":         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"nginx.conf":      fmt.Appendf(nil, nginxConfig, dir, address, requests, service, protocol),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-c", filepath.Join(dir, "nginx.conf"), "-p", dir, "-e", filepath.Join(dir, "error.log")}
	said := new(strings.Builder)
	cmd := exec.Command(program, args...)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		<-ended
	})
	for deadline := time.Now().Add(maxWait); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			break
		}
		select {
		case <-ended:
			t.Fatalf("nginx ends: %s", said)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not listen: %s", said)
		}
	}
	return "https://" + address, func() {
		if out, err := exec.Command(program, append(args, "-s", "reload")...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestNginxGetsEachRequestOnce sends requests by connections that nginx ends, and while it replaces its workers.
func TestNginxGetsEachRequestOnce(t *testing.T) {
	for _, c := range []struct {
		protocol string
		requests int // of a connection
	}{{"http2", 1}, {"http2", 1000}, {"", 3}} {
		t.Run(fmt.Sprintf("%s %d", c.protocol, c.requests), func(t *testing.T) {
			service := newCounted(t)
			url, reload := startNginx(t, service.URL, c.protocol, c.requests)
			rt := newTransport(t)
			resp, err := rt.RoundTrip(newRequest(t, http.MethodGet, url, ""))
			if err != nil || (resp.ProtoMajor == 2) != (c.protocol != "") {
				t.Fatalf("%v, %v", resp, err)
			}
			resp.Body.Close()
			var sending sync.WaitGroup
			var succeeded atomic.Int64
			for worker := range 4 {
				sending.Go(func() {
					for n := range 12 {
						if worker == 0 && n%6 == 3 {
							reload()
						}
						body := fmt.Sprintf("%d-%d", worker, n)
						err := send(rt, newRequest(t, http.MethodPost, url, body))
						got, times := outcomeOf(err), service.times(body)
						if got == succeeds {
							succeeded.Add(1)
						}
						if got == succeeds && times != 1 || got == isUnprocessed && times != 0 || times > 1 {
							t.Errorf("%s was sent %d times: %v", body, times, err)
						}
					}
				})
			}
			sending.Wait()
			if n := succeeded.Load(); n < 24 {
				t.Errorf("only %d of 48 requests have succeeded", n)
			}
		})
	}
}
