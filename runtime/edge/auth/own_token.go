package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/mcp"
)

// SignIn is what the tokens of sign_in need besides its declaration.
type SignIn struct {
	// Grants returns the sign-ins of the process; nil while the state is not open, and no token is accepted.
	Grants func() *grant.Store
	// Allows reports whether a rule holds for a caller.
	Allows func(rule *hcl.Condition, i *mcp.Identity) bool
	// Renew renews a sign-in at the provider.
	Renew func(context.Context, *grant.Grant) error
}

// OwnTokens issues and verifies the access tokens of a sign_in block (RFC 9068). Its methods may be called
// concurrently.
type OwnTokens struct {
	SignIn
	declared *hcl.SignIn
	url      *url.URL
	digest   string // of the declaration, by which groups and claims were made
	now      func() time.Time
	headers  sync.Map // encoded headers by the ID of the key
	verified *lru.Cache[[sha256.Size]byte, *ownToken]
}

// ownToken is a token that was verified in this generation.
type ownToken struct {
	identity mcp.Identity
	audience string
	grant    string // the ID of the sign-in; that of an assertion is not stored
	admitted bool   // by allow
}

const (
	ownType      = "at+jwt"
	ownAlgorithm = "ES256"
	maxVerified  = 10_000
	maxOwnToken  = 4 << 10 // bytes
)

// ErrTokenTooLarge is wrapped by the error of Issue for a person with too many groups and claims.
var ErrTokenTooLarge = errors.New("the groups and claims of this person are too large for a token")

func newOwnTokens(s *hcl.SignIn, o Options) *OwnTokens {
	verified, err := lru.New[[sha256.Size]byte, *ownToken](maxVerified)
	if err != nil {
		panic(err) // the size is positive
	}
	origin, err := url.Parse(s.URL)
	if err != nil {
		panic(err) // it was checked when it was loaded
	}
	return &OwnTokens{SignIn: o.SignIn, declared: s, url: origin, digest: s.Digest(), now: o.Now, verified: verified}
}

// Own returns the tokens of sign_in; nil without that block.
func (c *Authenticator) Own() *OwnTokens {
	if c == nil {
		return nil
	}
	return c.own
}

// ownClaims are the claims of a token that are not those of the person. Those are beside them, and in Claims when they
// have one of these names.
type ownClaims struct {
	Issuer   string   `json:"iss"`
	Audience string   `json:"aud"`
	Subject  string   `json:"sub"`
	Client   string   `json:"client_id"`
	Scope    string   `json:"scope,omitempty"`
	ID       string   `json:"jti"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Grant    string   `json:"gid,omitempty"`
	Digest   string   `json:"declaration"`
	Groups   []string `json:"groups,omitempty"`
	Claims   person   `json:"claims,omitempty"`
}

// person is the claims of a person, as they are encoded.
type person map[string]json.RawMessage

// maxClaimDepth is how deeply the claims of a token may be nested.
const maxClaimDepth = 100

// personOf returns the members of an object, which keep its bytes.
func personOf(object []byte) (person, error) {
	p := person{}
	if len(object) == 0 {
		return p, nil
	}
	err := jsonscan.Members(object, maxClaimDepth, func(name, value []byte) bool {
		p[string(name)] = value
		return true
	})
	return p, err
}

// ownNames are the names of ownClaims, and of others that mean something to servers that verify a token.
var ownNames = []string{
	"iss", "aud", "sub", "client_id", "scope", "scp", "jti", "iat", "exp", "nbf", "gid", "declaration", "groups",
	"claims", "cnf", "act", "may_act", "auth_time",
}

// Issue returns an access token of a sign-in, and until when it is valid.
func (o *OwnTokens) Issue(g *grant.Grant) (text string, expires time.Time, err error) {
	grants := o.Grants()
	if grants == nil {
		return "", time.Time{}, issuer.ErrUnavailable
	}
	now := o.now()
	expires = now.Add(grant.TokenLife)
	if !g.Ends.IsZero() && g.Ends.Before(expires) {
		expires = g.Ends
	}
	claims, err := o.claimsOf(g, now, expires)
	if err != nil {
		return "", time.Time{}, err
	}
	id, key := grants.SigningKey()
	token := &jwt.Token{Header: ownHeader(id), Claims: claims, Method: jwt.SigningMethodES256}
	if text, err = token.SignedString(key); err != nil {
		return "", time.Time{}, err
	}
	if len(text) > maxOwnToken {
		const why = "%w: it would have %d bytes, and at most %d are accepted; select fewer with group_names and claims"
		return "", time.Time{}, fmt.Errorf(why, ErrTokenTooLarge, len(text), maxOwnToken)
	}
	return text, expires, nil
}

// ownHeader returns the header of tokens that a key signs.
func ownHeader(id string) map[string]any {
	return map[string]any{"alg": ownAlgorithm, "kid": id, "typ": ownType}
}

func (o *OwnTokens) claimsOf(g *grant.Grant, issued, expires time.Time) (jwt.MapClaims, error) {
	own := ownClaims{
		Issuer: o.declared.URL, Audience: g.Resource, Subject: g.Subject, Client: g.Client,
		Scope: strings.Join(g.Scopes, " "), ID: rand.Text(), Issued: issued.Unix(), Expires: expires.Unix(),
		Grant: g.ID, Digest: o.digest, Groups: g.Groups, Claims: person{},
	}
	if own.Audience == "" {
		own.Audience = o.declared.Resource("")
	}
	p, err := personOf(g.Claims)
	if err != nil {
		return nil, err
	}
	all := jwt.MapClaims{}
	for name, value := range p {
		if slices.Contains(ownNames, name) {
			own.Claims[name] = value
		} else {
			all[name] = value
		}
	}
	encoded, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	names, err := personOf(encoded)
	for name, value := range names {
		all[name] = value
	}
	return all, err
}

// KeySet returns the public keys of the tokens as a JWK set (RFC 7517).
func (o *OwnTokens) KeySet() ([]byte, error) {
	grants := o.Grants()
	if grants == nil {
		return nil, issuer.ErrUnavailable
	}
	set := jose.JSONWebKeySet{}
	for _, k := range grants.Keys() {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Key, KeyID: k.ID, Algorithm: ownAlgorithm, Use: "sig"})
	}
	return json.Marshal(set)
}

// IdentityOf returns who has signed in, as a token of the sign-in has it.
func (o *OwnTokens) IdentityOf(g *grant.Grant) (*mcp.Identity, error) {
	p, err := personOf(g.Claims)
	if err != nil {
		return nil, err
	}
	i, err := o.identity(p, g.Client, g.ID)
	if err != nil {
		return nil, err
	}
	i.Subject, i.Groups, i.Scopes, i.Expires = g.Subject, g.Groups, g.Scopes, g.Ends
	return i, nil
}

// identity returns the identity of a sign-in with the claims of a person.
func (o *OwnTokens) identity(p person, client, id string) (*mcp.Identity, error) {
	name, err := json.Marshal(client)
	if err != nil {
		return nil, err
	}
	p["client_id"] = name
	claims, err := json.Marshal(p)
	i := &mcp.Identity{Key: o.declared.Provider, Claims: claims, Grant: o.grantOf(id)}
	o.AddToken(i)
	return i, err
}

// AddToken gives an identity of a sign-in that was kept without its token the token of the provider again.
func (o *OwnTokens) AddToken(i *mcp.Identity) {
	if o == nil || i == nil {
		return
	}
	if id, ok := strings.CutPrefix(i.Grant, o.grantOf("")); ok && id != "" {
		i.Token = func(ctx context.Context) (string, time.Time, error) { return o.upstreamToken(ctx, id) }
	}
}

// ownGrant begins the Grant of identities of sign-ins, which the digest of the declaration and the ID of the sign-in
// follow.
const ownGrant = "sign_in "

func (o *OwnTokens) grantOf(id string) string { return ownGrant + o.digest + " " + id }

// Sentences for callers whose token of the provider is needed.
var (
	errSignInAgain = errors.New("the caller's sign-in has no valid token of the provider: the caller must sign in " +
		"again and repeat the call")
	errProvider = errors.New("the provider cannot renew the caller's token now. Try again in a moment")
	errState    = errors.New("the state store is unavailable. Try again in a moment")
)

// upstreamToken returns the access token of the provider, which it renews when it has ended.
func (o *OwnTokens) upstreamToken(ctx context.Context, id string) (text string, until time.Time, err error) {
	grants := o.Grants()
	if grants == nil {
		return "", time.Time{}, errState
	}
	text, until, err = grants.UpstreamToken(ctx, id, o.Renew)
	switch {
	case errors.Is(err, grant.ErrEnded), errors.Is(err, grant.ErrNoUpstream):
		err = errSignInAgain
	case errors.Is(err, grant.ErrRenewal):
		err = errProvider
	case err != nil:
		err = errState
	}
	return text, until, err
}

// Admits reports whether allow admits a person.
func (o *OwnTokens) Admits(i *mcp.Identity) bool {
	return o.declared.Allow == nil || o.Allows(o.declared.Allow, i)
}

// Permitted returns those of some scopes that are declared, and that a person may have.
func (o *OwnTokens) Permitted(i *mcp.Identity, scopes []string) (permitted []string) {
	for _, s := range o.declared.ScopeBlocks {
		if slices.Contains(scopes, s.Name) && (s.Allow == nil || o.Allows(s.Allow, i)) {
			permitted = append(permitted, s.Name)
		}
	}
	return permitted
}

var notAdmitted = &Refusal{
	Status: http.StatusForbidden,
	Reason: "You are signed in, but this server admits other people. Ask its operator",
}

// cached authenticates the caller of a token that was verified in this generation. It reports false for another one.
func (o *OwnTokens) cached(r *http.Request, digest [sha256.Size]byte) (*mcp.Identity, *Refusal, bool) {
	t, ok := o.verified.Get(digest)
	if !ok {
		return nil, nil, false
	}
	if !o.now().Before(t.identity.Expires) {
		o.verified.Remove(digest)
		return nil, nil, false
	}
	i, refused := o.accept(r, t)
	return i, refused, true
}

// accept decides whether a verified token is accepted for a request.
func (o *OwnTokens) accept(r *http.Request, t *ownToken) (*mcp.Identity, *Refusal) {
	grants := o.Grants()
	switch {
	case grants == nil:
		return nil, issuerUnavailable
	case grants.Revoked(t.grant):
		return nil, invalidToken("The sign-in of the token has ended")
	case !o.isFor(r, t.audience):
		return nil, invalidToken("The token is not for this server")
	case !t.admitted:
		return nil, notAdmitted
	}
	i := t.identity
	return &i, nil
}

// isFor reports whether an audience is that of a request: of the whole server, or of its toolset.
func (o *OwnTokens) isFor(r *http.Request, audience string) bool {
	toolset, ok := strings.CutPrefix(r.URL.Path, endpointPath+"/")
	return audience == o.declared.Resource("") || ok && audience == o.declared.Resource(toolset)
}

// knownKey returns the key whose tokens begin with the header of a token; nil for the token of another one. A token
// that this server has issued is not parsed to find its key.
func (o *OwnTokens) knownKey(text string) *ecdsa.PublicKey {
	grants := o.Grants()
	header, _, ok := strings.Cut(text, ".")
	if grants == nil || !ok {
		return nil
	}
	for _, k := range grants.Keys() {
		if o.headerOf(k.ID) == header {
			return k.Key
		}
	}
	return nil
}

// headerOf returns how the tokens that a key signs begin.
func (o *OwnTokens) headerOf(id string) string {
	if header, ok := o.headers.Load(id); ok {
		return header.(string)
	}
	encoded, err := json.Marshal(ownHeader(id))
	if err != nil {
		panic(err) // texts can be encoded
	}
	header := base64.RawURLEncoding.EncodeToString(encoded)
	o.headers.Store(id, header)
	return header
}

// identifyKnown authenticates the caller of a token that a known key has signed, and keeps what it has verified. It
// reports false for the token of another key.
func (o *OwnTokens) identifyKnown(
	r *http.Request, text string, digest [sha256.Size]byte,
) (*mcp.Identity, *Refusal, bool) {
	key := o.knownKey(text)
	parts := strings.SplitN(text, ".", 4)
	if key == nil || len(parts) != 3 || len(text) > maxOwnToken {
		return nil, nil, false
	}
	i, refused := o.identifyBy(r, key, parts, digest)
	return i, refused, true
}

// identifyBy authenticates the caller of a token that a key must have signed.
func (o *OwnTokens) identifyBy(
	r *http.Request, key *ecdsa.PublicKey, parts []string, digest [sha256.Size]byte,
) (*mcp.Identity, *Refusal) {
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || jwt.SigningMethodES256.Verify(parts[0]+"."+parts[1], signature, key) != nil {
		return nil, invalidToken(tokenFault(jwt.ErrTokenSignatureInvalid))
	}
	t, refused := o.read(parts[1])
	if refused != nil {
		return nil, refused
	}
	o.verified.Add(digest, t)
	return o.accept(r, t)
}

// identifyOwn authenticates the caller of a token of this server, of which Parse has returned the parts.
func (o *OwnTokens) identifyOwn(
	r *http.Request, token *jwt.Token, parts []string, digest [sha256.Size]byte,
) (*mcp.Identity, *Refusal) {
	key, refused := o.keyOf(r.Context(), token)
	if refused != nil {
		return nil, refused
	}
	return o.identifyBy(r, key, parts, digest)
}

// keyOf returns the key that a token names.
func (o *OwnTokens) keyOf(ctx context.Context, token *jwt.Token) (*ecdsa.PublicKey, *Refusal) {
	kind, _ := token.Header["typ"].(string)
	id, _ := token.Header["kid"].(string)
	_, critical := token.Header["crit"]
	isOurs := strings.TrimPrefix(strings.ToLower(kind), "application/") == ownType
	if !isOurs || critical || token.Method.Alg() != ownAlgorithm {
		return nil, invalidToken("The token is not an access token of this server")
	}
	grants := o.Grants()
	if grants == nil {
		return nil, issuerUnavailable
	}
	key, err := grants.PublicKey(ctx, id)
	switch {
	case err != nil:
		return nil, issuerUnavailable
	case key == nil:
		return nil, invalidToken(tokenFault(issuer.ErrUnknownKey))
	}
	return key, nil
}

// take decodes a claim and removes it; one that is missing leaves the zero value.
func (p person) take(name string, into any) bool {
	value, ok := p[name]
	if !ok {
		return true
	}
	delete(p, name)
	if text, isText := into.(*string); isText {
		*text, ok = jsonscan.Text(value)
		return ok
	}
	return json.Unmarshal(value, into) == nil
}

// claims takes the claims of a token that are not those of the person.
func (p person) claims() (own ownClaims, ok bool) {
	ok = p.take("iss", &own.Issuer) && p.take("aud", &own.Audience) && p.take("sub", &own.Subject) &&
		p.take("client_id", &own.Client) && p.take("scope", &own.Scope) && p.take("jti", &own.ID) &&
		p.take("iat", &own.Issued) && p.take("exp", &own.Expires) && p.take("gid", &own.Grant) &&
		p.take("declaration", &own.Digest) && p.take("groups", &own.Groups) && p.take("claims", &own.Claims)
	return own, ok
}

// read returns what the payload of a token says whose signature is valid.
func (o *OwnTokens) read(payload string) (*ownToken, *Refusal) {
	encoded, err := base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil {
		return nil, unknownCredential
	}
	p, err := personOf(encoded)
	own, ok := p.claims()
	if err != nil || !ok {
		return nil, unknownCredential
	}
	now, expires := o.now(), time.Unix(own.Expires, 0)
	switch {
	case own.Issuer != o.declared.URL:
		return nil, invalidToken("The issuer of the token is not accepted")
	case !now.Before(expires):
		return nil, invalidToken(tokenFault(jwt.ErrTokenExpired))
	case now.Add(o.declared.ClockSkew).Before(time.Unix(own.Issued, 0)):
		return nil, invalidToken(tokenFault(jwt.ErrTokenNotValidYet))
	case own.Digest != o.digest:
		return nil, invalidToken("The declaration of sign_in has changed since the token was issued")
	case !issuer.IsSubject(own.Subject):
		return nil, invalidToken("The token has no valid subject")
	}
	maps.Copy(p, own.Claims)
	i, err := o.identity(p, own.Client, own.Grant)
	if err != nil {
		return nil, unknownCredential
	}
	i.Subject, i.Groups, i.Expires = own.Subject, own.Groups, expires
	i.Scopes = o.Permitted(i, strings.Fields(own.Scope))
	i.BaseScopes = i.Scopes
	return &ownToken{identity: *i, audience: own.Audience, grant: own.Grant, admitted: o.Admits(i)}, nil
}

// stillValid reports whether an identity of a sign-in is accepted by this configuration, with all of its scopes.
func (o *OwnTokens) stillValid(i *mcp.Identity) bool {
	if o == nil {
		return false
	}
	id, ok := strings.CutPrefix(i.Grant, o.grantOf(""))
	grants := o.Grants()
	return ok && grants != nil && !grants.Revoked(id) && o.Admits(i) && len(o.Permitted(i, i.Scopes)) == len(i.Scopes)
}
