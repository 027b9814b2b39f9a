package aws

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hatchel/internal/lazyregexp"
)

// Passwords makes passwords for databases of RDS. It may be used concurrently.
type Passwords struct {
	*Provider
	region  string   // of an endpoint that does not say its own
	signers sync.Map // *signer by region
}

// NewPasswords returns the passwords of a block.
func NewPasswords(block *RDS, p *Provider) *Passwords {
	return &Passwords{Provider: p, region: block.Region}
}

// regionOfEndpoint finds the region in an endpoint of RDS. In some partitions it is behind the name of the service.
var regionOfEndpoint = lazyregexp.New(`\.(?:([a-z0-9-]+)\.rds|rds\.([a-z0-9-]+))` +
	`\.(?:amazonaws\.(?:com|com\.cn|eu)|c2s\.ic\.gov|sc2s\.sgov\.gov):[0-9]+$`)

// signerOf returns what signs passwords for an endpoint.
func (p *Passwords) signerOf(endpoint string) *signer {
	region := p.region
	if found := regionOfEndpoint.FindStringSubmatch(endpoint); found != nil {
		region = cmp.Or(found[1:]...)
	}
	of, ok := p.signers.Load(region)
	if !ok {
		of, _ = p.signers.LoadOrStore(region, newSigner("rds-db", region))
	}
	return of.(*signer)
}

const passwordSeconds = "900" // RDS accepts no password of a longer life

// Password returns the password for a user at an endpoint, HOST:PORT. It is a presigned request that is never sent, and
// is valid for 15 minutes. Making it asks nobody once there are credentials.
func (p *Passwords) Password(ctx context.Context, endpoint, user string) (string, error) {
	c, err := p.Get(ctx)
	if err != nil {
		return "", err
	}
	endpoint = strings.ToLower(strings.Replace(endpoint, ".:", ":", 1)) // as RDS writes its own name
	return p.signerOf(endpoint).presign(ctx, c, endpoint, user, time.Now())
}

// Invalidate drops the credentials that a password was signed with, which a database has refused.
func (p *Passwords) Invalidate(password string) {
	if u, err := url.Parse("https://" + password); err == nil {
		keyID, _, _ := strings.Cut(u.Query().Get("X-Amz-Credential"), "/")
		p.Refuse(Credentials{KeyID: keyID})
	}
}

func (s *signer) presign(ctx context.Context, c Credentials, endpoint, user string, at time.Time) (string, error) {
	query := url.Values{"Action": {"connect"}, "DBUser": {user}, "X-Amz-Expires": {passwordSeconds}}
	u := &url.URL{Scheme: "https", Host: endpoint, Path: "/", RawQuery: query.Encode()}
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
	text, _, err := s.v4.PresignHTTP(ctx, c.sdk(), req, hashBody(nil), s.service, s.region, at)
	return strings.TrimPrefix(text, "https://"), err
}
