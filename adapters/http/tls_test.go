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

// keyPair writes a certificate signed by itself, good for both sides, and its key.
func keyPair(t *testing.T, dir, name string, expires time.Time) (cert, key string) {
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

func secure(t *testing.T, cert, key, client string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) { _, _ = w.Write([]byte(`{}`)) }))
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

func TestBothSidesShowTheirCertificates(t *testing.T) {
	dir := t.TempDir()
	serverCert, serverKey := keyPair(t, dir, "server", time.Now().Add(time.Hour))
	clientCert, _ := keyPair(t, dir, "client", time.Now().Add(time.Hour))
	url := secure(t, serverCert, serverKey, clientCert)

	src := tool(url, "  ca_file = \"server.pem\"\n  cert_file = \"client.pem\"\n  key_file = \"client.key\"", "", `    get = "/"`)
	src.Dir = dir
	if _, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`); err != nil {
		t.Error(err)
	}

	src = tool(url, `  ca_file = "server.pem"`, "", `    get = "/"`)
	src.Dir = dir
	_, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`)
	has(t, fault(t, err).Message, "no secure connection to the service could be made")
}

func TestExpiredCertificateIsSaid(t *testing.T) {
	dir := t.TempDir()
	cert, key := keyPair(t, dir, "server", time.Now().Add(-time.Hour))
	src := tool(secure(t, cert, key, ""), `  ca_file = "server.pem"`, "", `    get = "/"`)
	src.Dir = dir
	_, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`)
	has(t, fault(t, err).Message, "the service's certificate has expired or is not valid yet")
}

func TestCertificateOfAnotherNameIsSaid(t *testing.T) {
	dir := t.TempDir()
	cert, key := keyPair(t, dir, "server", time.Now().Add(time.Hour))
	url := secure(t, cert, key, "")
	_, port, err := net.SplitHostPort(url[len("https://"):])
	if err != nil {
		t.Fatal(err)
	}
	src := tool("https://localhost:"+port, `  ca_file = "server.pem"`, "", `    get = "/"`)
	src.Dir = dir
	_, err = adaptertest.Bind(t, src).Do(t.Context(), `{}`)
	has(t, fault(t, err).Message, "the service's certificate is for another host name")
}
