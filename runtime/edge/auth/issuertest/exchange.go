package issuertest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Identifiers of RFC 8693.
const (
	grantType = "urn:ietf:params:oauth:grant-type:token-exchange"
	tokenType = "urn:ietf:params:oauth:token-type:access_token"
)

// Exchange configures the token exchange of an issuer at /token (RFC 8693).
type Exchange struct {
	Client, Secret string        // credentials of the client
	Lifetime       time.Duration // lifetime of issued tokens; an hour when it is 0
	OmitExpiresIn  bool          // responses have no expires_in
	Error          string        // error code of every response; empty for none
	Description    string        // error_description for Error
}

// SetExchange sets the configuration.
func (i *Issuer) SetExchange(e Exchange) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.exchange = e
}

// serveExchange answers a request to exchange a token.
func (i *Issuer) serveExchange(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	e, status, n := i.exchange, i.status, i.asked["/token"]
	i.mu.Unlock()
	id, secret := credentials(r)
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, code, why string) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": why})
	}
	switch {
	case status != 0:
		w.WriteHeader(status)
		return
	case e.Client == "" || id != e.Client || secret != e.Secret:
		refuse(http.StatusUnauthorized, "invalid_client", "no such client")
		return
	case e.Error != "":
		refuse(http.StatusBadRequest, e.Error, e.Description)
		return
	case r.PostFormValue("grant_type") != grantType || r.PostFormValue("subject_token_type") != tokenType:
		refuse(http.StatusBadRequest, "unsupported_grant_type", "only access tokens can be exchanged")
		return
	}
	claims := i.parse(r.PostFormValue("subject_token"))
	if claims == nil {
		refuse(http.StatusBadRequest, "invalid_grant", "the subject token is not valid")
		return
	}
	life := e.Lifetime
	if life == 0 {
		life = time.Hour
	}
	now := time.Now()
	response := map[string]any{
		"access_token": i.Token(r.PostFormValue("audience"), map[string]any{
			"sub": claims["sub"], "scope": r.PostFormValue("scope"), "exp": now.Add(life).Unix() + 1,
			"act": map[string]any{"sub": id}, "jti": n,
		}),
		"issued_token_type": tokenType, "token_type": "Bearer", "expires_in": life.Seconds(),
	}
	if e.OmitExpiresIn {
		delete(response, "expires_in")
	}
	json.NewEncoder(w).Encode(response)
}

// credentials returns those of a client, which are form-encoded first (RFC 6749, section 2.3.1).
func credentials(r *http.Request) (id, secret string) {
	id, secret, _ = r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	return id, secret
}

// Read returns the claims of a valid token of this issuer for an audience; nil for any other.
func (i *Issuer) Read(token, audience string) jwt.MapClaims {
	return i.parse(token, jwt.WithAudience(audience))
}

// parse returns the claims of a valid token of this issuer, or nil.
func (i *Issuer) parse(token string, options ...jwt.ParserOption) jwt.MapClaims {
	claims := jwt.MapClaims{}
	key := func(*jwt.Token) (any, error) { return i.Key().Private.Public(), nil }
	options = append(options, jwt.WithIssuer(i.URL), jwt.WithExpirationRequired())
	if _, err := jwt.ParseWithClaims(token, claims, key, options...); err != nil {
		return nil
	}
	return claims
}
