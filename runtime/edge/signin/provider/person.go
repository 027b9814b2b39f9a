package provider

import (
	"context"
	"crypto"
	_ "crypto/sha512" // of at_hash
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuer"
)

// Person is who has signed in, as the sign_in block maps the claims of the provider.
type Person struct {
	Subject string
	Groups  []string
	Claims  map[string]any // those of the argument claims that the provider has sent

	// Source has the claims of which the others were made, for Provider.Person; nil for too many.
	Source json.RawMessage `json:"-"`
}

// maxPersonBytes is the maximum size of a Person as JSON, so that an access token stays within 4 KiB.
const maxPersonBytes = 3800

// verifyIDToken returns the claims of the ID token of a response (OpenID Connect Core 1.0, sections 3.1.3.7 and 12.2).
// The nonce is that of the authorization request; nil after a refresh, which has none. The error is an *Error.
func (p *Provider) verifyIDToken(ctx context.Context, r *tokenResponse, nonce *string) (map[string]any, error) {
	const what = "the ID token of the provider"
	token, claims, err := verify(ctx, p.idTokens, r.ID)
	if err != nil {
		e := verificationError(what, err)
		algorithm := algorithmOf(r.ID)
		if algorithm != "" && !slices.Contains(p.declared.Algorithms, algorithm) && e.kind == nil {
			e.Log += fmt.Sprintf(": it is signed with %s, and algorithms has %s", quoted(algorithm),
				strings.Join(p.declared.Algorithms, ", "))
		}
		return nil, e
	}
	client := p.declared.Client.ID.Reveal()
	azp, named := claims["azp"]
	switch {
	case named && azp != client:
		return nil, refused(what + " is for another client, which its claim azp names")
	case !named && len(issuer.Texts(claims["aud"])) > 1:
		return nil, refused(what + " is for several audiences and has no claim azp")
	case nonce != nil && (*nonce == "" || claims["nonce"] != *nonce):
		return nil, refused(what + " has another nonce than this sign-in")
	}
	if hash, ok := claims["at_hash"]; ok && hash != accessTokenHash(token.Method.Alg(), r.Access) {
		return nil, refused(what + " is for another access token, of which it has the claim at_hash")
	}
	return claims, nil
}

// algorithmOf returns the algorithm that the header of a token names, which is not verified.
func algorithmOf(token string) string {
	encoded, _, _ := strings.Cut(token, ".")
	var header struct {
		Algorithm string `json:"alg"`
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(text, &header) != nil {
		return ""
	}
	return header.Algorithm
}

// verify returns a valid token with its claims, whose numbers are as they are written.
func verify(ctx context.Context, v *issuer.Verifier, text string) (*jwt.Token, map[string]any, error) {
	token, parts, err := issuer.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if _, err := v.Verify(ctx, token, text); err != nil {
		return nil, nil, err
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, nil, issuer.ErrNoToken
	}
	claims, err := decodeClaims(payload)
	return token, claims, err
}

// tokenFault completes a sentence whose subject is a token.
func tokenFault(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return "is of another issuer"
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return "is for another client"
	case errors.Is(err, jwt.ErrTokenExpired):
		return "has expired"
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return "is not valid yet: the clocks differ by more than clock_skew"
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable),
		errors.Is(err, issuer.ErrUnknownKey):
		return "is not signed by a key of its issuer with one of the algorithms"
	case errors.Is(err, issuer.ErrCritical):
		return "requires an extension"
	}
	return "is not a valid token"
}

// accessTokenHash returns the claim at_hash of an access token (OpenID Connect Core 1.0, section 3.1.3.6).
func accessTokenHash(algorithm, access string) string {
	h := crypto.SHA512 // of EdDSA
	switch {
	case strings.HasSuffix(algorithm, "256"):
		h = crypto.SHA256
	case strings.HasSuffix(algorithm, "384"):
		h = crypto.SHA384
	}
	w := h.New()
	w.Write([]byte(access))
	sum := w.Sum(nil)
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

// identify returns the person of an ID token. Claims that it does not have are asked for at the userinfo endpoint,
// since many providers have them only there. The error is an *Error.
func (p *Provider) identify(ctx context.Context, claims map[string]any, tokens *Tokens) (*Person, error) {
	if err := checkOverage(p.declared, claims); err != nil {
		return nil, err
	}
	isMissing := func(path string) bool { return issuer.Claim(claims, path) == nil }
	s := p.declared
	names := append([]string{s.SubjectClaim, s.GroupsClaim}, s.Claims...)
	if claims["sub"] != nil && slices.ContainsFunc(names, isMissing) {
		info, err := p.userInfo(ctx, tokens)
		if err != nil {
			return nil, err
		}
		if info != nil && info["sub"] != claims["sub"] {
			return nil, refused("the userinfo endpoint of the provider describes another person")
		}
		for name, v := range info {
			if _, ok := claims[name]; !ok {
				claims[name] = v
			}
		}
		if err := checkOverage(s, claims); err != nil {
			return nil, err
		}
	}
	return mapPerson(s, claims)
}

// identifyAgain returns who a known person is now, without an ID token. The error is an *Error.
func (p *Provider) identifyAgain(ctx context.Context, tokens *Tokens, known *Person) (*Person, error) {
	claims, err := p.userInfo(ctx, tokens)
	if err != nil {
		return nil, err
	}
	if claims == nil || issuer.Claim(claims, p.declared.SubjectClaim) == nil {
		const problem = "a refresh at the provider returns no ID token, so groups and claims stay as they were"
		if p.logged.Set("refresh", problem) {
			p.log.Warn("identity not renewed", "issuer", p.declared.Provider, "error", problem)
		}
		return known, nil
	}
	if err := checkOverage(p.declared, claims); err != nil {
		return nil, err
	}
	return mapPerson(p.declared, claims)
}

// checkOverage refuses claims of Entra that leave the groups out, because there are too many.
func checkOverage(s *hcl.SignIn, claims map[string]any) error {
	names, _ := claims["_claim_names"].(map[string]any)
	first, _, _ := strings.Cut(s.GroupsClaim, ".")
	_, elsewhere := names[first]
	hasGroups := s.GroupsClaim == "groups" && (claims["hasgroups"] == true || claims["hasgroups"] == "true")
	if !elsewhere && !hasGroups || issuer.Claim(claims, s.GroupsClaim) != nil {
		return nil
	}
	const text = "Entra sent no groups, because this person has more than 200. Assign groups to the application"
	return &Error{Page: text + ".", Log: text, Code: codeAccessDenied}
}

// mapPerson returns the person with these claims. The error is an *Error.
func mapPerson(s *hcl.SignIn, claims map[string]any) (*Person, error) {
	subject, _ := issuer.Claim(claims, s.SubjectClaim).(string)
	if !issuer.IsSubject(subject) {
		return nil, refused(fmt.Sprintf("the provider sent no claim %s that is a text of one line; subject_claim "+
			"names the claim that tells people apart", s.SubjectClaim))
	}
	person := &Person{Subject: subject, Claims: map[string]any{}}
	for _, group := range issuer.Texts(issuer.Claim(claims, s.GroupsClaim)) {
		if s.GroupNames != nil {
			name, known := s.GroupNames[group]
			if !known {
				continue
			}
			group = name
		}
		if !slices.Contains(person.Groups, group) {
			person.Groups = append(person.Groups, group)
		}
	}
	for _, name := range s.Claims {
		if v := issuer.Claim(claims, name); v != nil {
			person.Claims[name] = v
		}
	}
	text, err := json.Marshal(person)
	if err != nil {
		return nil, refused("the claims of the provider cannot be written as JSON")
	}
	if len(text) > maxPersonBytes {
		return nil, &Error{
			Page: "Your account has more groups or longer claims than this server can keep. Ask its operator.",
			Code: codeAccessDenied,
			Log: fmt.Sprintf("the %d groups and %d claims of a person have %d bytes, and a token has room for %d; "+
				"group_names keeps only the groups that it names", len(person.Groups), len(person.Claims), len(text),
				maxPersonBytes),
		}
	}
	person.Source = sourceOf(claims)
	return person, nil
}

// protocolClaims are about a token, and not about its person.
var protocolClaims = []string{
	"acr", "amr", "at_hash", "aud", "auth_time", "azp", "c_hash", "exp", "iat", "iss", "jti", "nbf", "nonce", "rat",
	"s_hash", "sid", "uti",
}

const maxSource = 16 << 10 // bytes

// sourceOf returns the claims about a person as JSON, and nil for more than are kept.
func sourceOf(claims map[string]any) json.RawMessage {
	kept := maps.Clone(claims)
	for _, name := range protocolClaims {
		delete(kept, name)
	}
	text, err := json.Marshal(kept)
	if err != nil || len(text) > maxSource {
		return nil
	}
	return text
}

// errNoSource is returned for a person of whom too much would have been kept.
var errNoSource = errors.New("the claims of the person were not kept")

// Person makes a person anew from the source of one, after the declaration was changed. It asks nobody.
func (p *Provider) Person(source json.RawMessage) (*Person, error) {
	if source == nil {
		return nil, errNoSource
	}
	claims, err := decodeClaims(source)
	if err != nil {
		return nil, err
	}
	return mapPerson(p.declared, claims)
}
