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
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/mcp"
)

// Certificates are the certificate of the server and the authorities of client certificates.
// Changed files are loaded again; when that fails, the last certificates stay in use. Its methods
// may be called concurrently.
type Certificates struct {
	cert, key, clientCA string // paths; clientCA may be empty
	fixed               bool   // clientCA is a part of the configuration, of which a reload makes other Certificates
	log                 *slog.Logger

	mu          sync.Mutex
	checked     time.Time    // when the files were last checked for changes; guarded by mu
	fingerprint string       // of the files at that time; guarded by mu
	current     *loadedFiles // guarded by mu
}

// loadedFiles is what the files held when they were loaded.
type loadedFiles struct {
	config *tls.Config
	roots  map[string]bool // raw certificates of the authorities
	grant  string
}

// OpenCertificates loads the files; relative paths are relative to dir. The error is for the author
// of the configuration.
func OpenCertificates(t *hcl.TLS, dir string, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{cert: inDir(dir, t.Cert), key: inDir(dir, t.Key), clientCA: inDir(dir, t.ClientCA), log: log}
	c.checked, c.fingerprint = time.Now(), c.computeFingerprint()
	var err error
	c.current, err = c.load()
	c.fixed = t.ClientCADigest != ""
	return c, err
}

func inDir(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// acceptsClients reports whether client certificates are accepted.
func (c *Certificates) acceptsClients() bool { return c.clientCA != "" }

func (c *Certificates) load() (*loadedFiles, error) {
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
		return nil, errors.New("cert and key must hold a certificate and its private key in PEM format")
	}
	f := &loadedFiles{config: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
	}}
	switch {
	case c.fixed:
		f.trustLike(c.current)
	case c.clientCA != "":
		err = f.trustClients(c.clientCA)
	}
	return f, err
}

// trustClients accepts client certificates that the authorities in a file have signed. It does not
// require one, because the client may have another credential.
func (f *loadedFiles) trustClients(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the file of client_ca, %s, cannot be read", file)
	}
	pool, sum := x509.NewCertPool(), sha256.Sum256(text)
	f.roots, f.grant = map[string]bool{}, "tls "+hex.EncodeToString(sum[:])
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return errors.New("client_ca must hold only certificates in PEM format")
		}
		pool.AddCert(authority)
		f.roots[string(authority.Raw)] = true
	}
	if len(f.roots) == 0 {
		return errors.New("client_ca holds no certificate in PEM format")
	}
	f.config.ClientAuth, f.config.ClientCAs = tls.VerifyClientCertIfGiven, pool
	return nil
}

// trustLike accepts the client certificates that are accepted with other files.
func (f *loadedFiles) trustLike(other *loadedFiles) {
	f.roots, f.grant = other.roots, other.grant
	f.config.ClientAuth, f.config.ClientCAs = other.config.ClientAuth, other.config.ClientCAs
}

// checkInterval is how often the files are checked for changes at most.
const checkInterval = time.Second

// files returns what the files hold now.
func (c *Certificates) files() *loadedFiles {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < checkInterval {
		return c.current
	}
	c.checked = time.Now()
	fingerprint := c.computeFingerprint()
	if fingerprint == c.fingerprint {
		return c.current
	}
	c.fingerprint = fingerprint
	next, err := c.load()
	if err != nil {
		c.log.Error("certificates not reloaded, keeping the last ones", "error", err.Error())
		return c.current
	}
	c.log.Info("certificates reloaded")
	c.current = next
	return next
}

// computeFingerprint returns the sizes and modification times of the files.
func (c *Certificates) computeFingerprint() (fingerprint string) {
	for _, name := range []string{c.cert, c.key, c.clientCA} {
		if info, err := os.Stat(name); err == nil {
			fingerprint += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
		fingerprint += "\n"
	}
	return fingerprint
}

// Config returns the [tls.Config] for a new connection.
func (c *Certificates) Config() *tls.Config { return c.files().config }

func (c *Certificates) grant() string { return c.files().grant }

// identify authenticates the caller of a connection by its client certificate.
func (c *Certificates) identify(state *tls.ConnectionState, now time.Time) (*mcp.Identity, *Refusal) {
	if c == nil || state == nil || len(state.VerifiedChains) == 0 {
		return nil, missingCredential
	}
	f := c.files()
	cert := state.VerifiedChains[0][0]
	if now.After(cert.NotAfter) {
		return nil, invalidToken("The certificate has expired")
	}
	for _, chain := range state.VerifiedChains {
		// The connection may be older than the loaded authorities.
		if f.roots[string(chain[len(chain)-1].Raw)] {
			return identityOfCertificate(cert, f.grant)
		}
	}
	return nil, invalidToken("The authority of the certificate is no longer accepted")
}

// certificateKey is the Key of callers with a certificate. No API key and no issuer has this name.
const certificateKey = "tls:client_ca"

// identityOfCertificate takes the subject from the common name, or else from the first URI, DNS
// name or email address.
func identityOfCertificate(cert *x509.Certificate, grant string) (*mcp.Identity, *Refusal) {
	uris := []string{}
	for _, u := range cert.URIs {
		uris = append(uris, u.String())
	}
	subject := cert.Subject.CommonName
	for _, names := range [][]string{uris, cert.DNSNames, cert.EmailAddresses} {
		if subject == "" && len(names) > 0 {
			subject = names[0]
		}
	}
	if !issuer.IsSubject(subject) {
		return nil, invalidToken("The certificate has no name")
	}
	claims, _ := json.Marshal(map[string]any{
		"subject": cert.Subject.String(), "issuer": cert.Issuer.String(), "serial": cert.SerialNumber.Text(16),
		"uris": uris, "names": append([]string{}, cert.DNSNames...),
		"emails": append([]string{}, cert.EmailAddresses...),
	})
	return &mcp.Identity{
		Subject: subject, Key: certificateKey, Groups: cert.Subject.OrganizationalUnit,
		Claims: claims, Grant: grant, Expires: cert.NotAfter,
	}, nil
}
