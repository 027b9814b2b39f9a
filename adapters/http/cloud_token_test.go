package http_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/credential/cloudtest"
	"hatchel/adapters/http"
	"hatchel/hcl/mock"
)

const (
	metadataAddress = "169.254.169.254:80"
	entraAddress    = "login.microsoftonline.com:443"
	tenant          = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	application     = "6a1c0f5e-2b1d-4c55-9a38-0d8f4c1f7a10"
)

// sourceInCloud returns a tool on a machine of a network, whose connection has an auth block with a body. The callers
// have tokens of the tenant, and of another issuer.
func sourceInCloud(f *cloudtest.Fake, env map[string]string, url, body string) adaptertest.Source {
	s := source(url, "  auth {\n"+body+"\n  }", "", "    get = \"/x\"\n    as = \"text\"")
	s.Set = adapters.Set{Adapters: []adapters.Adapter{http.Adapter()}, Connectors: []adapters.Connector{http.ConnectorIn(f.Cloud(env))}}
	s.HCL += fmt.Sprintf("auth {\n jwt {\n issuer = %q\n audience = \"tools\"\n }\n jwt {\n issuer = \"https://id.example\"\n audience = \"tools\"\n }\n}\n",
		"https://login.microsoftonline.com/"+tenant+"/v2.0")
	return s
}

// unsigned returns a text with the form of a JWT.
func unsigned(claims map[string]any) string {
	raw, _ := json.Marshal(claims)
	return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(raw) + ".CANARY"
}

// serveMetadata adds metadata services of Google and Azure, which number their tokens.
func serveMetadata(f *cloudtest.Fake) (fetched *atomic.Int64, fail *atomic.Bool) {
	fetched, fail = new(atomic.Int64), new(atomic.Bool)
	f.Serve(metadataAddress, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		if fail.Load() {
			w.WriteHeader(nethttp.StatusForbidden)
			return
		}
		n := fetched.Add(1)
		if r.URL.Path == "/computeMetadata/v1/instance/service-accounts/default/identity" {
			fmt.Fprint(w, unsigned(map[string]any{"aud": r.FormValue("audience"), "exp": time.Now().Add(time.Hour).Unix(), "n": n}))
			return
		}
		answer := map[string]any{"access_token": fmt.Sprintf("CANARY-token-%d", n), "token_type": "Bearer", "expires_in": 3600}
		switch {
		case r.FormValue("scopes") == "https://www.googleapis.com/auth/bigquery.readonly,openid" && r.Header.Get("Metadata-Flavor") == "Google":
		case r.FormValue("resource") == "https://graph.microsoft.com" && r.Header.Get("Metadata") == "true":
		default:
			w.WriteHeader(nethttp.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	return fetched, fail
}

const (
	googleID     = `    google { audience = "https://billing-x.run.app" }`
	googleScopes = `    google { scopes = ["https://www.googleapis.com/auth/bigquery.readonly", "openid"] }`
	entraMachine = `    entra { scope = "https://graph.microsoft.com/.default" }`
)

var machineBlocks = map[string]string{ // and what a plan shows
	googleID:     "Bearer (ID token of Google for https://billing-x.run.app)",
	googleScopes: "Bearer (access token of Google for https://www.googleapis.com/auth/bigquery.readonly openid)",
	entraMachine: "Bearer (access token of Entra for https://graph.microsoft.com/.default)",
}

// TestRequestsHaveTokensOfTheMachine has 100 calls at the start, a service that refuses the first token, and a cloud
// that then does not answer.
func TestRequestsHaveTokensOfTheMachine(t *testing.T) {
	for block, planned := range machineBlocks {
		t.Run(planned, func(t *testing.T) {
			f := cloudtest.New(t)
			fetched, fail := serveMetadata(f)
			var refused sync.Map
			var refuse atomic.Bool
			s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				token := r.Header.Get("Authorization")
				if refuse.CompareAndSwap(true, false) {
					refused.Store(token, true)
				}
				if _, is := refused.Load(token); is || !strings.HasPrefix(token, "Bearer ") || !strings.Contains(token, "CANARY") {
					w.WriteHeader(nethttp.StatusUnauthorized)
				}
				fmt.Fprint(w, "I was sent ", token)
			})
			b := adaptertest.Bind(t, sourceInCloud(f, nil, s.URL, block))
			state := b.Handle("shop").(adapters.SignedIn).Credential
			plan, err := b.Plan(t.Context(), `{}`)
			if err != nil || !strings.Contains(plan, "Authorization: "+planned+"\n") || state().Valid || len(f.Dialed()) != 0 {
				t.Errorf("before a call: %v %+v\n%s", err, state(), plan)
			}
			call := func() {
				if out, err := b.Do(t.Context(), `{}`); err != nil || out["body"] != "I was sent Bearer (secret)" {
					t.Errorf("%v, %v", out["body"], err)
				}
			}
			var calls sync.WaitGroup
			for range 100 {
				calls.Go(call)
			}
			calls.Wait()
			if s := state(); fetched.Load() != 1 || !s.Valid || time.Until(s.Expires) < 50*time.Minute || s.Identity == "" {
				t.Errorf("%d fetches, %+v", fetched.Load(), s)
			}
			refuse.Store(true)
			call()
			fail.Store(true)
			call()
			if fetched.Load() != 2 {
				t.Errorf("%d fetches", fetched.Load())
			}
			if err := b.Handle("shop").(adapters.Health).Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACallWithoutATokenOfTheMachineSendsNothing(t *testing.T) {
	for block, want := range map[string]string{
		googleID:     "signing in failed: no Google credential: GOOGLE_APPLICATION_CREDENTIALS is not set, the metadata server is not reachable",
		googleScopes: "signing in failed: no Google credential: GOOGLE_APPLICATION_CREDENTIALS is not set, the metadata server is not reachable",
		entraMachine: "signing in failed: no Entra credential: the block has none",
	} {
		f := cloudtest.New(t)
		s := serve(t, respond(`{}`))
		b := adaptertest.Bind(t, sourceInCloud(f, nil, s.URL, block))
		_, err := b.Do(t.Context(), `{}`)
		if m := wantFault(t, err); !strings.HasPrefix(m.Message, want) || !m.NotSent || s.count() != 0 {
			t.Errorf("%d requests, %+v", s.count(), m)
		}
		if err := b.Handle("shop").(adapters.Health).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the connection is healthy: %v", err)
		}
	}
}

// TestMocksGetAFixedTextInPlaceOfATokenOfACloud shows that tests need neither a cloud nor a caller with a token.
func TestMocksGetAFixedTextInPlaceOfATokenOfACloud(t *testing.T) {
	blocks := map[string]string{onBehalf("client_secret = secret.key"): "Bearer (on behalf of the caller)"}
	for block, text := range machineBlocks {
		blocks[block] = text
	}
	for block, want := range blocks {
		f := cloudtest.New(t)
		src := sourceInCloud(f, nil, "https://shop.invalid", block)
		got := ""
		src.Mocks = &adaptertest.Mocks{Reply: func(_ context.Context, q *mock.Question) (map[string]any, error) {
			got = q.Raw.(*nethttp.Request).Header.Get("Authorization")
			return map[string]any{"text": "ok"}, nil
		}}
		if _, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`); err != nil || got != want || len(f.Dialed()) != 0 {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestTokensOfACloudAreNotSentInClear has the addresses of a service on this machine and elsewhere.
func TestTokensOfACloudAreNotSentInClear(t *testing.T) {
	for block := range machineBlocks {
		src := sourceInCloud(cloudtest.New(t), nil, "http://billing.example", block)
		wantPart(t, adaptertest.MustReject(t, src), "Tokens of a cloud are sent to this address, which must use https")
	}
}

// onBehalf returns an entra block on behalf of callers.
func onBehalf(more string) string {
	return fmt.Sprintf(`    entra {
      tenant       = %q
      client_id    = %q
      scope        = "https://graph.microsoft.com/User.Read"
      on_behalf_of = true
      %s
    }`, tenant, application, more)
}

// fakeEntra is a token service of Entra, which issues a token on behalf of each caller.
type fakeEntra struct {
	*cloudtest.Fake
	t *testing.T

	mu     sync.Mutex
	asked  []string // the assertions; guarded by mu
	number int      // of the error of each answer; 0 for none; guarded by mu

	suberror string // of the error of each answer; guarded by mu
}

func serveEntra(t *testing.T) *fakeEntra {
	e := &fakeEntra{Fake: cloudtest.New(t), t: t}
	e.Serve(entraAddress, e.token)
	return e
}

func (e *fakeEntra) token(w nethttp.ResponseWriter, r *nethttp.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = r.ParseForm()
	want := map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "requested_token_use": "on_behalf_of",
		"client_id": application, "client_secret": "s3cret-k3y", "scope": "https://graph.microsoft.com/User.Read",
	}
	for name, text := range want {
		if r.PostForm.Get(name) != text || len(r.PostForm[name]) != 1 {
			cloudtest.Unexpected(e.t, w, "%s = %q", name, r.PostForm[name])
			return
		}
	}
	assertion := r.PostForm.Get("assertion")
	if len(r.PostForm) != len(want)+1 || r.URL.String() != "/"+tenant+"/oauth2/v2.0/token" {
		cloudtest.Unexpected(e.t, w, "%s %v", r.URL, r.PostForm)
		return
	}
	e.asked = append(e.asked, assertion)
	if e.number != 0 {
		w.WriteHeader(nethttp.StatusBadRequest)
		fmt.Fprintf(w, `{"error": "invalid_grant", "suberror": %q, "error_codes": [%d], "error_description": "CANARY: %s"}`, e.suberror, e.number, assertion)
		return
	}
	fmt.Fprintf(w, `{"token_type": "Bearer", "expires_in": 3599, "access_token": "CANARY-%s-%d"}`, claimOf(assertion, "sub"), len(e.asked))
}

func (e *fakeEntra) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked)
}

func (e *fakeEntra) fail(number int, suberror string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.number, e.suberror = number, suberror
}

// claimOf returns a claim of a token that unsigned has made.
func claimOf(token, name string) string {
	var claims map[string]any
	raw, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	_ = json.Unmarshal(raw, &claims)
	return fmt.Sprint(claims[name])
}

// entraToken returns a token of a caller.
func entraToken(caller string, more ...any) string {
	claims := map[string]any{"iss": "https://login.microsoftonline.com/" + tenant + "/v2.0", "sub": caller, "aud": application}
	for i := 0; i < len(more); i += 2 {
		claims[more[i].(string)] = more[i+1]
	}
	return unsigned(claims)
}

// TestEachCallerHasATokenOfEntra has concurrent calls of several callers, whose tokens the service tells apart.
func TestEachCallerHasATokenOfEntra(t *testing.T) {
	e := serveEntra(t)
	var revoked sync.Map
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), "Bearer CANARY-")
		if _, is := revoked.Load(token); is {
			w.WriteHeader(nethttp.StatusUnauthorized)
		}
		who, _, _ := strings.Cut(token, "-")
		fmt.Fprintf(w, "%s by %s", who, r.Header.Get("Authorization"))
	})
	b := adaptertest.Bind(t, sourceInCloud(e.Fake, nil, s.URL, onBehalf("client_secret = secret.key")))
	callers := []string{"ada", "bob", "eve", "zoe"}
	var calls sync.WaitGroup
	for _, who := range callers {
		for range 20 {
			calls.Go(func() {
				if got, err := callAs(t, b, t.Context(), who, entraToken(who), inAnHour()); err != nil || got != who+" by Bearer (secret)" {
					t.Errorf("%s received %q, %v", who, got, err)
				}
			})
		}
	}
	calls.Wait()
	if n := e.count(); n != len(callers) {
		t.Errorf("%d tokens were requested", n)
	}
	for _, r := range s.seen {
		if text := fmt.Sprint(r.Header, r.URL, r.body); strings.Contains(text, strings.Split(entraToken("ada"), ".")[0]) {
			t.Errorf("the service has the token of a caller: %s", text)
		}
	}
	if _, err := callAs(t, b, t.Context(), "ada", entraToken("ada", "jti", 2), inAnHour()); err != nil || e.count() != len(callers)+1 {
		t.Errorf("another token of a caller: %v, %d requested", err, e.count())
	}
	_, token, _ := strings.Cut(s.last().Header.Get("Authorization"), "Bearer CANARY-")
	revoked.Store(token, true)
	if got, err := callAs(t, b, t.Context(), "ada", entraToken("ada", "jti", 2), inAnHour()); err != nil || !strings.HasPrefix(got, "ada by") || e.count() != len(callers)+2 {
		t.Errorf("a token that the service has refused: %q, %v, %d requested", got, err, e.count())
	}
	plan, err := b.Plan(t.Context(), `{}`)
	if err != nil || !strings.Contains(plan, "Authorization: Bearer (on behalf of the caller)\n") || e.count() != len(callers)+2 {
		t.Errorf("%v\n%s", err, plan)
	}
}

// TestNothingIsSentForACallerWithoutATokenOfTheTenant has callers of each other kind.
func TestNothingIsSentForACallerWithoutATokenOfTheTenant(t *testing.T) {
	e := serveEntra(t)
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, sourceInCloud(e.Fake, nil, s.URL, onBehalf("client_secret = secret.key")))
	for name, c := range map[string]struct {
		token string
		until time.Time
		want  string
	}{
		"no token, such as with a key": {"", inAnHour(), "this caller has none; the caller must authenticate with a token"},
		"an expired token":             {entraToken("ada"), time.Now().Add(-time.Second), "the caller's token has expired"},
		"a token of another issuer":    {entraToken("ada", "iss", "https://id.example"), inAnHour(), "the caller's token is of https://id.example, and Entra exchanges those of the tenant " + tenant + " only; nothing was sent"},
		"a token of another tenant":    {entraToken("ada", "iss", "https://login.microsoftonline.com/11111111-86f1-41af-91ab-2d7cd011db47/v2.0"), inAnHour(), "nothing was sent"},
		"a token of another cloud":     {entraToken("ada", "iss", "https://login.microsoftonline.us/"+tenant+"/v2.0"), inAnHour(), "nothing was sent"},
		"a token that looks the same":  {entraToken("ada", "iss", "https://login.microsoftonline.com.evil.example/"+tenant+"/v2.0"), inAnHour(), "nothing was sent"},
		"a path that looks the same":   {entraToken("ada", "iss", "https://login.microsoftonline.com/x/../"+tenant+"/v2.0"), inAnHour(), "nothing was sent"},
		"two issuers":                  {entraToken("ada", "iss", []string{"https://login.microsoftonline.com/" + tenant + "/v2.0"}), inAnHour(), "of another kind"},
		"an issuer in another case":    {entraToken("ada", "iss", "https://id.example", "i\u017fs", "https://login.microsoftonline.com/"+tenant+"/v2.0"), inAnHour(), "the caller's token is of https://id.example"},
		"an opaque token":              {"CANARY-opaque", inAnHour(), "of another kind"},
	} {
		_, err := callAs(t, b, t.Context(), "ada", c.token, c.until)
		var fault *adapters.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Message, c.want) || !fault.NotSent {
			t.Errorf("%s: %v", name, err)
		}
		cloudtest.CheckNoSecret(t, err)
	}
	if s.count() != 0 || len(e.Dialed()) != 0 {
		t.Errorf("%d requests, dialed %q", s.count(), e.Dialed())
	}
	for _, issuer := range []string{"https://sts.windows.net/" + tenant + "/", "https://login.microsoftonline.com/" + strings.ToUpper(tenant) + "/v2.0"} {
		if _, err := callAs(t, b, t.Context(), "ada", entraToken("ada", "iss", issuer), inAnHour()); err != nil {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}

// TestRefusalsOfEntraSayWhatToDo has the numbers that people see, and none of the texts.
func TestRefusalsOfEntraSayWhatToDo(t *testing.T) {
	e := serveEntra(t)
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, sourceInCloud(e.Fake, nil, s.URL, onBehalf("client_secret = secret.key")))
	again := []int{500133, 50173, 700082, 50057}
	suberrors := map[int]string{50078: "basic_action", 530084: "additional_action", 650052: "consent_required"}
	for number, want := range map[int]string{
		50013:  "the caller's token is for another application; the audience of jwt must be the application of client_id, and scopes of sign_in need one of its own, such as api://CLIENT-ID/",
		500131: "the caller's token is for another application",
		240002: "the caller's token is an ID token",
		65001:  "nobody has consented to the permissions of scope for this application; an administrator can",
		50076:  "a policy of the tenant requires more of this person than the sign-in had",
		50105:  "the person is not assigned to the application",
		50078:  "a policy of the tenant requires more of this person than the sign-in had",
		530084: "a policy of the tenant requires more of this person than the sign-in had",
		650052: "nobody has consented to the permissions of scope",
		500133: "", 50173: "", 700082: "", 50057: "",
	} {
		e.fail(number, suberrors[number])
		_, err := callAs(t, b, t.Context(), "ada", entraToken("ada", "n", number), inAnHour())
		var fault *adapters.Fault
		if !errors.As(err, &fault) {
			t.Fatal(err)
		}
		if slices.Contains(again, number) {
			want = "the caller's token is no longer accepted: the caller must authenticate again and repeat the call"
		} else {
			want = fmt.Sprintf("signing in failed: the token service of Microsoft Entra answered 400 Bad Request, invalid_grant, AADSTS%d: %s", number, want)
		}
		if !strings.HasPrefix(fault.Message, want) || !fault.NotSent {
			t.Errorf("%d: %+v", number, fault)
		}
		cloudtest.CheckNoSecret(t, err)
	}
	if s.count() != 0 {
		t.Errorf("%d requests", s.count())
	}
}

// TestAManagedIdentityActsOnBehalfOfNobody shows that a token of the machine does not stand in for that of a caller.
func TestAManagedIdentityActsOnBehalfOfNobody(t *testing.T) {
	f := cloudtest.New(t)
	fetched, _ := serveMetadata(f)
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, sourceInCloud(f, nil, s.URL, onBehalf("")))
	_, err := callAs(t, b, t.Context(), "ada", entraToken("ada"), inAnHour())
	wantPart(t, wantFault(t, err).Message, "only an application acts on behalf of callers, and no managed identity: the block has no client_secret, key or "+
		"assertion_file, and AZURE_FEDERATED_TOKEN_FILE is not set")
	if s.count() != 0 || fetched.Load() != 0 {
		t.Errorf("%d requests, %d fetches", s.count(), fetched.Load())
	}
}
