package sql

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/adapters"
	"hatchel/hcl"
)

// verification says how much of the certificate of a server is verified. More is greater.
type verification int

const (
	unverified verification = iota
	chainVerified
	nameVerified // the chain, and that the certificate is for the host of the url
)

// verificationOf returns what a TLS configuration verifies; nil is a connection without TLS.
func verificationOf(config *tls.Config) verification {
	switch {
	case config == nil:
		return unverified
	case !config.InsecureSkipVerify:
		return nameVerified
	case config.VerifyPeerCertificate != nil || config.VerifyConnection != nil:
		return chainVerified
	}
	return unverified
}

// postgresTLS returns the TLS configurations of all attempts to connect, nil for one without TLS.
func postgresTLS(config *pgxpool.Config) []*tls.Config {
	all := []*tls.Config{config.ConnConfig.TLSConfig}
	for _, fallback := range config.ConnConfig.Fallbacks {
		all = append(all, fallback.TLSConfig)
	}
	return all
}

// mysqlTLS is postgresTLS for MySQL.
func mysqlTLS(config *mysql.Config) []*tls.Config {
	if config.AllowFallbackToPlaintext {
		return []*tls.Config{config.TLS, nil}
	}
	return []*tls.Config{config.TLS}
}

// leastVerification returns what is verified at least, whichever of the attempts succeeds.
func leastVerification(all []*tls.Config) verification {
	least := nameVerified
	for _, config := range all {
		least = min(least, verificationOf(config))
	}
	return least
}

// trust makes TLS configurations trust the authorities of ca_file instead of those of the system.
func (c *serverConnection) trust(env adapters.Env, all []*tls.Config) error {
	if c.CAFile == "" {
		return nil
	}
	pem, err := os.ReadFile(adapters.Absolute(env.Dir, c.CAFile))
	if err != nil {
		return hcl.Blame(&c.CAFile, "%q cannot be read.", c.CAFile)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return hcl.Blame(&c.CAFile, "%q has no PEM certificate.", c.CAFile)
	}
	for _, config := range all {
		if config != nil {
			config.RootCAs = authorities
		}
	}
	return nil
}

// tlsVerifyCA is the value of tls in a URL for MySQL that verifies the chain of a certificate and not its name. The
// driver has none of its own and accepts those that are registered.
const tlsVerifyCA = "verify-ca"

var _ = mysql.RegisterTLSConfig(tlsVerifyCA, &tls.Config{}) // it fails for the driver's own values only

// verifyChain makes a TLS configuration verify the chain of a certificate and not its name, with the authorities that
// the configuration has by then.
func verifyChain(config *tls.Config) {
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: config.RootCAs, Intermediates: x509.NewCertPool()}
		for _, certificate := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(certificate)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}

// setServerName sets the name that the certificate of a MySQL server must have.
func setServerName(config *mysql.Config) {
	if config.TLS == nil {
		return
	}
	if host, _, err := net.SplitHostPort(config.Addr); err == nil {
		config.TLS.ServerName = host
	}
}
