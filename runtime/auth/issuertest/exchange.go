package issuertest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Exchange says how an issuer exchanges tokens at /token (RFC 8693).
type Exchange struct {
	Client, Secret string        // who may ask
	Life           time.Duration // of what is given out; an hour when it is 0
	Unsaid         bool          // for how long it is good is not said
	Error          string        // that every request is answered with; empty for none
	Describe       string        // what goes with Error
}

// Exchanges says how tokens are exchanged from now on.
func (i *Issuer) Exchanges(e Exchange) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.exchange = e
}

// exchanges answers a request for a token in somebody's name.
func (i *Issuer) exchanges(w http.ResponseWriter, r *http.Request) {
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
		refuse(http.StatusBadRequest, e.Error, e.Describe)
		return
	case r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" ||
		r.PostFormValue("subject_token_type") != "urn:ietf:params:oauth:token-type:access_token":
		refuse(http.StatusBadRequest, "unsupported_grant_type", "only tokens are exchanged")
		return
	}
	claims := jwt.MapClaims{}
	if _, err := jwt.ParseWithClaims(r.PostFormValue("subject_token"), claims, i.keyOf, jwt.WithIssuer(i.URL),
		jwt.WithExpirationRequired()); err != nil {
		refuse(http.StatusBadRequest, "invalid_grant", "the subject token is not good")
		return
	}
	life := e.Life
	if life == 0 {
		life = time.Hour
	}
	now := time.Now()
	given := map[string]any{
		"access_token": i.Token(r.PostFormValue("audience"), map[string]any{
			"sub": claims["sub"], "scope": r.PostFormValue("scope"), "exp": now.Add(life).Unix() + 1,
			"act": map[string]any{"sub": id}, "jti": n,
		}),
		"issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer",
		"expires_in": life.Seconds(),
	}
	if e.Unsaid {
		delete(given, "expires_in")
	}
	json.NewEncoder(w).Encode(given)
}

// credentials are those of a client, which is written as the value of a form first. RFC 6749,
// section 2.3.1.
func credentials(r *http.Request) (id, secret string) {
	id, secret, _ = r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	return id, secret
}

// Read are the claims of a token that this issuer has signed for an audience, and that is good; nil
// for any other.
func (i *Issuer) Read(token, audience string) jwt.MapClaims {
	claims := jwt.MapClaims{}
	if _, err := jwt.ParseWithClaims(token, claims, i.keyOf, jwt.WithIssuer(i.URL), jwt.WithAudience(audience),
		jwt.WithExpirationRequired()); err != nil {
		return nil
	}
	return claims
}

func (i *Issuer) keyOf(*jwt.Token) (any, error) { return i.Key().Private.Public(), nil }
