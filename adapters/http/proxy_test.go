package http_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// clearProxies removes the proxies of the environment.
func clearProxies(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
}

// serveSOCKS starts a SOCKS5 proxy that connects everything to one address. It counts the connections.
func serveSOCKS(t *testing.T, to string) (address string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = new(atomic.Int32)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				head := make([]byte, 2)
				if _, err := io.ReadFull(conn, head); err != nil || head[0] != 5 {
					return
				}
				_, _ = io.CopyN(io.Discard, conn, int64(head[1]))
				_, _ = conn.Write([]byte{5, 0})
				request := make([]byte, 5) // of a name
				if _, err := io.ReadFull(conn, request); err != nil || request[3] != 3 {
					return
				}
				name := make([]byte, int(request[4])+2)
				if _, err := io.ReadFull(conn, name); err != nil || binary.BigEndian.Uint16(name[len(name)-2:]) == 0 {
					return
				}
				_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
				connections.Add(1)
				service, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer service.Close()
				go func() { _, _ = io.Copy(service, conn) }()
				_, _ = io.Copy(conn, service)
			}()
		}
	}()
	return l.Addr().String(), connections
}

// TestEveryVariableOfAProxyIsUsed has a service that only a proxy can reach.
func TestEveryVariableOfAProxyIsUsed(t *testing.T) {
	s := serve(t, respond(`{"via": "the proxy"}`))
	socks, connections := serveSOCKS(t, strings.TrimPrefix(s.URL, "http://"))
	for _, env := range []string{"ALL_PROXY=socks5://" + socks, "all_proxy=socks5h://" + socks, "HTTP_PROXY=socks5://" + socks, "ALL_PROXY=" + s.URL, "http_proxy=" + s.URL, "all_proxy=" + strings.TrimPrefix(s.URL, "http://")} {
		t.Run(env, func(t *testing.T) {
			clearProxies(t)
			name, value, _ := strings.Cut(env, "=")
			t.Setenv(name, value)
			before := connections.Load()
			b := adaptertest.Bind(t, source("http://api.invalid", "", "", `    get = "/"`))
			if _, err := b.Do(t.Context(), `{}`); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(env, "socks") != (connections.Load() > before) {
				t.Errorf("%d connections by SOCKS", connections.Load()-before)
			}
			if err := b.Handle("shop").(adapters.Health).Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("but not for hosts of NO_PROXY", func(t *testing.T) {
		clearProxies(t)
		t.Setenv("ALL_PROXY", "socks5://"+socks)
		t.Setenv("NO_PROXY", ".invalid")
		_, err := adaptertest.Bind(t, source("http://api.invalid", "", "", `    get = "/"`)).Do(t.Context(), `{}`)
		wantPart(t, wantFault(t, err).Message, "the service's host name could not be resolved")
	})
}

// TestAProxyThatCannotBeUsedIsNamed has proxies that a client could take for none.
func TestAProxyThatCannotBeUsedIsNamed(t *testing.T) {
	refusing := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(407) }))
	defer refusing.Close()
	for _, x := range []struct{ env, scheme, want string }{
		{"ALL_PROXY=socks4://user:s3cret-k3y@10.0.0.1", "http", `the request has no way to the service: ALL_PROXY in the environment names a proxy of the scheme "socks4"`},
		{"https_proxy=http://[::1", "https", "https_proxy in the environment is not the address of a proxy"},
		{"ALL_PROXY=http://127.0.0.1:1", "http", "no connection to the service could be made through the proxy that the environment names"},
		{"ALL_PROXY=socks5://127.0.0.1:1", "https", "no connection to the service could be made through the proxy that the environment names"},
		{"HTTPS_PROXY=" + refusing.URL, "https", "the proxy that the environment names returned 407 Proxy Authentication Required"},
	} {
		t.Run(x.env, func(t *testing.T) {
			clearProxies(t)
			name, value, _ := strings.Cut(x.env, "=")
			t.Setenv(name, value)
			_, err := adaptertest.Bind(t, source(fmt.Sprintf("%s://api.invalid", x.scheme), "", "", `    post = "/"`)).Do(t.Context(), `{}`)
			f := wantFault(t, err)
			wantPart(t, f.Message, x.want)
			if !f.NotSent {
				t.Errorf("%+v", f)
			}
		})
	}
}
