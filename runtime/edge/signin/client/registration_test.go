package client_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"hatchel/hcl"
	"hatchel/internal/redirect"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/signin/client"
)

// response is the response to a registration.
type response struct {
	ID          string   `json:"client_id"`
	Secret      *string  `json:"client_secret"`
	Issued      int64    `json:"client_id_issued_at"`
	Name        string   `json:"client_name"`
	Redirects   []string `json:"redirect_uris"`
	GrantTypes  []string `json:"grant_types"`
	Responses   []string `json:"response_types"`
	Method      string   `json:"token_endpoint_auth_method"`
	Error       string   `json:"error"`
	Description string   `json:"error_description"`
}

func register(t *testing.T, clients *client.Clients, body string) (status int, r response) {
	t.Helper()
	status, text := clients.Register([]byte(body))
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return status, r
}

// TestAClientRegistersItself sends what programs send.
func TestAClientRegistersItself(t *testing.T) {
	clients := newClients(t, declaration(), nil)
	for name, c := range map[string]struct {
		body      string
		redirects []string
	}{
		"Claude Code": {`{"client_name":"Claude Code (tools)","redirect_uris":["http://localhost:54545/callback"],
			"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`,
			[]string{"http://localhost:54545/callback"}},
		"a client that asks for a secret": {`{"client_name":"Claude","redirect_uris":["https://claude.ai/api/mcp/auth_callback"],
			"token_endpoint_auth_method":"client_secret_post","scope":"claudeai"}`, []string{"https://claude.ai/api/mcp/auth_callback"}},
		"Cursor, with three kinds": {`{"client_name":"Cursor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback",
			"https://www.cursor.com/agents/mcp/oauth/callback","http://localhost:8787/callback"]}`,
			[]string{"cursor://anysphere.cursor-mcp/oauth/callback", "http://localhost:8787/callback"}},
		"VS Code, with several ports": {`{"client_name":"Visual Studio Code","redirect_uris":["https://vscode.dev/redirect",
			"http://localhost/","http://127.0.0.1/","http://localhost:33418/","http://127.0.0.1:33418/","http://127.0.0.1:33418",
			"http://[::1]:33418/","http://[::1]/"]}`, []string{"http://localhost/", "http://127.0.0.1/", "http://localhost:33418/",
			"http://127.0.0.1:33418/", "http://127.0.0.1:33418", "http://[::1]:33418/", "http://[::1]/"}},
		"one twice": {`{"redirect_uris":["http://[::1]:1/","http://[::1]:1/"],"client_name":null,"grant_types":[],"response_types":[],"jwks":{"keys":[]},"contacts":["a"]}`,
			[]string{"http://[::1]:1/"}},
	} {
		status, r := register(t, clients, c.body)
		if status != 201 || r.ID == "" || len(r.ID) > 2048 || r.Secret != nil || r.Method != "none" || r.Issued == 0 ||
			!slices.Equal(r.Redirects, c.redirects) || !slices.Equal(r.Responses, []string{"code"}) ||
			!slices.Equal(r.GrantTypes, []string{"authorization_code", "refresh_token"}) {
			t.Errorf("%s: %d, %+v", name, status, r)
		}
		found, err := clients.Find(t.Context(), r.ID, "192.0.2.1")
		if err != nil || found.Kind != client.Registered || found.Name != r.Name || found.IsConfidential() ||
			slices.ContainsFunc(r.Redirects, func(uri string) bool { return !found.AcceptsRedirect(uri) }) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestARegistrationIsRefusedWithAReason(t *testing.T) {
	clients := newClients(t, declaration(), nil)
	loopback := func(n int, path string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"http://localhost/%d/%s"`, i+1, path))
		}
		return `{"redirect_uris":[` + strings.Join(all, ",") + `]}`
	}
	for body, want := range map[string]string{
		"":                             "invalid_client_metadata: the metadata is not a JSON object",
		"null":                         "invalid_client_metadata: the metadata is not a JSON object",
		`["http://localhost/"]`:        "invalid_client_metadata: the metadata is not a JSON object",
		`{"redirect_uris":`:            "invalid_client_metadata: the metadata is not valid JSON",
		`{"client_name":1}`:            "invalid_client_metadata: client_name has the wrong type",
		`{}`:                           "invalid_redirect_uri: redirect_uris is missing or empty",
		`{"redirect_uris":[]}`:         "invalid_redirect_uri: redirect_uris is missing or empty",
		`{"redirect_uris":null}`:       "invalid_redirect_uri: redirect_uris is missing or empty",
		`{"redirect_uris":[{}]}`:       "invalid_client_metadata: redirect_uris has the wrong type",
		`{"redirect_uris":["\u0000"]}`: "invalid_redirect_uri: no address of redirect_uris is admitted: <U+0000> (it has a space",
		`{"redirect_uris":["http://localhost/"],"redirect_uris":["https://evil.example/"]}`: "invalid_client_metadata",
		`{"redirect_uris":["https://evil.example/cb"]}`: "invalid_redirect_uri: no address of redirect_uris is admitted: " +
			"https://evil.example/cb (no entry of register.redirects covers it). The operator of the server declares addresses in " +
			"register.redirects: now loopback, https://claude.ai, cursor://anysphere.cursor-mcp",
		`{"redirect_uris":["javascript:alert(1)"]}`:                                    "its scheme is not one",
		`{"redirect_uris":["http://evil.example/"]}`:                                   "http is accepted for",
		`{"redirect_uris":["https://claude.ai.evil.example/"]}`:                        "no entry",
		`{"redirect_uris":["https://claude.ai@evil.example/"]}`:                        "user name",
		`{"redirect_uris":["https://claude.ai/../x"]}`:                                 "segment",
		`{"redirect_uris":["cursor://evil/cb"]}`:                                       "no entry",
		`{"redirect_uris":["http://localhost/"],"grant_types":["client_credentials"]}`: "grant_types has no authorization_code",
		`{"redirect_uris":["http://localhost/"],"response_types":["token"]}`:           "response_types has no code",
		loopback(6, "cb"):                                  "more than 5 addresses",
		loopback(5, strings.Repeat("a", 400)):              "too long",
		`{"redirect_uris":["https://evil.example/\"\\é"]}`: "percent-encoded",
	} {
		status, r := register(t, clients, body)
		if status != 400 || !strings.Contains(r.Error+": "+r.Description, want) || r.ID != "" {
			t.Errorf("%s: %d %s: %s", body, status, r.Error, r.Description)
		}
		if strings.ContainsFunc(r.Description, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
			t.Errorf("%s: an error_description has no such characters: %q", body, r.Description)
		}
	}
	if status, r := register(t, clients, loopback(5, strings.Repeat("a", 200))); status != 201 || len(r.ID) > 2048 {
		t.Errorf("%d, %+v", status, r)
	}
	off := declaration()
	off.Register = nil
	if status, r := register(t, newClients(t, off, nil), loopback(1, "")); status != 400 || r.Error != "invalid_client_metadata" {
		t.Errorf("%d, %+v", status, r)
	}
}

// TestOnlyWhatTheConfigurationAdmitsNowCounts reloads with other entries, and with another key.
func TestOnlyWhatTheConfigurationAdmitsNowCounts(t *testing.T) {
	_, r := register(t, newClients(t, declaration(), nil),
		`{"client_name":"X","redirect_uris":["http://localhost:1/cb","https://claude.ai/cb"]}`)
	find := func(change func(*hcl.SignIn)) ([]string, error) {
		s := declaration()
		change(s)
		c, err := newClients(t, s, nil).Find(t.Context(), r.ID, "192.0.2.1")
		if err != nil {
			return nil, err
		}
		return c.Redirects, nil
	}
	if got, err := find(func(s *hcl.SignIn) { s.Register.Redirects = []string{"loopback"} }); err != nil ||
		!slices.Equal(got, []string{"http://localhost:1/cb"}) {
		t.Error(got, err)
	}
	if _, err := find(func(s *hcl.SignIn) { s.Register.Redirects = []string{"https://other.example"} }); err == nil ||
		!strings.Contains(textOf(t, err), "does not admit the address") {
		t.Error(err)
	}
	if _, err := find(func(s *hcl.SignIn) { s.Register = nil }); err == nil || !strings.Contains(textOf(t, err), "add it again") {
		t.Error(err)
	}
	otherKey := client.New(t.Context(), declaration(), client.Options{
		Issuers: new(issuer.Issuers), Sealer: sealer{mcp.NewSealer(nil)}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	for id, clients := range map[string]*client.Clients{
		r.ID: otherKey, r.ID[:len(r.ID)-1]: newClients(t, declaration(), nil), r.ID + "A": newClients(t, declaration(), nil),
		"": otherKey, "unknown": otherKey, strings.Repeat("A", 5000): otherKey, " " + r.ID: newClients(t, declaration(), nil),
	} {
		if _, err := clients.Find(t.Context(), id, "192.0.2.1"); err == nil || !strings.Contains(textOf(t, err), "add it again") {
			t.Errorf("%.40q: %v", id, err)
		}
	}
	// What a grant has kept is judged by the configuration of now, too.
	s := declaration()
	if c, err := newClients(t, s, nil).Resume(client.Kept{ID: r.ID, Redirect: "http://localhost:9/cb"}); err != nil || c.ID != r.ID || c.Kind != client.Registered {
		t.Error(c, err)
	}
	s.Register.Redirects = []string{"https://claude.ai"}
	if _, err := newClients(t, s, nil).Resume(client.Kept{ID: r.ID, Redirect: "http://localhost:9/cb"}); err == nil {
		t.Error("an address that is admitted no more is resumed")
	}
	s.Register = nil
	if _, err := newClients(t, s, nil).Resume(client.Kept{ID: r.ID, Redirect: "https://claude.ai/cb"}); err == nil {
		t.Error("a registered client is resumed without registration")
	}
}

// TestRegistrationsTakeNoMemory registers many clients and looks them up.
func TestRegistrationsTakeNoMemory(t *testing.T) {
	clients := newClients(t, declaration(), nil)
	body := []byte(`{"client_name":"X","redirect_uris":["http://localhost:1/cb","https://claude.ai/cb"]}`)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 5_000 {
		if status, text := clients.Register(body); status != 201 {
			t.Fatal(string(text))
		}
	}
	if after := heap(); after > before+1<<19 {
		t.Errorf("%d bytes more", after-before)
	}
	runtime.KeepAlive(clients)
}

// TestPeopleReadWhatIsKnownOfAClient shows each kind, and names that deceive.
func TestPeopleReadWhatIsKnownOfAClient(t *testing.T) {
	s := declaration()
	const here, anybodys = "http://localhost:6274/oauth/callback", "Every program on this computer can say that it is this one"
	s.Clients = []*hcl.SignInClient{
		{Name: "inspector", Redirects: []string{here, "https://inspector.example/cb"}},
		{Name: "desk", Redirects: []string{here}, Secret: "a secret", Confidential: true},
	}
	clients := newClients(t, s, nil)
	registered := func(name, uri string) client.Description {
		body, _ := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{uri}})
		_, r := register(t, clients, string(body))
		c, err := clients.Find(t.Context(), r.ID, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		return c.Describe(uri)
	}
	known := func(id, uri string) client.Description {
		c, err := clients.Find(t.Context(), id, "192.0.2.1")
		if err != nil || uri != "" && !c.AcceptsRedirect(uri) {
			t.Fatal(c, err)
		}
		return c.Describe(uri)
	}
	document := client.Client{Kind: client.Document, Host: "claude.ai", Name: "Claude"}
	const local, unchecked = "a program on this computer", "Nobody has checked this name"
	for n, c := range []struct{ got, want client.Description }{
		{registered("Claude", "http://localhost:1/cb"), client.Description{local, "Claude", unchecked, local}},
		{registered("Claude", "https://claude.ai/cb"), client.Description{"claude.ai", "Claude", unchecked, "claude.ai"}},
		{registered("", "cursor://anysphere.cursor-mcp/cb"), client.Description{
			local + " that opens cursor://anysphere.cursor-mcp", "", "", local + " that opens cursor://anysphere.cursor-mcp"}},
		{known("inspector", "http://localhost:6274/oauth/callback"), client.Description{"inspector", "", anybodys, local}},
		{known("inspector", "https://inspector.example/cb"), client.Description{"inspector", "", "", "inspector.example"}},
		{known("desk", here), client.Description{"desk", "", "", local}},
		{known("hatchel", "http://127.0.0.1:7/callback"), client.Description{"Hatchel", "", anybodys, local}},
		{document.Describe("https://claude.ai:8443/cb"), client.Description{
			"claude.ai", "Claude", "Its description is at claude.ai, which this server admits", "claude.ai:8443"}},
		{document.Describe("http://127.0.0.1:1/cb"), client.Description{
			"claude.ai", "Claude", anybodys, local}},
		{document.Describe("cursor://anysphere.cursor-mcp/cb"), client.Description{
			"claude.ai", "Claude", anybodys, local + " that opens cursor://anysphere.cursor-mcp"}},
		{document.Describe("https://[2001:db8::1]:8443/cb"), client.Description{
			"claude.ai", "Claude", "Its description is at claude.ai, which this server admits", "[2001:db8::1]:8443"}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%d: %+v", n, c.got)
		}
	}
	for name, want := range map[string]string{
		"Claude\u202eedualC":                           "Claude<U+202E>edualC",
		"Cla\u200bude\nAllow\x1b[2J":                   "Cla<U+200B>ude<U+000A>Allow<U+001B>[2J",
		"  Claude \t":                                  "Claude",
		"\U000E0041Claude\u2066":                       "<U+E0041>Claude<U+2066>",
		"<script>alert(1)</script>":                    "<script>alert(1)</script>", // the page escapes it
		strings.Repeat("é", 100):                       strings.Repeat("é", 79) + "…",
		"a" + strings.Repeat("\u0301", 60) + "b\u0301": "a\u0301\u0301\u0301\u0301b\u0301", // would cover the lines above
		"กี่ลั้ง नमस्ते":                               "กี่ลั้ง नमस्ते",
		"Café 🤖 Überblick":                             "Café 🤖 Überblick",
		strings.Repeat("\u200b", 1000):                 "<U+200B><U+200B><U+200B><U+200B><U+200B><U+200B><U+200B><U+200B><U+200B><U+200B…",
	} {
		if got := registered(name, "http://localhost:1/cb").Name; got != want && len(want) < 80 || len([]rune(got)) > 80 {
			t.Errorf("%q is shown as %q", name, got)
		}
	}
}

// TestABuiltInClientIsFoundFirst declares clients that a checked configuration cannot have.
func TestABuiltInClientIsFoundFirst(t *testing.T) {
	s := declaration()
	for _, name := range []string{client.Command, client.Console, documentID} {
		s.Clients = append(s.Clients, &hcl.SignInClient{Name: name, Redirects: []string{"http://127.0.0.1/stolen"}})
	}
	clients := newClients(t, s, nil)
	c, err := clients.Find(t.Context(), documentID, "192.0.2.1")
	if err != nil || c.Kind != client.Declared {
		t.Errorf("a declared client is looked up: %v, %v", c, err)
	}
	c, err = clients.Find(t.Context(), client.Command, "192.0.2.1")
	if err != nil || c.Kind != client.BuiltIn || c.IsConfidential() {
		t.Fatal(c, err)
	}
	for uri, want := range map[string]bool{
		"http://127.0.0.1:7/callback": true, "http://[::1]:7/callback": true, "http://localhost:7/callback": false,
		"http://127.0.0.1:7/": false, "http://127.0.0.1:7/stolen": false, "https://127.0.0.1:7/callback": false,
	} {
		if c.AcceptsRedirect(uri) != want {
			t.Errorf("%s: %t", uri, !want)
		}
	}
	if c, err = clients.Find(t.Context(), client.Console, "192.0.2.1"); err != nil || c.AcceptsRedirect("http://127.0.0.1:7/callback") {
		t.Error("the console has a redirect address for others")
	}
	if c, err = clients.Resume(client.Kept{ID: client.Command, Redirect: "http://127.0.0.1:7/callback"}); err != nil || c.Kind != client.BuiltIn {
		t.Error(c, err)
	}
	if _, err = clients.Resume(client.Kept{ID: client.Command, Redirect: "http://127.0.0.1:7/other"}); err == nil {
		t.Error("an address that the client does not have is resumed")
	}
}

// FuzzARegistrationHasOnlyWhatIsAdmitted sends any metadata.
func FuzzARegistrationHasOnlyWhatIsAdmitted(f *testing.F) {
	for _, body := range []string{
		`{"client_name":"X","redirect_uris":["http://localhost:1/cb","https://evil.example/cb","cursor://anysphere.cursor-mcp/x"]}`,
		`{"redirect_uris":["https://claude.ai/%2e%2e/x","https://claude.ai@evil.example/","https://claude.ai/\\u002e./x"]}`,
		`{"redirect_uris":["http://localhost/"],"redirect_uris":[]}`, `{"client_name":"\ud800","redirect_uris":["http://[::1]/"]}`,
		"[]", "", "{", `{"redirect_uris":[[]]}`,
	} {
		f.Add(body)
	}
	s := declaration()
	clients := client.New(f.Context(), s, client.Options{Sealer: sealer{mcp.NewSealer(nil)}, Now: time.Now})
	f.Fuzz(func(t *testing.T, body string) {
		status, r := register(t, clients, body)
		if status != 201 {
			if status != 400 || r.Error == "" || r.Description == "" || r.ID != "" {
				t.Errorf("%q: %d, %+v", body, status, r)
			}
			return
		}
		c, err := clients.Find(t.Context(), r.ID, "192.0.2.1")
		if err != nil || len(r.ID) > 2048 || len(c.Redirects) > 5 || r.Secret != nil {
			t.Fatalf("%q: %+v, %v", body, c, err)
		}
		for _, uri := range append(r.Redirects, c.Redirects...) {
			if redirect.Check(uri) != "" || !c.AcceptsRedirect(uri) || c.Describe(uri).Redirect == "" ||
				!slices.ContainsFunc(s.Register.Redirects, func(e string) bool { return redirect.Allows(e, uri) }) {
				t.Errorf("%q has the address %q", body, uri)
			}
		}
		if strings.ContainsFunc(c.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q has the name %q", body, c.Name)
		}
	})
}
