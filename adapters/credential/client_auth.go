package credential

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// OAuthClient authenticates to a token endpoint. It is immutable and may be used concurrently.
type OAuthClient struct {
	auth   *hcl.ClientAuth
	key    *ClientKey // nil without key, and where no secret is read
	file   string     // the absolute path of assertion_file
	mocked bool       // assertions are a fixed text
}

// OpenClient returns the client. It parses the key and its certificate, and does not read assertion_file. Its error is
// for the author, and has nothing of the key.
func OpenClient(c *hcl.ClientAuth, env adapters.Env) (*OAuthClient, error) {
	client := &OAuthClient{auth: c, file: adapters.Absolute(env.Dir, c.AssertionFile)}
	client.mocked = env.Mocks != nil && !env.Mocks.Live(false)
	if c.Written() != hcl.ArgKey || client.mocked || env.Inspect {
		return client, nil
	}
	k, err := ParseClientKey(c.Key.Reveal())
	if err != nil {
		return nil, hcl.Blame(&c.Key, "The key %v.", err)
	}
	if k, err = k.WithID(c.KeyID).WithAlgorithm(c.KeyAlgorithm); err != nil {
		return nil, hcl.Blame(&c.KeyAlgorithm, "The key %v.", err)
	}
	if c.Certificate != "" {
		text, err := os.ReadFile(adapters.Absolute(env.Dir, c.Certificate))
		if err != nil {
			return nil, hcl.Blame(&c.Certificate, "%q cannot be read.", c.Certificate)
		}
		if k, err = k.WithCertificate(text); err != nil {
			return nil, hcl.Blame(&c.Certificate, "The certificate in %q %v.", c.Certificate, err)
		}
	}
	client.key = k
	return client, nil
}

// Authenticate adds the credential of the client to the form and the header of a request to a token endpoint, and
// returns the secrets that they then have.
func (c *OAuthClient) Authenticate(form url.Values, header http.Header, tokenURL string) (secrets []string, err error) {
	id, secret := c.auth.ID.Reveal(), c.auth.Secret.Reveal()
	switch {
	case c.auth.HasAssertion():
		text, err := c.assertion(tokenURL)
		if err != nil {
			return nil, err
		}
		form.Set("client_id", id)
		form.Set("client_assertion_type", cmp.Or(c.auth.AssertionType, hcl.JWTBearer))
		form.Set("client_assertion", text)
		return []string{text}, nil
	case c.auth.Method == hcl.AuthBody:
		form.Set("client_id", id)
		form.Set("client_secret", secret)
		return []string{secret, url.QueryEscape(secret)}, nil
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
	header.Set("Authorization", "Basic "+encoded)
	return []string{secret, url.QueryEscape(secret), encoded}, nil
}

// mockedAssertion is the assertion that mocks of a token endpoint get.
const mockedAssertion = "test-assertion"

// assertion returns an assertion about the client.
func (c *OAuthClient) assertion(tokenURL string) (string, error) {
	switch {
	case c.mocked:
		return mockedAssertion, nil
	case c.auth.Written() == hcl.ArgAssertionFile:
		raw, err := ReadFile("the assertion file", c.file)
		if err != nil {
			return "", err
		}
		return CheckToken("the assertion file "+c.file, string(raw))
	}
	return c.key.Assertion(c.auth.ID.Reveal(), cmp.Or(c.auth.AssertionAudience, tokenURL), time.Now())
}
