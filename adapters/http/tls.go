package http

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"hatchel/adapters"
	"hatchel/hcl"
)

// loadTLS reads the certificate files of the connection. It returns nil if there are none.
func (c *connection) loadTLS(dir string) (*tls.Config, error) {
	if c.CAFile == "" && c.CertFile == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(adapters.Absolute(dir, c.CAFile))
		if err != nil {
			return nil, hcl.Blame(&c.CAFile, "%q cannot be read.", c.CAFile)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, hcl.Blame(&c.CAFile, "%q has no PEM certificate.", c.CAFile)
		}
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(adapters.Absolute(dir, c.CertFile), adapters.Absolute(dir, c.KeyFile))
		if err != nil {
			return nil, hcl.Blame(&c.CertFile,
				"%q and %q are not a PEM certificate and its key, or cannot be read.", c.CertFile, c.KeyFile)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}
