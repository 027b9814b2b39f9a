package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/auth"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, next: 1}
	a.key = a.newKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert = a.sign(template, template, &a.key.PublicKey)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// issue writes a certificate and its key into files, and returns the pair.
func (a *authority) issue(dir, name string, template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key := a.newKey()
	a.next++
	template.SerialNumber = big.NewInt(a.next)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	cert := a.sign(template, a.cert, &key.PublicKey)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(dir, name+".pem", "CERTIFICATE", cert.Raw)
	a.write(dir, name+".key", "EC PRIVATE KEY", der)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *authority) write(dir, name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func server(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}}
}

// visit asks a server that says who makes the request.
func visit(t *testing.T, at string, root *authority, shown ...tls.Certificate) (said, issuer string) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: shown}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(at)
	if err != nil {
		return "no connection", ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b), resp.TLS.PeerCertificates[0].Subject.CommonName
}

func TestACertificateSaysWhoItIs(t *testing.T) {
	dir, ours, theirs := t.TempDir(), newAuthority(t, "ours"), newAuthority(t, "theirs")
	ours.issue(dir, "server", server("first"))
	ours.write(dir, "ca.pem", "CERTIFICATE", ours.cert.Raw)
	certificates, err := auth.OpenCertificates(&hcl.TLS{Cert: "server.pem", Key: "server.key", ClientCA: "ca.pem"}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	clock := new(clock)
	o := options(t, clock)
	o.Certificates = certificates
	c := auth.New(&hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(ci)}}}, o)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, refused := c.Identify(r)
		if refused != nil {
			fmt.Fprint(w, refused.Status, " ", refused.Why)
			return
		}
		fmt.Fprintf(w, "%s %v %s %t", i.Subject, i.Groups, i.Key, c.Stands(i))
	}))
	web.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return certificates.Config(), nil }}
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	web.StartTLS()
	defer web.Close()
	spiffe := &url.URL{Scheme: "spiffe", Host: "example", Path: "/robot"}
	for _, x := range []struct {
		what  string
		shown []tls.Certificate
		want  string
	}{
		{"with a name", []tls.Certificate{ours.issue(dir, "a", &x509.Certificate{Subject: pkix.Name{CommonName: "robot", OrganizationalUnit: []string{"ops"}}})}, "robot [ops] tls:client_ca true"},
		{"with an address", []tls.Certificate{ours.issue(dir, "b", &x509.Certificate{URIs: []*url.URL{spiffe}})}, "spiffe://example/robot [] tls:client_ca true"},
		{"that names nobody", []tls.Certificate{ours.issue(dir, "c", &x509.Certificate{})}, "401 The certificate names nobody"},
		{"that has expired", []tls.Certificate{ours.issue(dir, "d", &x509.Certificate{Subject: pkix.Name{CommonName: "robot"}, NotAfter: time.Now().Add(-time.Minute)})}, "no connection"},
		{"none", nil, "401 This server"},
	} {
		if got, by := visit(t, web.URL, ours, x.shown...); !strings.HasPrefix(got, x.want) || by != "first" && got != "no connection" {
			t.Errorf("a certificate %s: %s, by %s", x.what, got, by)
		}
	}
	robot := &x509.Certificate{Subject: pkix.Name{CommonName: "robot"}}
	if got, _ := visit(t, web.URL, ours, theirs.issue(dir, "e", robot)); strings.HasPrefix(got, "robot") {
		t.Errorf("a certificate of another authority: %s", got)
	}
}

// Files are looked at once a second, so this waits until what they hold is seen.
func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	dir, ours, theirs := t.TempDir(), newAuthority(t, "ours"), newAuthority(t, "theirs")
	ours.issue(dir, "server", server("first"))
	ours.write(dir, "ca.pem", "CERTIFICATE", ours.cert.Raw)
	certificates, err := auth.OpenCertificates(&hcl.TLS{Cert: "server.pem", Key: "server.key", ClientCA: "ca.pem"}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, new(clock))
	o.Certificates = certificates
	c := auth.New(nil, o)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i, refused := c.Identify(r); refused == nil {
			fmt.Fprint(w, i.Subject)
			return
		}
		fmt.Fprint(w, "refused")
	}))
	web.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return certificates.Config(), nil }}
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	web.StartTLS()
	defer web.Close()
	robot := ours.issue(dir, "robot", &x509.Certificate{Subject: pkix.Name{CommonName: "robot"}})
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
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
	ours.issue(dir, "server", server("second"))
	theirs.write(dir, "ca.pem", "CERTIFICATE", theirs.cert.Raw)
	robert := theirs.issue(dir, "robert", &x509.Certificate{Subject: pkix.Name{CommonName: "robert"}})
	until(t, func() bool {
		got, by := visit(t, web.URL, ours, robert)
		return got == "robert" && by == "second"
	})
	if got := ask(); got != "refused" {
		t.Errorf("who came by the authority before is %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.pem"), []byte("half a f"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, by := visit(t, web.URL, ours, robert); got != "robert" || by != "second" {
			t.Errorf("while a file is being written: %s, by %s", got, by)
		}
	}
}

// until waits until something holds.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	late, again := time.NewTimer(time.Minute), time.NewTicker(50*time.Millisecond)
	defer late.Stop()
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-late.C:
			t.Fatal("it does not come to that")
		}
	}
}

func TestCertificatesThatCannotBeReadAreSaid(t *testing.T) {
	dir, ours := t.TempDir(), newAuthority(t, "ours")
	ours.issue(dir, "server", server("first"))
	ours.issue(dir, "other", server("other"))
	if err := os.WriteFile(filepath.Join(dir, "empty.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, said := range map[string]*hcl.TLS{
		"the file of cert":   {Cert: "none.pem", Key: "server.key"},
		"the file of key":    {Cert: "server.pem", Key: "none.key"},
		"cert and key":       {Cert: "server.pem", Key: "other.key"},
		"client_ca holds no": {Cert: "server.pem", Key: "server.key", ClientCA: "empty.pem"},
		"something else":     {Cert: "server.pem", Key: "server.key", ClientCA: "server.key"},
		"of client_ca":       {Cert: "server.pem", Key: "server.key", ClientCA: "none.pem"},
	} {
		if _, err := auth.OpenCertificates(said, dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", said, err)
		}
	}
}
