// Package cloudtest has services of clouds for tests, at the addresses that the real ones have.
package cloudtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/runtime/edge/auth/issuertest"
)

// Fake is a network in which only the services exist that a test adds.
type Fake struct {
	t         testing.TB
	authority *issuertest.Authority

	mu       sync.Mutex
	services map[string]string // by host and port, the address of the listener; guarded by mu
	dialed   []string          // guarded by mu
}

// New returns a network without services.
func New(t testing.TB) *Fake {
	return &Fake{t: t, authority: issuertest.NewAuthority(t, "cloudtest"), services: map[string]string{}}
}

// Serve adds a service at a host and a port, over TLS on port 443.
func (f *Fake) Serve(hostport string, h http.HandlerFunc) {
	f.t.Helper()
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		f.t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	if port == "443" {
		pair := f.authority.Issue(f.t.TempDir(), "service", &x509.Certificate{DNSNames: []string{host}})
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		s.StartTLS()
	} else {
		s.Start()
	}
	f.t.Cleanup(s.Close)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.services[hostport] = s.Listener.Addr().String()
}

// Cloud returns a machine in the network, with an environment.
func (f *Fake) Cloud(env map[string]string) *credential.Cloud {
	roots := x509.NewCertPool()
	roots.AddCert(f.authority.Certificate)
	getenv := func(name string) string { return env[name] }
	return credential.NewCloud(getenv, credential.Network{Dial: f.dial, TLS: &tls.Config{RootCAs: roots}})
}

// Dialed returns the hosts and ports to which connections were opened, or tried.
func (f *Fake) Dialed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.dialed...)
}

func (f *Fake) dial(ctx context.Context, network, address string) (net.Conn, error) {
	f.mu.Lock()
	f.dialed = append(f.dialed, address)
	at, ok := f.services[address]
	f.mu.Unlock()
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, at)
}

// Fetches returns fetches that end with the test.
func Fetches(t testing.TB) *credential.Fetches {
	deferred := func(f func() error) {
		t.Cleanup(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	return credential.NewFetches(t.Context(), adapters.Env{Defer: deferred})
}

// Unexpected answers a request that a test does not expect, and fails it.
func Unexpected(t testing.TB, w http.ResponseWriter, format string, args ...any) {
	t.Helper()
	t.Errorf(format, args...)
	http.Error(w, fmt.Sprintf(format, args...), http.StatusBadRequest)
}

// CheckNoSecret fails a test whose error has the word CANARY, which each credential and answer that must not show has.
func CheckNoSecret(t testing.TB, err error) {
	t.Helper()
	if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), "CANARY") {
		t.Errorf("the error has a credential or an answer: %v", err)
	}
}
