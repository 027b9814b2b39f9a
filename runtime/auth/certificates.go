package auth

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// Certificates are what the server shows and what it takes from clients. The files are read again when they have changed; when they cannot be, what was read
// before stays.
type Certificates struct {
	cert, key, authority string // paths; authority may be empty
	log                  *slog.Logger

	mu      sync.Mutex
	looked  time.Time // when the files were looked at last; guarded by mu
	seen    string    // what they looked like then; guarded by mu
	current *standing // guarded by mu
}

// standing is what the files held when they were read.
type standing struct {
	config *tls.Config
	roots  map[string]bool // the authorities, by the digest of their certificate
	grant  string
}

// OpenCertificates reads the files. The error is for the author.
func OpenCertificates(t *hcl.TLS, dir string, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{cert: within(dir, t.Cert), key: within(dir, t.Key), authority: within(dir, t.ClientCA), log: log}
	c.looked, c.seen = time.Now(), c.look()
	var err error
	c.current, err = c.read()
	return c, err
}

func within(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func (c *Certificates) ofClients() bool { return c.authority != "" }

// read reads the files.
func (c *Certificates) read() (*standing, error) {
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return nil, fmt.Errorf("the file of cert, %s, cannot be read", c.cert)
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return nil, fmt.Errorf("the file of key, %s, cannot be read", c.key)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, errors.New("cert and key do not hold a certificate and its key, as PEM")
	}
	s := &standing{config: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}}
	if c.authority != "" {
		err = s.trust(c.authority)
	}
	return s, err
}

// trust takes the certificates of clients that the authorities of a file have signed. A client that shows none is not turned away here: it may have another
// credential, and without any it is refused.
func (s *standing) trust(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the file of client_ca, %s, cannot be read", file)
	}
	pool, sum := x509.NewCertPool(), sha256.Sum256(text)
	s.roots, s.grant = map[string]bool{}, "tls "+hex.EncodeToString(sum[:])
	for {
		var one *pem.Block
		if one, text = pem.Decode(text); one == nil {
			break
		}
		authority, err := x509.ParseCertificate(one.Bytes)
		if one.Type != "CERTIFICATE" || err != nil {
			return errors.New("client_ca holds something else than certificates, as PEM")
		}
		pool.AddCert(authority)
		s.roots[string(authority.Raw)] = true
	}
	if len(s.roots) == 0 {
		return errors.New("client_ca holds no certificate, as PEM")
	}
	s.config.ClientAuth, s.config.ClientCAs = tls.VerifyClientCertIfGiven, pool
	return nil
}

// lookAgain is after how long files may have changed.
const lookAgain = time.Second

// now is what the files hold.
func (c *Certificates) now() *standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookAgain {
		return c.current
	}
	c.looked = time.Now()
	seen := c.look()
	if seen == c.seen {
		return c.current
	}
	c.seen = seen
	next, err := c.read()
	if err != nil {
		c.log.Error("the certificates have changed and cannot be read; those before are kept", "error", err.Error())
		return c.current
	}
	c.log.Info("the certificates have changed")
	c.current = next
	return next
}

// look is what the files look like from outside.
func (c *Certificates) look() (seen string) {
	for _, name := range []string{c.cert, c.key, c.authority} {
		if info, err := os.Stat(name); err == nil {
			seen += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
		seen += "\n"
	}
	return seen
}

// Config is the [tls.Config] of a connection that begins now.
func (c *Certificates) Config() *tls.Config { return c.now().config }

func (c *Certificates) grant() string { return c.now().grant }

// identify finds out whom the certificate of a connection names. Without one there is no credential at all.
func (c *Certificates) identify(state *tls.ConnectionState, now time.Time) (*mcp.Identity, *Refusal) {
	if c == nil || state == nil || len(state.VerifiedChains) == 0 {
		return nil, missing()
	}
	s := c.now()
	shown := state.VerifiedChains[0][0]
	if now.After(shown.NotAfter) {
		return nil, invalidToken("The certificate has expired")
	}
	for _, chain := range state.VerifiedChains {
		// The connection may be older than what the file of authorities holds now.
		if s.roots[string(chain[len(chain)-1].Raw)] {
			return named(shown, s.grant)
		}
	}
	return nil, invalidToken("The certificate is of an authority that this server does not take any more")
}

// byCertificate is what vouches for who shows a certificate. No key and no issuer has this name.
const byCertificate = "tls:client_ca"

// named is whom a certificate names: by its common name, or where it has none, by the first of its URIs, names and addresses.
func named(cert *x509.Certificate, grant string) (*mcp.Identity, *Refusal) {
	var uris []string
	for _, u := range cert.URIs {
		uris = append(uris, u.String())
	}
	subject := cert.Subject.CommonName
	for _, names := range [][]string{uris, cert.DNSNames, cert.EmailAddresses} {
		if subject == "" && len(names) > 0 {
			subject = names[0]
		}
	}
	if !nameable(subject) {
		return nil, invalidToken("The certificate names nobody")
	}
	claims, err := json.Marshal(struct {
		Subject string   `json:"subject"`
		Issuer  string   `json:"issuer"`
		Serial  string   `json:"serial"`
		URIs    []string `json:"uris"`
		Names   []string `json:"names"`
		Emails  []string `json:"emails"`
	}{cert.Subject.String(), cert.Issuer.String(), cert.SerialNumber.Text(16), append([]string{}, uris...), append([]string{}, cert.DNSNames...), append([]string{}, cert.EmailAddresses...)})
	if err != nil {
		return nil, invalidToken("The certificate cannot be read")
	}
	return &mcp.Identity{Subject: subject, Key: byCertificate, Groups: cert.Subject.OrganizationalUnit, Claims: claims, Grant: grant, Expires: cert.NotAfter}, nil
}
