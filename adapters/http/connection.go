package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/auth"
	"hatchel/hcl"
	"hatchel/internal/hostname"
)

// connection is a connection "http" block.
type connection struct {
	BaseURL   string
	Headers   *hcl.KeyValues
	Timeout   time.Duration
	MaxBody   hcl.Size
	Redirects int
	Trace     bool
	CAFile    string
	CertFile  string
	KeyFile   string
	Auth      *auth.Block
	Retry     *retry
}

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxBody   = 4 << 20
	defaultRedirects = 5
	defaultMaxRows   = 10_000
)

func (c *connection) spec() hcl.Spec {
	c.MaxBody, c.Redirects, c.Trace = defaultMaxBody, defaultRedirects, true
	return hcl.Spec{
		hcl.Attr(&c.BaseURL, "base_url",
			`The URL before the paths of the blocks, such as "https://shop.example/api/v1".`).Require().
			Hint(` The address of a connection is base_url = "https://…".`, "url", "address", "endpoint"),
		hcl.Headers(&c.Headers, "headers", "Headers of every request. They may read `caller`.").FixedKeys(),
		hcl.Attr(&c.Timeout, "timeout", "The time limit for one attempt, from connecting to the last byte.").
			DefaultDoc(`"30s"; for reads without retry, the time limit of the tool`),
		hcl.Attr(&c.MaxBody, "max_body", "The maximum size of a response after decompression.").DefaultDoc(`"4MiB"`),
		hcl.Attr(&c.Redirects, "redirects",
			"The maximum number of redirects followed, on the same host only. A request that sends something is "+
				"repeated after 307 and 308; after 301 and 302 it fails with the new address.").DefaultDoc("5"),
		hcl.Attr(&c.Trace, "trace", "Whether requests carry the `traceparent` header of the call that sends them, "+
			"which makes them part of its trace.").DefaultDoc("true"),
		hcl.Attr(&c.CAFile, "ca_file",
			"A PEM file with the certificate authorities to trust instead of those of the system.").Contents(),
		hcl.Attr(&c.CertFile, "cert_file", "A PEM file with the client certificate.").Contents(),
		hcl.Attr(&c.KeyFile, "key_file", "A PEM file with the key of cert_file."),
		hcl.Block(&c.Auth, "auth", "How requests are authenticated.", (*auth.Block).Spec),
		hcl.Block(&c.Retry, "retry", "Retries a request after a transient failure. It applies to requests that are "+
			"safe to repeat: GET, HEAD, PUT, DELETE, and requests with an Idempotency-Key header.", (*retry).spec),
	}
}

// Check implements hcl.Checker.
func (c *connection) Check() error {
	var checks adapters.Checks
	u, problem := hostname.ParseURL(c.BaseURL, hostname.User|hostname.Query|hostname.Fragment)
	checks.Refuse(u == nil, &c.BaseURL, `base_url must be a URL such as "https://shop.example/api/v1": %s.`, problem)
	if u != nil {
		checks.Refuse(u.User != nil, &c.BaseURL, "base_url must not contain a user name or password. "+
			"Write auth { basic = { username = …, password = secret.… } } instead.")
		checks.Refuse(u.RawQuery != "" || u.ForceQuery || u.Fragment != "", &c.BaseURL,
			"base_url must end with its path. The query belongs to the requests, or to auth { query = { … } }.")
		c.Auth.CheckAddress(&checks, &c.BaseURL, u)
	}
	checks.Refuse(c.Redirects < 0, &c.Redirects, "redirects must not be negative; 0 follows none.")
	checks.Refuse((c.CertFile == "") != (c.KeyFile == ""), &c.CertFile,
		"cert_file and key_file must be set together.")
	adapters.CheckHeaderNames(&checks, &c.Headers, c.Headers.Names())
	c.Auth.CheckSigned(&checks, &c.Headers, c.Headers.Names())
	if c.Auth != nil {
		c.Auth.Check(&checks)
	}
	if c.Retry != nil {
		c.Retry.check(&checks)
	}
	return checks.Err()
}

// Effects implements hcl.EffectLister.
func (c *connection) Effects(*hcl.Connection) []hcl.Effect {
	effects := []hcl.Effect{{Verb: "HOST", Source: []any{&c.BaseURL}}}
	if c.CAFile != "" {
		effects = append(effects, hcl.Effect{Verb: "TRUST", Source: []any{&c.CAFile}})
	}
	if c.Auth != nil {
		effects = append(effects, c.Auth.Effects()...)
	}
	return effects
}

// OnBehalf implements hcl.OnBehalf.
func (c *connection) OnBehalf() *hcl.Delegation {
	if c.Auth == nil {
		return nil
	}
	return c.Auth.OnBehalf()
}

// open returns the handle of a connection. It reads the TLS files and does not connect.
func open(ctx context.Context, c *connection, env adapters.Env) (any, error) {
	return openInCloud(ctx, c, env, credential.NewMachine())
}

// openInCloud is open on a machine in a cloud.
func openInCloud(ctx context.Context, c *connection, env adapters.Env, cloud *credential.Cloud) (any, error) {
	tlsConfig, err := c.loadTLS(env)
	if err != nil {
		return nil, err
	}
	redirects := c.Redirects
	if c.Auth != nil && !c.Auth.FollowsRedirects() {
		redirects = 0
	}
	s := newService(tlsConfig, redirects, env)
	s.base, s.headers, s.timeout, s.maxBody = strings.TrimRight(c.BaseURL, "/"), c.Headers, c.Timeout, c.MaxBody
	s.trace = c.Trace
	if c.Retry != nil {
		s.retry = c.Retry.policy(true)
	}
	s.ownHeaders = c.Headers.Names()
	if c.Auth != nil {
		if s.authorizer, err = c.Auth.Open(ctx, s, cloud, env); err != nil {
			return nil, err
		}
		s.decoding = s.authorizer.Transport(s.decoding)
		s.ownHeaders = append(s.ownHeaders, c.Auth.HeaderNames()...)
	}
	return s, nil
}

// loadTLS reads the certificate files of the connection. It returns nil if there are none.
func (c *connection) loadTLS(env adapters.Env) (*tls.Config, error) {
	if c.CAFile == "" && (c.CertFile == "" || env.Inspect) || env.Mocks != nil && !env.Mocks.Live(false) {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(adapters.Absolute(env.Dir, c.CAFile))
		if err != nil {
			return nil, hcl.Blame(&c.CAFile, "%q cannot be read.", c.CAFile)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, hcl.Blame(&c.CAFile, "%q has no PEM certificate.", c.CAFile)
		}
	}
	if c.CertFile != "" && !env.Inspect {
		cert, err := tls.LoadX509KeyPair(adapters.Absolute(env.Dir, c.CertFile), adapters.Absolute(env.Dir, c.KeyFile))
		if err != nil {
			return nil, hcl.Blame(&c.CertFile,
				"%q and %q are not a PEM certificate and its key, or cannot be read.", c.CertFile, c.KeyFile)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}
