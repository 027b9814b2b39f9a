package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hatchel/hcl"
)

// Issuers are those whose keys are known, for all generations: a reload that leaves an issuer as it is does not ask it again.
type Issuers struct {
	mu   sync.Mutex
	open map[string]*issuer // by its URL and that of its keys; guarded by mu
}

func (is *Issuers) acquire(j *hcl.JWT, o Options) (*issuer, func() error) {
	name := j.Issuer + "\x00" + j.JWKS
	is.mu.Lock()
	defer is.mu.Unlock()
	i := is.open[name]
	if i == nil {
		i = newIssuer(j, o)
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
			i.close()
			i.client.CloseIdleConnections()
		}
		return nil
	}
}

// issuer is where the keys of tokens come from.
type issuer struct {
	url    string
	jwks   string // empty to ask the issuer
	client *http.Client
	users  int // guarded by Issuers.mu
	keyset
}

const (
	fetchTime  = 10 * time.Second // for one answer
	mostAnswer = 1 << 20          // bytes of one
)

func newIssuer(j *hcl.JWT, o Options) *issuer {
	i := &issuer{url: j.Issuer, jwks: j.JWKS, client: &http.Client{
		Timeout: fetchTime,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: fetchTime}).DialContext, TLSHandshakeTimeout: fetchTime,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		},
		// Who may say where the keys are is declared.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	i.keyset = keyset{fetch: i.fetchKeys, log: o.Log.With("issuer", j.Issuer), now: o.Now, attempts: mostAttempts}
	return i
}

// fetchKeys asks for the keys of the issuer.
func (i *issuer) fetchKeys(ctx context.Context) ([]json.RawMessage, error) {
	from := i.jwks
	if from == "" {
		var err error
		if from, err = i.discover(ctx); err != nil {
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

// discover asks the issuer where its keys are (RFC 8414, section 3; OpenID Connect Discovery 1.0, section 4), in the order in which clients of the protocol do.
func (i *issuer) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(i.url)
	if err != nil {
		return "", errors.New("its URL cannot be read")
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{origin + "/.well-known/oauth-authorization-server" + path, origin + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	var failed error
	for _, place := range places {
		var said struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		err := i.get(ctx, place, &said)
		switch {
		case err != nil:
		case said.Issuer != i.url:
			err = fmt.Errorf("%s speaks of another issuer, %q", place, said.Issuer)
		case !i.trusts(said.JWKS):
			err = fmt.Errorf("%s leads to keys at %q, which is no https URL", place, said.JWKS)
		default:
			return said.JWKS, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// trusts reports whether keys may come from there. An issuer on this machine may keep its keys there, too.
func (i *issuer) trusts(place string) bool {
	u, err := url.Parse(place)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(i.url, "http://"))
}

// get asks for a JSON document.
func (i *issuer) get(ctx context.Context, place string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
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
		return fmt.Errorf("%s answers with status %d", place, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	switch {
	case err != nil:
		return err
	case len(body) > mostAnswer:
		return fmt.Errorf("%s answers with more than %d bytes", place, mostAnswer)
	case json.Unmarshal(body, into) != nil:
		return fmt.Errorf("%s does not answer with the JSON that is expected", place)
	}
	return nil
}
