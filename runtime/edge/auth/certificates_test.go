package auth_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/auth/issuertest"
)

func server(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}}
}

// visit sends a request with client certificates. It returns the response, and the name of the server's
// certificate.
func visit(t *testing.T, at string, root *issuertest.Authority, shown ...tls.Certificate) (response, server string) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(root.Certificate)
	config := &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: shown}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(at)
	if err != nil {
		return "no connection", ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b), resp.TLS.PeerCertificates[0].Subject.CommonName
}

func TestClientCertificates(t *testing.T) {
	dir, ours, theirs := t.TempDir(), issuertest.NewAuthority(t, "ours"), issuertest.NewAuthority(t, "theirs")
	ours.Issue(dir, "server", server("first"))
	ours.WriteOwn(dir, "ca.pem")
	certificates, err := auth.OpenCertificates(&hcl.TLS{Cert: "server.pem", Key: "server.key", ClientCA: "ca.pem"}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	clock := new(clock)
	o := options(t, clock)
	o.Certificates = certificates
	c := auth.New(t.Context(), &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(ci)}}}, o)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, refused := c.Authenticate(r)
		if refused != nil {
			fmt.Fprint(w, refused.Status, " ", refused.Reason)
			return
		}
		fmt.Fprintf(w, "%s %v %s %t", i.Subject, i.Groups, i.Key, c.StillValid(i))
	}))
	web.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return certificates.Config(), nil }}
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	web.StartTLS()
	defer web.Close()
	spiffe := &url.URL{Scheme: "spiffe", Host: "example", Path: "/robot"}
	robot := pkix.Name{CommonName: "robot"}
	ops := pkix.Name{CommonName: "robot", OrganizationalUnit: []string{"ops"}}
	for name, x := range map[string]struct {
		template *x509.Certificate
		want     string
	}{
		"with a common name": {&x509.Certificate{Subject: ops}, "robot [ops] tls:client_ca true"},
		"with a URI":         {&x509.Certificate{URIs: []*url.URL{spiffe}}, "spiffe://example/robot [] tls:client_ca true"},
		"without a name":     {&x509.Certificate{}, "401 The certificate has no name"},
		"expired":            {&x509.Certificate{Subject: robot, NotAfter: time.Now().Add(-time.Minute)}, "no connection"},
	} {
		t.Run(name, func(t *testing.T) {
			got, server := visit(t, web.URL, ours, ours.Issue(dir, "client", x.template))
			if !strings.HasPrefix(got, x.want) || server != "first" && got != "no connection" {
				t.Errorf("%s, by %s", got, server)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		if got, _ := visit(t, web.URL, ours); !strings.HasPrefix(got, "401 Authentication is required") {
			t.Error(got)
		}
	})
	t.Run("of another authority", func(t *testing.T) {
		got, _ := visit(t, web.URL, ours, theirs.Issue(dir, "client", &x509.Certificate{Subject: robot}))
		if strings.HasPrefix(got, "robot") {
			t.Error(got)
		}
	})
}

// The files are checked once a second, so this test waits until they are reloaded.
func TestChangedCertificatesAreReloaded(t *testing.T) {
	dir, ours, theirs := t.TempDir(), issuertest.NewAuthority(t, "ours"), issuertest.NewAuthority(t, "theirs")
	ours.Issue(dir, "server", server("first"))
	ours.WriteOwn(dir, "ca.pem")
	certificates, err := auth.OpenCertificates(&hcl.TLS{Cert: "server.pem", Key: "server.key", ClientCA: "ca.pem"}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, new(clock))
	o.Certificates = certificates
	c := auth.New(t.Context(), nil, o)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i, refused := c.Authenticate(r); refused == nil {
			fmt.Fprint(w, i.Subject)
			return
		}
		fmt.Fprint(w, "refused")
	}))
	web.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return certificates.Config(), nil }}
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	web.StartTLS()
	defer web.Close()
	robot := ours.Issue(dir, "robot", &x509.Certificate{Subject: pkix.Name{CommonName: "robot"}})
	pool := x509.NewCertPool()
	pool.AddCert(ours.Certificate)
	kept := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: []tls.Certificate{robot}}}}
	defer kept.CloseIdleConnections()
	ask := func() string {
		resp, err := kept.Get(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	if got := ask(); got != "robot" {
		t.Fatal(got)
	}
	ours.Issue(dir, "server", server("second"))
	theirs.WriteOwn(dir, "ca.pem")
	robert := theirs.Issue(dir, "robert", &x509.Certificate{Subject: pkix.Name{CommonName: "robert"}})
	until(t, func() bool {
		got, by := visit(t, web.URL, ours, robert)
		return got == "robert" && by == "second"
	})
	if got := ask(); got != "refused" {
		t.Errorf("the caller with a certificate of the replaced authority is %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.pem"), []byte("half a f"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, by := visit(t, web.URL, ours, robert); got != "robert" || by != "second" {
			t.Errorf("with an incomplete file: %s, by %s", got, by)
		}
	}
}

// An authority that is part of the configuration is accepted from the next reload on, which may have to wait for a
// review. The certificate of the server is renewed meanwhile.
func TestAnAuthorityOfTheConfigurationWaitsForItsReload(t *testing.T) {
	dir, ours, theirs := t.TempDir(), issuertest.NewAuthority(t, "ours"), issuertest.NewAuthority(t, "theirs")
	ours.Issue(dir, "server", server("first"))
	ours.WriteOwn(dir, "ca.pem")
	files := fstest.MapFS{
		"a.hcl": {Data: []byte(`tls {
  cert      = "server.pem"
  key       = "server.key"
  client_ca = "ca.pem"
}`)},
		"ca.pem": {Data: []byte("as it was loaded")},
	}
	config, diags := hcl.Load(files, hcl.Kinds{}, hcl.Options{Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	certificates, err := auth.OpenCertificates(config.TLS, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	before := certificates.Config()
	theirs.WriteOwn(dir, "ca.pem")
	ours.Issue(dir, "server", server("second"))
	until(t, func() bool { return certificates.Config() != before })
	if !certificates.Config().ClientCAs.Equal(before.ClientCAs) {
		t.Error("another authority is accepted without a reload")
	}
	if opened, err := auth.OpenCertificates(config.TLS, dir, slog.New(slog.DiscardHandler)); err != nil ||
		opened.Config().ClientCAs.Equal(before.ClientCAs) {
		t.Errorf("a reload does not accept the other authority: %v", err)
	}
}

// until waits until a condition holds.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	late, again := time.NewTimer(time.Minute), time.NewTicker(50*time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-late.C:
			t.Fatal("the condition never holds")
		}
	}
}

func TestOpenCertificatesRejects(t *testing.T) {
	dir, ours := t.TempDir(), issuertest.NewAuthority(t, "ours")
	ours.Issue(dir, "server", server("first"))
	ours.Issue(dir, "other", server("other"))
	if err := os.WriteFile(filepath.Join(dir, "empty.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, files := range map[string]*hcl.TLS{
		"the file of cert":   {Cert: "none.pem", Key: "server.key"},
		"the file of key":    {Cert: "server.pem", Key: "none.key"},
		"cert and key":       {Cert: "server.pem", Key: "other.key"},
		"client_ca holds no": {Cert: "server.pem", Key: "server.key", ClientCA: "empty.pem"},
		"must hold only":     {Cert: "server.pem", Key: "server.key", ClientCA: "server.key"},
		"of client_ca":       {Cert: "server.pem", Key: "server.key", ClientCA: "none.pem"},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := auth.OpenCertificates(files, dir, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v", err)
			}
		})
	}
}
