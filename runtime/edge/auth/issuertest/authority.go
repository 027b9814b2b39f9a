package issuertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a certificate authority.
type Authority struct {
	t           testing.TB
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	next        int64
}

// NewAuthority returns an authority whose certificate is valid for an hour.
func NewAuthority(t testing.TB, name string) *Authority {
	a := &Authority{t: t, next: 1}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.Certificate = a.sign(template, template, &a.key.PublicKey)
	return a
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
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

// Issue signs a certificate for a new key, writes both as name.pem and name.key into dir, and returns the
// pair.
func (a *Authority) Issue(dir, name string, template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key := a.newKey()
	a.next++
	template.SerialNumber = big.NewInt(a.next)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	cert := a.sign(template, a.Certificate, &key.PublicKey)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(dir, name+".pem", "CERTIFICATE", cert.Raw)
	a.write(dir, name+".key", "EC PRIVATE KEY", der)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *Authority) write(dir, name, kind string, der []byte) {
	a.t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// WriteOwn writes the certificate of the authority into a file.
func (a *Authority) WriteOwn(dir, name string) {
	a.t.Helper()
	a.write(dir, name, "CERTIFICATE", a.Certificate.Raw)
}
