package http_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// newCertificate writes a self-signed certificate for servers and clients, and its key.
func newCertificate(t *testing.T, dir, name string, expires time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: expires.Add(-24 * time.Hour), NotAfter: expires, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// serveTLS starts a server that requires the certificate of a client, unless client is empty.
func serveTLS(t *testing.T, cert, key, client string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		for name, values := range r.Header {
			w.Header()["Seen-"+name] = values
		}
		if back := r.URL.Query().Get("back"); back != "" {
			nethttp.Redirect(w, r, back, nethttp.StatusPermanentRedirect)
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if client != "" {
		raw, err := os.ReadFile(client)
		if err != nil {
			t.Fatal(err)
		}
		s.TLS.ClientCAs, s.TLS.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		s.TLS.ClientCAs.AppendCertsFromPEM(raw)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func TestClientCertificate(t *testing.T) {
	dir := t.TempDir()
	serverCert, serverKey := newCertificate(t, dir, "server", time.Now().Add(time.Hour))
	clientCert, _ := newCertificate(t, dir, "client", time.Now().Add(time.Hour))
	url := serveTLS(t, serverCert, serverKey, clientCert)
	call := func(connection string) error {
		src := source(url, connection, "", `    get = "/"`)
		src.Dir = dir
		_, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`)
		return err
	}
	t.Run("is accepted", func(t *testing.T) {
		if err := call("  ca_file = \"server.pem\"\n  cert_file = \"client.pem\"\n  key_file = \"client.key\""); err != nil {
			t.Error(err)
		}
	})
	t.Run("is missing", func(t *testing.T) {
		err := call(`  ca_file = "server.pem"`)
		wantPart(t, wantFault(t, err).Message, "no secure connection to the service could be made")
	})
}

func TestExpiredCertificateIsRejected(t *testing.T) {
	dir := t.TempDir()
	cert, key := newCertificate(t, dir, "server", time.Now().Add(-time.Hour))
	src := source(serveTLS(t, cert, key, ""), `  ca_file = "server.pem"`, "", `    get = "/"`)
	src.Dir = dir
	_, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`)
	wantPart(t, wantFault(t, err).Message, "the service's certificate has expired or is not valid yet")
}

func TestCertificateForAnotherHostIsRejected(t *testing.T) {
	dir := t.TempDir()
	cert, key := newCertificate(t, dir, "server", time.Now().Add(time.Hour))
	url := serveTLS(t, cert, key, "")
	_, port, err := net.SplitHostPort(url[len("https://"):])
	if err != nil {
		t.Fatal(err)
	}
	src := source("https://localhost:"+port, `  ca_file = "server.pem"`, "", `    get = "/"`)
	src.Dir = dir
	_, err = adaptertest.Bind(t, src).Do(t.Context(), `{}`)
	wantPart(t, wantFault(t, err).Message, "the service's certificate is for another host name")
}
