package http

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// connection is a connection "http" block.
type connection struct {
	BaseURL   string
	Headers   *hcl.KeyValues
	Timeout   time.Duration
	MaxBody   hcl.Size
	Redirects int
	CAFile    string
	CertFile  string
	KeyFile   string
	Auth      *auth
	Retry     *retry
}

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxBody   = 4 << 20
	defaultRedirects = 5
)

func (c *connection) spec() hcl.Spec {
	c.MaxBody, c.Redirects = defaultMaxBody, defaultRedirects
	return hcl.Spec{
		hcl.Attr(&c.BaseURL, "base_url", "What the paths of the blocks follow, as in \"https://shop.example/api/v1\".").Require(),
		hcl.Attr(&c.Headers, "headers", "Headers of every request. They may read `caller`.").AllowSecret().FixedKeys(),
		hcl.Attr(&c.Timeout, "timeout", "How long one attempt may take, from connecting to the last byte.").DefaultDoc(`"30s"; a read that is not retried may take as long as the tool`),
		hcl.Attr(&c.MaxBody, "max_body", "How large an answer may be, after decompression.").DefaultDoc(`"4MiB"`),
		hcl.Attr(&c.Redirects, "redirects", "How many redirects are followed. They are followed on the same host only.").DefaultDoc("5"),
		hcl.Attr(&c.CAFile, "ca_file", "Certificates, as PEM, that the service's own is checked against instead of the system's."),
		hcl.Attr(&c.CertFile, "cert_file", "The certificate, as PEM, that the service is shown."),
		hcl.Attr(&c.KeyFile, "key_file", "The key of cert_file, as PEM."),
		hcl.Block(&c.Auth, "auth", "How requests sign in.", (*auth).spec),
		hcl.Block(&c.Retry, "retry", "Asks again after a failure that may pass. Of the verbs, those that may be repeated are: GET, HEAD, PUT and DELETE, and requests with an Idempotency-Key header.", (*retry).spec),
	}
}

// Check refuses what cannot be a service.
func (c *connection) Check() error {
	var errs []error
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		errs = append(errs, hcl.Blame(&c.BaseURL, "base_url is a whole URL such as \"https://shop.example/api/v1\", with http or https and a host."))
	case u.User != nil:
		errs = append(errs, hcl.Blame(&c.BaseURL, "base_url holds a user name or password. Write auth { basic = { username = …, password = secret.… } } instead."))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		errs = append(errs, hcl.Blame(&c.BaseURL, "base_url ends with its path: the query belongs to the requests, or to auth { query = { … } }."))
	}
	if c.Redirects < 0 {
		errs = append(errs, hcl.Blame(&c.Redirects, "redirects is a number of hops; 0 follows none."))
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, hcl.Blame(&c.CertFile, "cert_file and key_file are written together."))
	}
	errs = append(errs, headerNames(&c.Headers, c.Headers.Names())...)
	if c.Auth != nil {
		errs = append(errs, c.Auth.check()...)
	}
	if c.Retry != nil {
		errs = append(errs, c.Retry.check()...)
	}
	return errors.Join(errs...)
}

// OnBehalf implements hcl.OnBehalf.
func (c *connection) OnBehalf() any { return c.Auth.behalf() }

// open makes the handle of a connection. It reads the TLS files and nothing else.
func open(ctx context.Context, c *connection, env adapters.Env) (any, error) {
	tlsConfig, err := c.tls(env.Dir)
	if err != nil {
		return nil, err
	}
	s := newService(ctx, tlsConfig, c.Redirects, env)
	s.base, s.headers, s.timeout, s.maxBody = strings.TrimRight(c.BaseURL, "/"), c.Headers, c.Timeout, c.MaxBody
	if c.Retry != nil {
		s.retry = c.Retry.policy()
	}
	if c.Auth != nil {
		s.signer = c.Auth.signer(s, env)
	}
	return s, nil
}
