package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"hatchel/hcl"
	"hatchel/internal/contentcoding"
	"hatchel/internal/hostname"
	"hatchel/internal/proxy"
	"hatchel/internal/service"
)

// Issuers keeps the issuers of all generations, with their keys: a reload that does not change an
// issuer does not load its keys again. Its zero value is ready to use, also concurrently.
type Issuers struct {
	mu   sync.Mutex
	open map[string]*issuer // by the URLs of the issuer and of its keys; guarded by mu
}

// acquire returns the issuer of a declaration. The returned function releases it.
func (is *Issuers) acquire(ctx context.Context, j *hcl.JWT, o Options) (*issuer, func() error) {
	name := j.Issuer + "\x00" + j.JWKS
	is.mu.Lock()
	defer is.mu.Unlock()
	i := is.open[name]
	if i == nil {
		i = newIssuer(ctx, j, o)
		if is.open == nil {
			is.open = map[string]*issuer{}
		}
		is.open[name] = i
	}
	i.users++
	return i, func() error {
		is.mu.Lock()
		defer is.mu.Unlock()
		if i.users--; i.users == 0 {
			delete(is.open, name)
			i.loading.Close()
			i.client.CloseIdleConnections()
		}
		return nil
	}
}

// issuer is an authorization server that signs tokens.
type issuer struct {
	url    string
	jwks   string // URL of the keys; empty for discovery
	client *http.Client
	users  int // guarded by Issuers.mu
	keySet
}

const (
	requestTimeout   = 10 * time.Second
	maxResponseBytes = 1 << 20
)

func newIssuer(ctx context.Context, j *hcl.JWT, o Options) *issuer {
	transport := proxy.NewTransport()
	transport.MaxResponseHeaderBytes = 64 << 10
	i := &issuer{url: j.Issuer, jwks: j.JWKS, client: &http.Client{
		Timeout:   requestTimeout,
		Transport: contentcoding.Transport{Next: transport},
		// Keys must come from the declared host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	i.keySet = keySet{
		fetch: i.fetchKeys, log: o.Log.With("issuer", j.Issuer), now: o.Now,
		attempts: rate.NewLimiter(rate.Every(attemptInterval), maxAttempts), loading: service.NewGroup(ctx),
	}
	return i
}

// fetchKeys requests the keys of the issuer.
func (i *issuer) fetchKeys(ctx context.Context) ([]json.RawMessage, error) {
	from := i.jwks
	if from == "" {
		var err error
		if from, err = i.discoverKeysURL(ctx); err != nil {
			return nil, err
		}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := i.get(ctx, from, &set); err != nil {
		return nil, err
	}
	return set.Keys, nil
}

// discoverKeysURL asks the issuer for the URL of its keys (RFC 8414, section 3; OpenID Connect
// Discovery 1.0, section 4), in the order that MCP prescribes for clients.
func (i *issuer) discoverKeysURL(ctx context.Context) (string, error) {
	u, err := url.Parse(i.url)
	if err != nil {
		return "", errors.New("its URL is invalid")
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	locations := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		locations = append(locations, origin+path+"/.well-known/openid-configuration")
	}
	var failed error
	for _, location := range locations {
		var metadata struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		err := i.get(ctx, location, &metadata)
		switch {
		case err != nil:
		case metadata.Issuer != i.url:
			err = fmt.Errorf("%s describes another issuer, %q", location, metadata.Issuer)
		case !i.isTrusted(metadata.JWKS):
			err = fmt.Errorf("%s refers to keys at %q, which is not an https URL", location, metadata.JWKS)
		default:
			return metadata.JWKS, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// isTrusted reports whether keys may be loaded from a URL. An issuer with an http URL, which must be
// on this machine, may have its keys at one, too.
func (i *issuer) isTrusted(keysURL string) bool {
	u, problem := hostname.ParseURL(keysURL, hostname.User|hostname.Query|hostname.Fragment)
	return problem == "" && (u.Scheme == "https" || strings.HasPrefix(i.url, "http://"))
}

// get requests a JSON document.
func (i *issuer) get(ctx context.Context, location string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := i.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers with status %d", location, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes+1))
	switch {
	case err != nil:
		return err
	case len(body) > maxResponseBytes:
		return fmt.Errorf("%s answers with more than %d bytes", location, maxResponseBytes)
	case json.Unmarshal(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), into) != nil:
		return fmt.Errorf("%s does not answer with the expected JSON", location)
	}
	return nil
}
