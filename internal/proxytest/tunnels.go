package proxytest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// StartTunnels starts a forward proxy for a variable such as HTTPS_PROXY, until the test ends, and returns its URL. It
// connects clients that ask for host with address, and fails the test when they ask for anything else. Both are
// host:port.
func StartTunnels(t testing.TB, host, address string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != host {
			t.Errorf("the proxy is asked for %s %s", r.Method, r.Host)
			http.Error(w, "another host", http.StatusForbidden)
			return
		}
		tunnel(w, address)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// tunnel connects a client with an address.
func tunnel(w http.ResponseWriter, address string) {
	far, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	go io.Copy(far, buffered)
	io.Copy(near, far)
}
