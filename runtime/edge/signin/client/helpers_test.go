package client_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/signin/client"
)

// sealer seals as that of the grants does.
type sealer struct{ mcp.Sealer }

func (s sealer) Seal(plain []byte) string        { return s.Sealer.Seal(plain, "registration") }
func (s sealer) Open(text string) ([]byte, bool) { return s.Sealer.Open(text, "registration") }

// declaration is a sign_in block that admits documents of example.com, and registrations.
func declaration() *hcl.SignIn {
	return &hcl.SignIn{
		URL: "https://tools.example", Documents: []string{"example.com"}, ClockSkew: time.Minute,
		Register: &hcl.Registration{
			Redirects: []string{"loopback", "https://claude.ai", "cursor://anysphere.cursor-mcp"},
		},
	}
}

// newClients returns the clients of a declaration. Documents may be nil.
func newClients(t *testing.T, s *hcl.SignIn, documents *client.Documents) *client.Clients {
	return client.New(t.Context(), s, client.Options{
		Documents: documents, Issuers: new(issuer.Issuers), Sealer: sealer{mcp.NewSealer(make([]byte, 32))},
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Defer: func(release func() error) { t.Cleanup(func() { release() }) },
	})
}

// site is a web server in memory that has the certificate of example.com and its subdomains.
type site struct {
	documents *client.Documents
	dials     atomic.Int32
	requests  atomic.Int32
	log       *bytes.Buffer
}

// newSite serves a handler to Documents, in a bubble of synctest.
func newSite(t *testing.T, handler http.HandlerFunc) *site {
	s := &site{log: &bytes.Buffer{}}
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		handler(w, r)
	}))
	server.Listener.Close()
	server.Listener = pipes
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(func() {
		time.Sleep(10 * time.Second) // until both sides of all connections have given up to say that they close
		server.Config.Close()
	})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s.documents = client.NewDocuments(client.DocumentsOptions{
		Log: slog.New(slog.NewTextHandler(s.log, nil)), Now: time.Now, Roots: roots,
		Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
			s.dials.Add(1)
			if !strings.HasSuffix(address, "example.com:443") {
				return nil, errors.New("no such host: " + address)
			}
			return pipes.dial(ctx)
		},
	})
	return s
}

// pipeListener accepts connections in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// textOf returns the text of the refusal that an error is.
func textOf(t *testing.T, err error) string {
	t.Helper()
	refused, ok := errors.AsType[*client.Refusal](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	return refused.Text
}
