package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"hatchel/hcl"
	"hatchel/runtime/auth"
	"hatchel/runtime/auth/issuertest"
)

func TestMetadata(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.RequiredScopes = []string{"tools"}
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	named := source
	named.Audience = "the tools"
	plain, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&named}})
	for _, x := range []struct {
		c          *auth.Callers
		path, want string
	}{
		{c, "/.well-known/oauth-protected-resource", audience},
		{c, "/.well-known/oauth-protected-resource/mcp", audience},
		{c, "/.well-known/oauth-protected-resource/mcp/billing", audience},
		{c, "/.well-known/oauth-protected-resource/other", ""},
		{c, "/.well-known/other", ""},
		{plain, "/.well-known/oauth-protected-resource", "http://here.example:81/mcp"},
		{plain, "/.well-known/oauth-protected-resource/mcp/billing", "http://here.example:81/mcp/billing"},
	} {
		b, ok := x.c.Metadata(httptest.NewRequest(http.MethodGet, "http://here.example:81"+x.path, nil))
		if ok != (x.want != "") {
			t.Errorf("%s: %t", x.path, ok)
		}
		var said struct {
			Resource string   `json:"resource"`
			Issuers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		if ok && (json.Unmarshal(b, &said) != nil || said.Resource != x.want || !slices.Equal(said.Issuers, []string{i.URL}) || !slices.Equal(said.Scopes, []string{"tools"}) || !slices.Equal(said.Methods, []string{"header"})) {
			t.Errorf("%s: %s", x.path, b)
		}
	}
	keys, _ := knowing(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci"}}})
	if _, ok := keys.Metadata(httptest.NewRequest(http.MethodGet, "/.well-known/oauth-protected-resource", nil)); ok {
		t.Error("there is metadata although there is no issuer")
	}
}

func TestChallengeHasNoForgedHost(t *testing.T) {
	i := issuertest.Open(t)
	source := trusting(i)
	source.Audience = "the tools"
	c, _ := knowing(t, &hcl.Auth{Issuers: []*hcl.JWT{&source}})
	r := request()
	r.Host = `x", evil="y`
	if _, refused := asked(c, r); strings.Contains(refused, "evil") {
		t.Error(refused)
	}
}
