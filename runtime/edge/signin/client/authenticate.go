package client

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hatchel/runtime/edge/auth/issuer"
)

// The methods by which clients authenticate to the token endpoint (RFC 7591, section 2).
const (
	methodNone   = "none"
	methodBasic  = "client_secret_basic"
	methodPost   = "client_secret_post"
	methodKey    = "private_key_jwt"
	methodSecret = "client_secret" // of a client that may use methodBasic and methodPost
)

var (
	// AuthMethods are the methods for the metadata of the server.
	AuthMethods = []string{methodNone, methodBasic, methodPost, methodKey}
	// AuthAlgorithms are the algorithms of assertions of clients.
	AuthAlgorithms = []string{
		"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
	}
)

// assertionType is the only type of assertions that authenticate clients (RFC 7523, section 2.2).
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// Error is why a client is not authenticated, as OAuth has it (RFC 6749, section 5.2). Its Text is a sentence without a
// full stop for the developer of the client.
type Error struct {
	Status int
	Code   string
	Text   string
	Basic  bool // the client has used HTTP Basic, so that the response names that scheme
}

func (e *Error) Error() string { return e.Code + ": " + e.Text }

func invalidRequest(text string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_request", Text: text}
}

// credential is what a request has to name and authenticate its client.
type credential struct {
	id        string
	secret    string // of Basic or of the form
	unencoded string // the secret of Basic as it was sent: some clients do not encode it as in a form
	assertion string
	basic     bool
}

func (c *credential) fail(text string) *Error {
	return &Error{Status: http.StatusUnauthorized, Code: "invalid_client", Text: text, Basic: c.basic}
}

// IDOf returns the id of the client that a request to the token endpoint names, whose form was parsed: in the form, in
// HTTP Basic, or as the subject of its assertion. Nothing of it is verified.
func IDOf(r *http.Request) (string, *Error) {
	c, err := credentialOf(r)
	if err != nil {
		return "", err
	}
	return c.id, nil
}

// credentialOf reads the credential of a request, which may have one (RFC 6749, section 2.3).
func credentialOf(r *http.Request) (*credential, *Error) {
	c := &credential{}
	for _, name := range []string{"client_id", "client_secret", "client_assertion", "client_assertion_type"} {
		if len(r.PostForm[name]) > 1 {
			return nil, invalidRequest(name + " appears more than once")
		}
		if r.URL.Query().Has(name) {
			return nil, invalidRequest(name + " belongs into the body of the request")
		}
	}
	headers := r.Header["Authorization"]
	if len(headers) > 1 {
		return nil, invalidRequest("the request has more than one Authorization header")
	}
	c.id, c.secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	c.assertion = r.PostForm.Get("client_assertion")
	if len(headers) == 1 {
		if err := c.readBasic(headers[0]); err != nil {
			return nil, err
		}
	}
	if c.assertion == "" && r.PostForm.Get("client_assertion_type") == "" { // an empty parameter is none
		if c.id == "" {
			return nil, c.fail("the request names no client: client_id is missing")
		}
		return c, nil
	}
	switch {
	case r.PostForm.Get("client_assertion_type") != assertionType:
		return nil, c.fail("client_assertion_type must be " + assertionType)
	case c.secret != "" || c.basic:
		return nil, invalidRequest("the request has more than one credential of a client")
	}
	token, _, err := issuer.Parse(c.assertion)
	if err != nil {
		return nil, c.fail("client_assertion is no JSON Web Token")
	}
	switch subject, err := token.Claims.GetSubject(); {
	case err != nil || subject == "":
		return nil, c.fail("client_assertion has no sub")
	case c.id == "":
		c.id = subject
	case c.id != subject:
		return nil, c.fail("client_id is not the sub of client_assertion")
	}
	return c, nil
}

// readBasic reads an Authorization header. Id and secret are encoded as in a form before they are put together.
func (c *credential) readBasic(header string) *Error {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return invalidRequest("the Authorization header of this endpoint has the scheme Basic")
	}
	c.basic = true
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	id, sent, found := strings.Cut(string(plain), ":")
	if err != nil || !found {
		return c.fail("the Authorization header is not valid")
	}
	id, err = url.QueryUnescape(id)
	secret, notEncoded := url.QueryUnescape(sent)
	if notEncoded != nil {
		secret = sent
	}
	switch {
	case err != nil:
		return c.fail("the Authorization header is not valid: id and secret are encoded as in a form")
	case c.id != "" && c.id != id:
		return invalidRequest("client_id is not the one of the Authorization header")
	case c.secret != "":
		return invalidRequest("the request has more than one credential of a client")
	}
	c.id, c.secret, c.unencoded = id, secret, sent
	return nil
}

// Use records that a token was used, and reports whether that is the first time. It may be forgotten at until.
type Use func(ctx context.Context, token string, until time.Time) (first bool, err error)

// Authenticate verifies that a request to the token endpoint, whose form was parsed, comes from a client. A client
// without a credential is who it says it is. It calls use for an assertion that is valid.
func (c *Clients) Authenticate(ctx context.Context, client *Client, r *http.Request, use Use) *Error {
	given, err := credentialOf(r)
	switch {
	case err != nil:
		return err
	case given.id != client.ID:
		return given.fail("the client is another one than that of the request for authorization")
	}
	switch client.method {
	case methodSecret:
		want := client.secret.Reveal()
		if !isSecret(want, given.secret) && !isSecret(want, given.unencoded) {
			return given.fail("the secret of the client is missing or wrong; it is client_secret or that of HTTP Basic")
		}
		return nil
	case methodKey:
		if given.assertion == "" {
			return given.fail("the client authenticates with client_assertion (" + methodKey + ")")
		}
		return c.verifyAssertion(ctx, client, given, use)
	}
	if given.secret != "" || given.assertion != "" {
		return given.fail("the client has no credential; its token_endpoint_auth_method is " + methodNone)
	}
	return nil
}

// isSecret compares secrets in constant time. An empty one, which is a secret that was not read, is none.
func isSecret(want, given string) bool {
	a, b := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}
