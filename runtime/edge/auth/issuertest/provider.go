package issuertest

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Provider is an OpenID provider with one client. It signs a chosen person in at once, without a page. Its methods may
// be called concurrently.
type Provider struct {
	*Issuer

	client ProviderClient

	persons map[string]Person        // by subject; guarded by Issuer.mu
	current string                   // subject of the person who signs in next; guarded by Issuer.mu
	faults  Faults                   // guarded by Issuer.mu
	codes   map[string]authorization // that were not used; guarded by Issuer.mu
	refresh map[string]authorization // refresh tokens that are valid; guarded by Issuer.mu
	queries []url.Values             // parameters of authorization requests; guarded by Issuer.mu
	forms   []url.Values             // of token requests; guarded by Issuer.mu
	given   []string                 // codes and tokens; guarded by Issuer.mu
}

// ProviderClient is the client of a provider.
type ProviderClient struct {
	ID, Secret string // the secret is sent in a header or a field; empty for none
	Redirect   string // the only address that authorization responses go to
}

// Person is who has an account at a provider.
type Person struct {
	Subject string
	Groups  []string
	Claims  map[string]any // further claims of ID tokens and of userinfo
}

// Faults change what a provider does. The zero Faults change nothing.
type Faults struct {
	Metadata map[string]any // members of the metadata; a nil one is removed

	Error, Description string // of authorization responses, in place of a code
	ResponseIssuer     string // the parameter iss of authorization responses; "-" for none

	IDToken            map[string]any               // claims of ID tokens; a nil one is removed
	Sign               func(c jwt.MapClaims) string // signs ID tokens
	HashesAccessToken  bool                         // ID tokens have the claim at_hash
	NoIDToken          bool                         // token responses have none
	NoIDTokenOnRefresh bool                         // those to refresh tokens have none
	NoRefreshToken     bool                         // token responses have none
	KeepsRefreshToken  bool                         // a refresh token is valid after its use

	Token       map[string]any // members of token responses; a nil one is removed
	TokenStatus int            // of token responses; 0 for the usual one
	TokenBody   string         // of token responses, in place of the usual one
	TokenError  map[string]any // the JSON of token responses with the status 400
	Held        chan struct{}  // for which token requests wait until it is closed

	UserInfo       map[string]any // what the userinfo endpoint returns of each person besides sub; nil for no endpoint
	UserInfoStatus int            // of its responses; 0 for the usual one
}

// authorization is what a code or a refresh token was issued for.
type authorization struct {
	subject, nonce, challenge, scope string
}

// OpenProvider starts a provider at which ada has an account. It ends with the test.
func OpenProvider(t testing.TB, c ProviderClient) *Provider {
	t.Helper()
	p := &Provider{
		Issuer: openWith(t, "ES256"), client: c, current: "ada",
		persons: map[string]Person{"ada": {Subject: "ada", Groups: []string{"finance"}}},
		codes:   map[string]authorization{}, refresh: map[string]authorization{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.discovery, p.describe, p.more = "/.well-known/openid-configuration", p.metadata, p.serveProvider
	return p
}

// SignIn makes this person the one who signs in from now on, and adds or changes the account.
func (p *Provider) SignIn(who Person) {
	p.SetPerson(who)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = who.Subject
}

// SetPerson adds or changes an account.
func (p *Provider) SetPerson(who Person) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.persons[who.Subject] = who
}

// Remove removes the account of a person. The refresh tokens of the person are refused then.
func (p *Provider) Remove(subject string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.persons, subject)
}

// SetFaults replaces the faults.
func (p *Provider) SetFaults(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// SetRedirect sets the address that authorization responses go to, for servers that start after the provider.
func (p *Provider) SetRedirect(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client.Redirect = address
}

// Authorizations returns the parameters of all authorization requests.
func (p *Provider) Authorizations() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.queries)
}

// TokenRequests returns the forms of all token requests.
func (p *Provider) TokenRequests() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.forms)
}

// Given returns the codes and tokens that the provider has issued, which no log may have.
func (p *Provider) Given() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.given)
}

// metadata is called with mu held.
func (p *Provider) metadata() map[string]any {
	m := map[string]any{
		"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize",
		"token_endpoint": p.URL + "/token", "response_types_supported": []string{"code"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{"ES256"},
		"code_challenge_methods_supported":               []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	}
	if p.faults.UserInfo != nil {
		m["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	maps.Copy(m, p.faults.Metadata)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	return m
}

// serveProvider answers the requests that only a provider has. It reports false for another one.
func (p *Provider) serveProvider(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/authorize":
		p.authorize(w, r)
	case "/userinfo":
		p.tell(w, r)
	case "/token":
		kind := r.PostFormValue("grant_type")
		if kind != "authorization_code" && kind != "refresh_token" {
			return false
		}
		p.mu.Lock()
		held := p.faults.Held
		p.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
				return true
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.forms = append(p.forms, r.PostForm)
		p.redeem(w, r)
	default:
		return false
	}
	return true
}

// authorize signs the current person in.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	p.queries = append(p.queries, q)
	if q.Get("client_id") != p.client.ID || q.Get("redirect_uri") != p.client.Redirect {
		http.Error(w, "no such client, or not its address", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {p.URL}}
	switch p.faults.ResponseIssuer {
	case "":
	case "-":
		back.Del("iss")
	default:
		back.Set("iss", p.faults.ResponseIssuer)
	}
	who, exists := p.persons[p.current]
	switch {
	case p.faults.Error != "":
		back.Set("error", p.faults.Error)
		back.Set("error_description", p.faults.Description)
	case !exists:
		back.Set("error", "access_denied")
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("nonce") == "" || q.Has("resource") || !slices.Contains(strings.Fields(q.Get("scope")), "openid"):
		back.Set("error", "invalid_request")
	default:
		code := p.issue(rand.Text())
		p.codes[code] = authorization{
			subject: who.Subject, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), scope: q.Get("scope"),
		}
		back.Set("code", code)
	}
	http.Redirect(w, r, p.client.Redirect+"?"+back.Encode(), http.StatusSeeOther)
}

// issue remembers a code or a token. It is called with mu held.
func (p *Provider) issue(text string) string {
	p.given = append(p.given, text)
	return text
}

// redeem answers a token request. It is called with mu held.
func (p *Provider) redeem(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]string{"error": code})
	}
	id, secret := credentials(r)
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	switch {
	case p.status != 0:
		w.WriteHeader(p.status)
	case p.faults.TokenBody != "" || p.faults.TokenStatus != 0:
		w.Header().Del("Content-Type")
		if p.faults.TokenStatus != 0 {
			w.WriteHeader(p.faults.TokenStatus)
		}
		io.WriteString(w, p.faults.TokenBody)
	case p.faults.TokenError != nil:
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(p.faults.TokenError)
	case id != p.client.ID || secret != p.client.Secret:
		refuse(http.StatusUnauthorized, "invalid_client")
	default:
		of, known := p.find(r)
		if _, exists := p.persons[of.subject]; !known || !exists {
			refuse(http.StatusBadRequest, "invalid_grant")
			return
		}
		response := p.respond(of, r.PostFormValue("grant_type") == "refresh_token")
		maps.Copy(response, p.faults.Token)
		maps.DeleteFunc(response, func(_ string, v any) bool { return v == nil })
		json.NewEncoder(w).Encode(response)
	}
}

// find returns what the code or the refresh token of a request was issued for, and uses it up. It is called with mu
// held.
func (p *Provider) find(r *http.Request) (of authorization, known bool) {
	if text := r.PostFormValue("refresh_token"); text != "" {
		of, known = p.refresh[text]
		if !p.faults.KeepsRefreshToken {
			delete(p.refresh, text)
		}
		return of, known
	}
	code := r.PostFormValue("code")
	of, known = p.codes[code]
	delete(p.codes, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	known = known && r.PostFormValue("redirect_uri") == p.client.Redirect &&
		base64.RawURLEncoding.EncodeToString(sum[:]) == of.challenge
	return of, known
}

// respond returns a token response. It is called with mu held.
func (p *Provider) respond(of authorization, isRefresh bool) map[string]any {
	p.t.Helper()
	key, now := p.keys[0], p.clock()
	sign := func(c jwt.MapClaims) string { return Sign(p.t, key, c) }
	claims := jwt.MapClaims{
		"iss": p.URL, "sub": of.subject, "aud": "api://" + p.client.ID, "scope": of.scope, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	response := map[string]any{
		"access_token": p.issue(sign(claims)), "token_type": "Bearer", "expires_in": 3600, "scope": of.scope,
	}
	if slices.Contains(strings.Fields(of.scope), "offline_access") && !p.faults.NoRefreshToken {
		text := p.issue(rand.Text())
		p.refresh[text] = authorization{subject: of.subject, scope: of.scope}
		response["refresh_token"] = text
	}
	if p.faults.NoIDToken || isRefresh && p.faults.NoIDTokenOnRefresh {
		return response
	}
	who := p.persons[of.subject]
	claims = jwt.MapClaims{
		"iss": p.URL, "sub": who.Subject, "aud": p.client.ID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	}
	if who.Groups != nil {
		claims["groups"] = who.Groups
	}
	if of.nonce != "" {
		claims["nonce"] = of.nonce
	}
	if p.faults.HashesAccessToken {
		h := crypto.SHA256
		if key.Algorithm == "EdDSA" {
			h = crypto.SHA512
		}
		w := h.New()
		io.WriteString(w, response["access_token"].(string))
		claims["at_hash"] = base64.RawURLEncoding.EncodeToString(w.Sum(nil)[:h.Size()/2])
	}
	maps.Copy(claims, who.Claims)
	maps.Copy(claims, p.faults.IDToken)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	if p.faults.Sign != nil {
		sign = p.faults.Sign
	}
	response["id_token"] = p.issue(sign(claims))
	return response
}

// tell answers a request for userinfo.
func (p *Provider) tell(w http.ResponseWriter, r *http.Request) {
	claims := p.parse(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.faults.UserInfo == nil:
		w.WriteHeader(http.StatusNotFound)
	case claims == nil:
		w.WriteHeader(http.StatusUnauthorized)
	case p.faults.UserInfoStatus != 0:
		w.WriteHeader(p.faults.UserInfoStatus)
	default:
		info := map[string]any{"sub": claims["sub"]}
		maps.Copy(info, p.faults.UserInfo)
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(info)
	}
}
