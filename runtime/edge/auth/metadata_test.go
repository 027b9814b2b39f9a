package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/auth/issuertest"
)

func TestMetadata(t *testing.T) {
	i := issuertest.Open(t)
	declared := trusting(i)
	declared.RequiredScopes = []string{"tools"}
	withURL, _ := authenticatorFor(t, declared)
	declared.Audience = "the tools"
	withName, _ := authenticatorFor(t, declared)
	metadata := func(c *auth.Authenticator, path string) ([]byte, bool) {
		return c.Metadata(httptest.NewRequest(http.MethodGet, "http://here.example:81"+path, nil))
	}
	const root = "/.well-known/oauth-protected-resource"
	for name, x := range map[string]struct {
		c              *auth.Authenticator
		path, resource string
	}{
		"at the root":                        {withURL, root, audience},
		"of the endpoint":                    {withURL, root + "/mcp", audience},
		"of a toolset":                       {withURL, root + "/mcp/billing", audience},
		"when the audience is not a URL":     {withName, root, "http://here.example:81/mcp"},
		"of a toolset, when it is not a URL": {withName, root + "/mcp/billing", "http://here.example:81/mcp/billing"},
	} {
		t.Run(name, func(t *testing.T) {
			b, ok := metadata(x.c, x.path)
			var got struct {
				Resource string   `json:"resource"`
				Issuers  []string `json:"authorization_servers"`
				Scopes   []string `json:"scopes_supported"`
				Methods  []string `json:"bearer_methods_supported"`
			}
			if !ok || json.Unmarshal(b, &got) != nil || got.Resource != x.resource {
				t.Fatalf("got %s, want the resource %s", b, x.resource)
			}
			if !slices.Equal(got.Issuers, []string{i.URL}) || !slices.Equal(got.Scopes, []string{"tools"}) ||
				!slices.Equal(got.Methods, []string{"header"}) {
				t.Errorf("got %s", b)
			}
		})
	}
	keysOnly, _ := newAuthenticator(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci"}}})
	for name, x := range map[string]struct {
		c    *auth.Authenticator
		path string
	}{
		"no document at another path":            {withURL, root + "/other"},
		"no document at another well-known path": {withURL, "/.well-known/other"},
		"no document without an issuer":          {keysOnly, root},
	} {
		t.Run(name, func(t *testing.T) {
			if b, ok := metadata(x.c, x.path); ok {
				t.Errorf("got %s", b)
			}
		})
	}
}

func TestChallengeHasNoForgedHost(t *testing.T) {
	i := issuertest.Open(t)
	declared := trusting(i)
	declared.Audience = "the tools"
	c, _ := authenticatorFor(t, declared)
	r := request()
	r.Host = `x", evil="y`
	if challenge := refuse(t, c, r, "401"); strings.Contains(challenge, "evil") {
		t.Error(challenge)
	}
}
