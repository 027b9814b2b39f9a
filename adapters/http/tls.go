package http

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"

	"hatchel/hcl"
)

// tls reads the files that the connection names; nil when it names none.
func (c *connection) tls(dir string) (*tls.Config, error) {
	if c.CAFile == "" && c.CertFile == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(below(dir, c.CAFile))
		if err != nil {
			return nil, hcl.Blame(&c.CAFile, "%q cannot be read.", c.CAFile)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, hcl.Blame(&c.CAFile, "%q holds no certificate in PEM form.", c.CAFile)
		}
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(below(dir, c.CertFile), below(dir, c.KeyFile))
		if err != nil {
			return nil, hcl.Blame(&c.CertFile, "%q and %q are not a certificate and its key in PEM form, or cannot be read.", c.CertFile, c.KeyFile)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

func below(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
