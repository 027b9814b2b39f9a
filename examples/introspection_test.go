package examples_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime/edge/auth/issuertest"
)

// tokenFor returns an access token of a client for a resource.
func tokenFor(t *testing.T, issuer, client, resource string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {"read"}}
	req, err := http.NewRequest(http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(client, "0123456789abcdef")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var response struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&response); err != nil || response.Token == "" {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return response.Token
}

// A provider that others have written says which of its opaque tokens are for this server.
func TestOpaqueTokensOfOthersAreIntrospected(t *testing.T) {
	t.Parallel()
	client := func(id string) map[string]any {
		return map[string]any{
			"client_id": id, "client_secret": "0123456789abcdef", "redirect_uris": []string{}, "scope": "read",
			"response_types": []string{}, "grant_types": []string{"client_credentials"},
		}
	}
	issuer := issuertest.OpenNPM(t, []any{client("agent"), client("hatchel")}, issuertest.NPMSettings{Opaque: true}).URL
	f := &folder{t: t, path: t.TempDir(), env: []string{"INTROSPECTION=0123456789abcdef"}}
	f.write("main.hcl", `
secret "introspection" { env = "INTROSPECTION" }
auth {
  introspection {
    url             = "`+issuer+`/token/introspection"
    client_id       = "hatchel"
    client_secret   = secret.introspection
    audience        = "https://tools.example/mcp"
    subject_claim   = "client_id"
    required_scopes = ["read"]
  }
}
tool "who" {
  description = "Who calls."
  text        = "${caller.subject} has ${join(",", caller.scopes)}"
}
`)
	if out, err := f.command("validate", "--connect", ".").CombinedOutput(); err != nil {
		t.Errorf("%v, %s", err, out)
	}
	s := f.serve()
	own := tokenFor(t, issuer, "agent", "https://tools.example/mcp")
	if strings.Contains(own, ".") {
		t.Fatalf("the token %s is not opaque", own)
	}
	if resp, text := s.invoke("who", "Authorization", "Bearer "+own); resp.StatusCode != 200 || !strings.Contains(text, "agent has read") {
		t.Errorf("%s, %s", resp.Status, text)
	}
	for name, text := range map[string]string{
		"foreign": tokenFor(t, issuer, "agent", "https://other.example/mcp"), "unknown": strings.Repeat("x", len(own)),
		"changed": own + "x",
	} {
		resp, answer := s.invoke("who", "Authorization", "Bearer "+text)
		if challenge := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 || !strings.Contains(challenge, "invalid_token") {
			t.Errorf("%s: %s, %s, %s", name, resp.Status, challenge, answer)
		}
	}
}
