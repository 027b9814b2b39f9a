// Package issuer knows issuers of signed tokens: it loads their metadata and their keys, and verifies that a token is
// one of theirs.
package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"hatchel/internal/hostname"
	"hatchel/internal/service"
)

// Issuers keeps the issuers of all generations, with their keys: a reload that does not change an
// issuer does not load its keys again. Its zero value is ready to use, also concurrently.
type Issuers struct {
	mu   sync.Mutex
	open map[Declaration]*Issuer // guarded by mu
}

// Declaration is what a configuration declares of an issuer.
type Declaration struct {
	URL    string // exactly as in the claim iss of its tokens
	Keys   string // URL of the keys; empty for discovery
	OpenID bool   // it is an OpenID provider, which describes itself as one
}

// Options are the inputs of Acquire besides the declaration.
type Options struct {
	Log *slog.Logger     // for failures to load keys
	Now func() time.Time // clock by which keys age
}

// Acquire returns the issuer of a declaration. It makes no requests; later ones have the values of ctx. The returned
// function releases the issuer, and ends its requests with the last release.
func (is *Issuers) Acquire(ctx context.Context, d Declaration, o Options) (*Issuer, func() error) {
	is.mu.Lock()
	defer is.mu.Unlock()
	i := is.open[d]
	if i == nil {
		i = newIssuer(ctx, d, o)
		if is.open == nil {
			is.open = map[Declaration]*Issuer{}
		}
		is.open[d] = i
	}
	i.users++
	return i, func() error {
		is.mu.Lock()
		defer is.mu.Unlock()
		if i.users--; i.users == 0 {
			delete(is.open, d)
			i.loading.Close()
			i.Client.CloseIdleConnections()
		}
		return nil
	}
}

// Issuer is an authorization server that signs tokens. It may be used concurrently.
type Issuer struct {
	Declaration
	Client *Client // for requests to the issuer

	users int // guarded by Issuers.mu
	keySet
}

// Metadata is what an issuer says of itself (RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3).
type Metadata struct {
	Issuer        string   `json:"issuer"`
	Keys          string   `json:"jwks_uri"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	UserInfo      string   `json:"userinfo_endpoint"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	Prompts       []string `json:"prompt_values_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	IsPushedAlone bool     `json:"require_pushed_authorization_requests"`          // no other requests (RFC 9126)
	NamesIssuer   bool     `json:"authorization_response_iss_parameter_supported"` // in responses (RFC 9207)
}

func newIssuer(ctx context.Context, d Declaration, o Options) *Issuer {
	i := &Issuer{Declaration: d, Client: NewClient()}
	i.keySet = keySet{
		fetch: i.fetch, log: o.Log.With("issuer", d.URL), now: o.Now,
		attempts: rate.NewLimiter(rate.Every(attemptInterval), maxAttempts), loading: service.NewGroup(ctx),
	}
	return i
}

// fetch requests the metadata of the issuer, unless the URL of the keys is declared, and the keys.
func (i *Issuer) fetch(ctx context.Context) (*Metadata, []json.RawMessage, error) {
	metadata := &Metadata{Keys: i.Keys}
	if i.Keys == "" {
		var err error
		if metadata, err = i.discover(ctx); err != nil {
			return nil, nil, err
		}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := i.Client.get(ctx, metadata.Keys, &set); err != nil {
		return nil, nil, err
	}
	return metadata, set.Keys, nil
}

// discover requests the metadata of the issuer (RFC 8414, section 3; OpenID Connect Discovery 1.0, section 4), in the
// order that MCP prescribes for clients; an OpenID provider has its own place, which is the first one.
func (i *Issuer) discover(ctx context.Context) (*Metadata, error) {
	u, err := url.Parse(i.URL)
	if err != nil {
		return nil, errors.New("its URL is invalid")
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	locations := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		locations = append(locations, origin+path+"/.well-known/openid-configuration")
	}
	if i.OpenID {
		slices.Reverse(locations)
	}
	var failed error
	for _, location := range locations {
		metadata := new(Metadata)
		err := i.Client.get(ctx, location, metadata)
		switch {
		case err != nil:
		case metadata.Issuer != i.URL:
			err = fmt.Errorf("%s describes another issuer, %q", location, metadata.Issuer)
		case !i.isTrusted(metadata.Keys):
			err = fmt.Errorf("%s refers to keys at %q, which is not an https URL", location, metadata.Keys)
		case i.OpenID:
			err = i.checkProvider(metadata)
		}
		if err == nil {
			return metadata, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// checkProvider returns why nobody can sign in at a provider with this metadata.
func (i *Issuer) checkProvider(m *Metadata) error {
	for _, endpoint := range []struct{ name, url string }{
		{"authorization_endpoint", m.Authorization}, {"token_endpoint", m.Token},
	} {
		if !i.isTrusted(endpoint.url) {
			return fmt.Errorf("its metadata has the %s %q, which is not an https URL", endpoint.name, endpoint.url)
		}
	}
	if m.UserInfo != "" && !i.isTrusted(m.UserInfo) {
		return fmt.Errorf("its metadata has the userinfo_endpoint %q, which is not an https URL", m.UserInfo)
	}
	return nil
}

// isTrusted reports whether an endpoint of the issuer may be used. An issuer with an http URL, which must be
// on this machine, may have its endpoints at one, too.
func (i *Issuer) isTrusted(endpoint string) bool {
	u, problem := hostname.ParseURL(endpoint, hostname.User|hostname.Query|hostname.Fragment)
	return problem == "" && (u.Scheme == "https" || strings.HasPrefix(i.URL, "http://"))
}
