package signin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// registered is the response to a registration.
type registered struct {
	status int
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
	Error  string `json:"error"`
	Text   string `json:"error_description"`
}

func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// register registers a client.
func (r *rig) register(body string) *registered {
	r.t.Helper()
	resp, err := http.Post(r.url+"/oauth/register", "application/json", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	out := &registered{status: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// get returns the members of a document.
func (r *rig) get(path string, header http.Header) (int, map[string]any) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), "GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header = header
	if host := header.Get("Host"); host != "" {
		q.Host = host
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	var out map[string]any
	json.Unmarshal(text, &out)
	return resp.StatusCode, out
}

// TestTheMetadataIsThatOfTheDeclaredURL asks under several names, and with and without the parts that add to it.
func TestTheMetadataIsThatOfTheDeclaredURL(t *testing.T) {
	const path = "/.well-known/oauth-authorization-server"
	r := openRig(t, declared, "")
	for _, host := range []string{"", "127.0.0.1:1", "localhost"} {
		status, m := r.get(path, http.Header{"Host": {host}, "X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"https"}})
		if status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		for name, v := range m {
			text, isText := v.(string)
			if isText && name != "hatchel_client_id" && !strings.HasPrefix(text, r.url) {
				t.Errorf("%s is %q", name, text)
			}
		}
		if m["issuer"] != r.url || m["authorization_response_iss_parameter_supported"] != true ||
			m["client_id_metadata_document_supported"] != false {
			t.Errorf("the metadata is %v", m)
		}
	}
	_, m := r.get(path, nil)
	if m["registration_endpoint"] != nil || m["authorization_grant_profiles_supported"] != nil || m["scopes_supported"] != nil {
		t.Errorf("the metadata has what is not declared: %v", m)
	}
	r.load(`documents = ["claude.ai"]
register { redirects = ["loopback"] }
scope "invoices:pay" { description = "Pay invoices in your name" }
assertions { clients = ["https://claude.ai/oauth/metadata"] }
`, "")
	_, m = r.get(path, nil)
	want := map[string]string{
		"registration_endpoint":                  `"` + r.url + `/oauth/register"`,
		"client_id_metadata_document_supported":  "true",
		"scopes_supported":                       `["invoices:pay"]`,
		"code_challenge_methods_supported":       `["S256"]`,
		"authorization_grant_profiles_supported": `["urn:ietf:params:oauth:grant-profile:id-jag"]`,
		"response_types_supported":               `["code"]`,
		"grant_types_supported":                  `["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:jwt-bearer"]`,
		"token_endpoint_auth_methods_supported":  `["none","client_secret_basic","client_secret_post","private_key_jwt"]`,
	}
	for name, text := range want {
		if got, _ := json.Marshal(m[name]); string(got) != text {
			t.Errorf("%s is %s", name, got)
		}
	}
	if status, _ := r.get("/.well-known/openid-configuration", nil); status != http.StatusNotFound {
		t.Errorf("the metadata of an OpenID provider is answered with %d", status)
	}
	if _, keys := r.get("/oauth/jwks", nil); len(keys["keys"].([]any)) == 0 || strings.Contains(quote(keyText(keys)), `\"d\"`) {
		t.Errorf("the keys are %v", keys)
	}
	_, resource := r.get("/.well-known/oauth-protected-resource/mcp", nil)
	if servers, _ := json.Marshal(resource["authorization_servers"]); string(servers) != `["`+r.url+`"]` {
		t.Errorf("the metadata of the resource names %s", servers)
	}
}

func keyText(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// TestPagesOfAllSitesMayUseWhatNeedsNoCookie asks as browsers do before requests of other sites.
func TestPagesOfAllSitesMayUseWhatNeedsNoCookie(t *testing.T) {
	r := openRig(t, declared+"register { redirects = [\"loopback\"] }\n", "")
	for path, shared := range map[string]bool{
		"/.well-known/oauth-authorization-server": true, "/oauth/jwks": true, "/oauth/token": true, "/oauth/register": true,
		"/oauth/revoke": true, "/oauth/authorize": false, "/oauth/consent": false, "/oauth/callback": false,
	} {
		b := newBrowser(t)
		b.header = http.Header{"Origin": {"https://inspector.example"}, "Access-Control-Request-Method": {"POST"}}
		p := b.send("OPTIONS", r.url+path, nil)
		if got := p.header.Get("Access-Control-Allow-Origin"); (got == "*") != shared || (p.status == http.StatusNoContent) != shared {
			t.Errorf("%s: %d allows %q", path, p.status, got)
		}
		if p.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s allows credentials", path)
		}
	}
}

// TestErrorsOfARequestForAuthorizationLeadBackToTheProgram sends every wrong parameter.
func TestErrorsOfARequestForAuthorizationLeadBackToTheProgram(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	for _, c := range []struct {
		code  string
		pairs []string
	}{
		{"invalid_request", []string{"response_type", ""}},
		{"unsupported_response_type", []string{"response_type", "token"}},
		{"unsupported_response_type", []string{"response_type", "code token"}},
		{"invalid_request", []string{"code_challenge", ""}},
		{"invalid_request", []string{"code_challenge_method", ""}},
		{"invalid_request", []string{"code_challenge_method", "plain"}},
		{"invalid_request", []string{"code_challenge", "short"}},
		{"invalid_request", []string{"response_mode", "fragment"}},
		{"invalid_target", []string{"resource", "https://other.example/mcp"}},
		{"invalid_target", []string{"resource", r.url}},
		{"invalid_target", []string{"resource", r.url + "/mcp/none"}},
		{"invalid_target", []string{"resource", r.url + "/mcp#f"}},
		{"invalid_target", []string{"resource", r.url + "/mcp?x"}},
		{"invalid_target", []string{"resource", "mcp"}},
		{"consent_required", []string{"prompt", "none"}},
		{"request_not_supported", []string{"request", "x.y.z"}},
		{"request_uri_not_supported", []string{"request_uri", "urn:x"}},
		{"invalid_request", []string{"state", strings.Repeat("s", 5000)}},
		{"invalid_request", []string{"state", "\xff\xfe"}}, // which would come back as another one
	} {
		got := newBrowser(t).send("GET", p.request(c.pairs...), nil)
		q := mustQuery(t, got.location)
		if got.status != http.StatusFound || !strings.HasPrefix(got.location, inspector+"?") || q.Get("error") != c.code ||
			q.Get("iss") != r.url || q.Get("state") == "" || len(got.header["Set-Cookie"]) > 0 {
			t.Errorf("%v: %d leads to %q", c.pairs, got.status, got.location)
		}
	}
	for _, extra := range []string{"&scope=a&scope=b", "&unknown=1&unknown=2", "&code_challenge_method=plain"} {
		if got := newBrowser(t).send("GET", p.request()+extra, nil); mustQuery(t, got.location).Get("error") != "invalid_request" {
			t.Errorf("%s: %d leads to %q", extra, got.status, got.location)
		}
	}
	two := p.request() + "&resource=" + url.QueryEscape(r.url+"/mcp") + "&resource=" + url.QueryEscape("https://x.example")
	if got := newBrowser(t).send("GET", two, nil); mustQuery(t, got.location).Get("error") != "invalid_target" {
		t.Errorf("two resources lead to %q", got.location)
	}
	for _, ok := range [][]string{
		{"resource", r.url + "/mcp"}, {"resource", r.url + "/mcp/"}, {"resource", strings.ToUpper(r.url[:4]) + r.url[4:] + "/mcp"},
		{"ui_locales", "de"}, {"nonce", "n"}, {"state", ""}, {"scope", "openid unknown:scope"}, {"response_mode", "query"},
	} {
		if got := newBrowser(t).send("GET", p.request(ok...), nil); got.form() == "" {
			t.Errorf("%v: %d %s leads to %q", ok, got.status, got.says(), got.location)
		}
	}
	form := mustQuery(t, p.request())
	if got := newBrowser(t).send("POST", r.url+"/oauth/authorize", form); got.form() == "" {
		t.Errorf("a request as a form: %d %s", got.status, got.says())
	}
}

// TestACodeIsBoundToItsProgram redeems codes with each wrong part, and twice.
func TestACodeIsBoundToItsProgram(t *testing.T) {
	r := openRig(t, declared+"client \"other\" { redirects = [\"http://localhost:6274/oauth/callback\"] }\n", "")
	p := r.program("inspector", inspector)
	code := p.code("resource", r.url+"/mcp")
	for _, c := range []struct {
		want  string
		pairs []string
	}{
		{"invalid_grant", []string{"code_verifier", strings.Repeat("x", 43)}},
		{"invalid_request", []string{"code_verifier", ""}},
		{"invalid_request", []string{"code_verifier", strings.Repeat("x", 42)}},
		{"invalid_request", []string{"code_verifier", strings.Repeat("x", 129)}},
		{"invalid_request", []string{"code_verifier", strings.Repeat("x", 43) + "+"}},
		{"invalid_grant", []string{"redirect_uri", inspector + "/other"}},
		{"invalid_grant", []string{"redirect_uri", "http://localhost:1/oauth/callback"}},
		{"invalid_grant", []string{"client_id", "other"}},
		{"invalid_client", []string{"client_id", ""}},
		{"invalid_target", []string{"resource", "https://other.example/mcp"}},
		{"invalid_grant", []string{"code", flip(code)}},
		{"invalid_request", []string{"code", ""}},
		{"unsupported_grant_type", []string{"grant_type", "password"}},
		{"unsupported_grant_type", []string{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}},
		{"invalid_request", []string{"grant_type", ""}},
	} {
		form := url.Values{
			"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {inspector}, "client_id": {"inspector"},
			"code_verifier": {p.verifier},
		}
		form.Set(c.pairs[0], c.pairs[1])
		var pairs []string
		for name := range form {
			pairs = append(pairs, name, form.Get(name))
		}
		if a := r.post("/oauth/token", pairs...); a.Error != c.want || a.Access != "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v gives %d %+v", c.pairs, a.status, a)
		}
	}
	first := p.redeem(code)
	if first.status != http.StatusOK {
		t.Fatalf("after all attempts the code gives %+v", first)
	}
	if again := p.redeem(code); again.Error != "invalid_grant" ||
		again.Text != "the code was used before; all sessions of this sign-in have ended" {
		t.Errorf("the code gives for the second time %+v", again)
	}
	if status, _ := r.call("/mcp", first.Access); status != http.StatusUnauthorized {
		t.Errorf("the token of a code that was used twice is answered with %d", status)
	}
	if a := p.refresh(first.Refresh); a.Error != "invalid_grant" {
		t.Errorf("its refresh token gives %+v", a)
	}
	if records := r.records(); !slices.Contains(records, "replayed inspector ada ") {
		t.Errorf("the audit log has\n%s", strings.Join(records, "\n"))
	}
}

// TestARefreshTokenIsBoundToItsProgram refreshes with each wrong part.
func TestARefreshTokenIsBoundToItsProgram(t *testing.T) {
	r := openRig(t, declared+`client "other" { redirects = ["http://localhost:6274/oauth/callback"] }
scope "pay" { description = "Pay" }
scope "board" {
  description = "Vote"
  allow       = "'board' in caller.groups"
}
`, "")
	p := r.program("inspector", inspector)
	first := p.signIn("scope", "pay board openid")
	if first.Scope != "pay" {
		t.Errorf("the scopes are %q", first.Scope)
	}
	for _, c := range []struct {
		want  string
		pairs []string
	}{
		{"invalid_grant", []string{"client_id", "other", "refresh_token", first.Refresh}},
		{"invalid_target", []string{"client_id", "inspector", "refresh_token", first.Refresh, "resource", "https://x.example"}},
		{"invalid_scope", []string{"client_id", "inspector", "refresh_token", first.Refresh, "scope", "pay board"}},
		{"invalid_grant", []string{"client_id", "inspector", "refresh_token", flip(first.Refresh)}},
		{"invalid_request", []string{"client_id", "inspector"}},
	} {
		if a := r.post("/oauth/token", append([]string{"grant_type", "refresh_token"}, c.pairs...)...); a.Error != c.want {
			t.Errorf("%v gives %+v", c.pairs, a)
		}
	}
	// Programs send all scopes that they have asked for, also those that no block has.
	next := p.refresh(first.Refresh, "scope", "pay openid offline_access")
	if next.status != http.StatusOK || next.Scope != "pay" {
		t.Errorf("the refresh gives %+v", next)
	}
}

// TestATokenIsForItsToolset asks for a token of one toolset.
func TestATokenIsForItsToolset(t *testing.T) {
	r := openRig(t, declared, "toolset \"few\" { tools = [\"who\"] }\ntoolset \"other\" { tools = [\"who\"] }\n")
	p := r.program("inspector", inspector)
	for resource, all := range map[string]bool{r.url + "/mcp": true, r.url + "/mcp/few": false} {
		page := newBrowser(t).send("GET", p.request("resource", resource), nil)
		if says := strings.Contains(page.text, "such as deciding approvals"); says != all {
			t.Errorf("%s: the consent page speaks of more than tools: %t", resource, says)
		}
	}
	a := p.signIn("resource", r.url+"/mcp/few")
	for path, want := range map[string]int{"/mcp/few": 200, "/mcp/other": 401, "/mcp": 401} {
		if status, text := r.call(path, a.Access); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	r.mustCall(p.signIn().Access, "ada")
}

// TestAResourceHasManySpellings asks for tokens of another server and of this one at the default port, as programs
// spell them.
func TestAResourceHasManySpellings(t *testing.T) {
	r := openRig(t, declared, "")
	r.url = "http://localhost"
	r.load(declared+`resources = ["https://other.example/mcp/", "https://third.example/mcp?tenant=1"]`, "")
	for asked, ok := range map[string]bool{
		"http://localhost/mcp": true, "http://localhost:80/mcp": true, "HTTP://LOCALHOST/mcp/": true,
		"https://other.example/mcp": true, "https://Other.example:443/mcp/": true, "https://third.example/mcp?tenant=1": true,
		"http://localhost:443/mcp": false, "http://localhost/MCP": false, "http://localhost/mcp?tenant=1": false,
		"https://third.example/mcp": false, "https://other.example/mcp/few": false, "https://other.example:80/mcp": false,
	} {
		address, err := url.Parse(r.program("inspector", inspector).request("resource", asked))
		if err != nil {
			t.Fatal(err)
		}
		if w := r.ask("192.0.2.1", "GET", address.RequestURI(), ""); (w.Code == http.StatusOK) != ok {
			t.Errorf("%s is answered with %d", asked, w.Code)
		}
	}
}

// TestAnAddedScopeKeepsTheOthers lacks a scope: the answer names those that the program asks for, so that it does not
// lose what it has.
func TestAnAddedScopeKeepsTheOthers(t *testing.T) {
	r := openRig(t, declared+"scope \"read\" { description = \"Read\" }\nscope \"pay\" { description = \"Pay\" }\n",
		"tool \"pay\" {\n  description = \"Pay.\"\n  scopes = [\"pay\"]\n  text = \"paid\"\n}\n")
	p := r.program("inspector", inspector)
	challenge := r.challenge("pay", p.signIn("scope", "read").Access)
	if !strings.Contains(challenge, `scope="read pay"`) {
		t.Fatalf("the challenge is %s", challenge)
	}
	if again := p.signIn("scope", "read pay"); again.Scope != "read pay" || r.challenge("pay", again.Access) != "" {
		t.Errorf("the scopes of the next sign-in are %q", again.Scope)
	}
}
