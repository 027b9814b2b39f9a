package http_test

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/runtime/auth/issuertest"
)

const (
	here  = "https://tools.example/mcp" // what callers have tokens for
	there = "https://shop.example"      // what the upstream takes tokens for
)

// upstream is a service that takes tokens of an issuer for itself, and an issuer that makes them from those of callers.
type upstream struct {
	*issuertest.Issuer
	url string

	mu      sync.Mutex
	subject map[string]int  // whom requests were made for; guarded by mu
	seen    []string        // all that has come in headers, in queries and in bodies; guarded by mu
	refused map[string]bool // tokens that are taken no more; guarded by mu
	refuse  bool            // every token is refused; guarded by mu
}

func serveUpstream(t *testing.T) *upstream {
	u := &upstream{Issuer: issuertest.Open(t), subject: map[string]int{}, refused: map[string]bool{}}
	u.Exchanges(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y"})
	web := httptest.NewServer(u)
	t.Cleanup(web.Close)
	u.url = web.URL
	return u
}

func (u *upstream) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims := u.Read(token, there)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen = append(u.seen, fmt.Sprint(r.Header, r.URL))
	if claims == nil || u.refuse || u.refused[token] {
		w.WriteHeader(nethttp.StatusUnauthorized)
		fmt.Fprintf(w, `{"why": "not %s"}`, token)
		return
	}
	who := fmt.Sprint(claims["sub"])
	u.subject[who]++
	fmt.Fprintf(w, `{"who": %q, "scope": %q}`, who, claims["scope"])
}

// revoke refuses what has been given out so far.
func (u *upstream) revoke() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, said := range u.seen {
		_, token, _ := strings.Cut(said, "Bearer ")
		token, _, _ = strings.Cut(token, "]")
		u.refused[token] = true
	}
}

func (u *upstream) source(more string) adaptertest.Source {
	s := tool(u.url, fmt.Sprintf(`  auth {
    oauth2 {
      token_url     = "%s/token"
      client_id     = "hatchel"
      client_secret = secret.key
      exchange      = true
      scopes        = ["read"]
      audience      = %q
      %s
    }
  }`, u.URL, there, more), "", "    post = \"/orders\"\n    as = \"text\"")
	s.HCL += fmt.Sprintf("auth {\n jwt {\n issuer = %q\n audience = %q\n }\n}\n", u.URL, here)
	return s
}

// token is one of a caller, for an hour.
func (u *upstream) token(who string) string {
	return u.Token(here, map[string]any{"sub": who})
}

// as calls in the name of who has a token.
func as(t *testing.T, b *adaptertest.Bound, ctx context.Context, who, token string, until time.Time) (string, error) {
	t.Helper()
	call, err := b.Call(ctx, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	call.Owner = who
	if token != "" {
		call.Token = func() (string, time.Time) { return token, until }
	}
	out, err := b.Action.Do(ctx, call)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(out.Value.(map[string]any)["body"]), nil
}

func later() time.Time { return time.Now().Add(time.Hour) }

func TestAServiceIsAskedInTheNameOfWhoCalls(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	token := u.token("ada")
	for range 3 {
		got, err := as(t, b, t.Context(), "ada", token, later())
		if err != nil || !strings.Contains(got, "ada") || !strings.Contains(got, "read") {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if n := u.Asked("/token"); n != 1 {
		t.Errorf("%d tokens were asked for", n)
	}
	for _, said := range u.seen {
		if strings.Contains(said, token) {
			t.Errorf("the caller's own token has come to the service: %s", said)
		}
	}
	plan, err := b.Plan(t.Context(), `{}`)
	if err != nil || !strings.Contains(plan, "Authorization: (bearer token by exchange)") || u.Asked("/token") != 1 {
		t.Errorf("%v, %s", err, plan)
	}
	if said := b.Log.String(); strings.Contains(said, token) {
		t.Errorf("the log has it: %s", said)
	}
}

func TestTwoCallersAreNeverMixed(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	release := u.Hold() // so that all wait for the first tokens at once
	var calling sync.WaitGroup
	const callers, each = 8, 20
	for i := range callers {
		who := fmt.Sprintf("caller-%d", i)
		token := u.token(who)
		for range each {
			calling.Go(func() {
				got, err := as(t, b, t.Context(), who, token, later())
				if err != nil || !strings.Contains(got, `"`+who+`"`) {
					t.Errorf("%s was answered %q, %v", who, got, err)
				}
			})
		}
	}
	release()
	calling.Wait()
	if n := u.Asked("/token"); n != callers {
		t.Errorf("%d tokens were asked for", n)
	}
	for i := range callers {
		if n := u.subject[fmt.Sprintf("caller-%d", i)]; n != each {
			t.Errorf("caller-%d was served %d times", i, n)
		}
	}
}

func TestTheSameCallerWithAnotherTokenHasAnother(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	for n := range 3 {
		token := u.Token(here, map[string]any{"jti": n})
		if _, err := as(t, b, t.Context(), "ada", token, later()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := as(t, b, t.Context(), "of another issuer\nada", u.token("ada"), later()); err != nil {
		t.Fatal(err)
	}
	if n := u.Asked("/token"); n != 4 {
		t.Errorf("%d tokens were asked for", n)
	}
}

func TestAnExchangedTokenIsReplacedBeforeItExpires(t *testing.T) {
	u := serveUpstream(t)
	u.Exchanges(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y", Life: 50 * time.Millisecond})
	b := adaptertest.Bind(t, u.source(""))
	token, deadline := u.token("ada"), time.Now().Add(adaptertest.Patience)
	for u.Asked("/token") < 3 && time.Now().Before(deadline) {
		if _, err := as(t, b, t.Context(), "ada", token, later()); err != nil {
			t.Fatal(err)
		}
	}
	if n := u.Asked("/token"); n < 3 {
		t.Errorf("only %d tokens were asked for", n)
	}
}

func TestATokenOfWhichNobodySaysUntilWhenLivesAsLongAsTheCallers(t *testing.T) {
	u := serveUpstream(t)
	u.Exchanges(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y", Unsaid: true})
	b := adaptertest.Bind(t, u.source(""))
	token := u.token("ada")
	for range 3 {
		if _, err := as(t, b, t.Context(), "ada", token, later()); err != nil {
			t.Fatal(err)
		}
	}
	if n := u.Asked("/token"); n != 1 {
		t.Errorf("%d tokens were asked for", n)
	}
}

func TestATokenThatTheServiceRefusesIsExchangedOnceMore(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	token := u.token("ada")
	call := func() error { _, err := as(t, b, t.Context(), "ada", token, later()); return err }
	if err := call(); err != nil {
		t.Fatal(err)
	}
	u.revoke()
	if err := call(); err != nil || u.Asked("/token") != 2 {
		t.Errorf("%v, after %d tokens", err, u.Asked("/token"))
	}
	u.mu.Lock()
	u.refuse = true
	before := len(u.seen)
	u.mu.Unlock()
	f := fault(t, call())
	if f.Status != 401 || strings.Contains(f.Message, token) || len(u.seen) != before+2 || u.Asked("/token") != 3 {
		t.Errorf("%+v, after %d requests and %d tokens", f, len(u.seen)-before, u.Asked("/token"))
	}
}

func TestTheKeysOfTheIssuerMayChange(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	if _, err := as(t, b, t.Context(), "ada", u.token("ada"), later()); err != nil {
		t.Fatal(err)
	}
	u.Serve(issuertest.NewKey(t, "second", "ES256"))
	if got, err := as(t, b, t.Context(), "ada", u.token("ada"), later()); err != nil || !strings.Contains(got, "ada") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWhoHasNoTokenOrOneThatIsGoodNoMoreIsRefused(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	for claim, c := range map[string]struct {
		token string
		until time.Time
		want  string
	}{
		"no token":          {"", later(), "this caller has none"},
		"one that was good": {u.token("ada"), time.Now().Add(-time.Second), "has expired: the caller must authenticate again"},
	} {
		_, err := as(t, b, t.Context(), "ada", c.token, c.until)
		if f := fault(t, err); !strings.Contains(f.Message, c.want) || !f.Untouched {
			t.Errorf("%s: %+v", claim, f)
		}
	}
	if u.Asked("/token") != 0 || len(u.seen) != 0 {
		t.Error("somebody was asked")
	}
}

func TestWhatTheTokenServerRefusesIsSaidWithoutAnyToken(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	token := u.token("ada")
	exchange := func(code string) issuertest.Exchange {
		return issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y", Error: code, Describe: "not " + token + " of s3cret-k3y"}
	}
	for claim, c := range map[string]struct {
		how       issuertest.Exchange
		want      string
		untouched bool
	}{
		"the sign-in is over":    {exchange("invalid_grant"), "the caller must authenticate again", true},
		"the service is another": {exchange("invalid_target"), "signing in failed: the token server returned 400 Bad Request, invalid_target: not", false},
		"another secret":         {issuertest.Exchange{Client: "hatchel", Secret: "other"}, "invalid_client", false},
	} {
		u.Exchanges(c.how)
		_, err := as(t, b, t.Context(), "ada", token, later())
		f := fault(t, err)
		for _, said := range []string{f.Message, fmt.Sprint(f.Cause), b.Log.String()} {
			if strings.Contains(said, token) || strings.Contains(said, "s3cret-k3y") {
				t.Errorf("%s: %s", claim, said)
			}
		}
		if !strings.Contains(f.Message, c.want) || f.Untouched != c.untouched {
			t.Errorf("%s: %+v", claim, f)
		}
	}
	u.Exchanges(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y"})
	if _, err := as(t, b, t.Context(), "ada", token, later()); err != nil {
		t.Error(err)
	}
	if len(u.seen) != 1 {
		t.Errorf("the service was asked %d times", len(u.seen))
	}
}

func TestATokenThatComesBackIsNotPassedOn(t *testing.T) {
	for claim, answer := range map[string]string{
		"the caller's own":  `{"access_token": "%s", "token_type": "Bearer", "expires_in": 60}`,
		"one for a refresh": `{"access_token": "x%s", "issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token", "token_type": "N_A"}`,
		"no bearer":         `{"access_token": "x%s", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "N_A"}`,
	} {
		u := serveUpstream(t)
		careless := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			fmt.Fprintf(w, answer, r.PostFormValue("subject_token"))
		})
		source := u.source("")
		source.HCL = strings.Replace(source.HCL, u.URL+"/token", careless.URL+"/token", 1)
		_, err := as(t, adaptertest.Bind(t, source), t.Context(), "ada", u.token("ada"), later())
		if f := fault(t, err); !strings.Contains(f.Message, "returned no bearer token") || len(u.seen) != 0 {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

func TestAnExchangeThatCannotBeIsRefused(t *testing.T) {
	u := serveUpstream(t)
	for more, want := range map[string]string{
		`resource = "orders"`:                  "resource must be a URL without a fragment",
		`resource = "https://shop.example/#x"`: "resource must be a URL without a fragment",
		`requested_token_type = "saml"`:        "requested_token_type must be",
		`subject_token_type = "jwt"`:           "subject_token_type must be a token type",
		`params = { subject_token = "x" }`:     "The field subject_token of the exchange already has a value",
		`params = { audience = "x" }`:          "The field audience of the exchange already has a value",
		`client_auth = "none"`:                 "client_auth is",
	} {
		if got := adaptertest.Refusal(t, u.source(more)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", more, got)
		}
	}
	s := u.source("")
	s.HCL = strings.Replace(s.HCL, u.URL+"/token", "http://login.example/token", 1)
	if got := adaptertest.Refusal(t, s); !strings.Contains(got, "must use https") {
		t.Error(got)
	}
	s = u.source("")
	s.HCL = strings.Replace(s.HCL, "exchange      = true", "", 1)
	if got := adaptertest.Refusal(t, s); !strings.Contains(got, "requires exchange = true") {
		t.Error(got)
	}
}

func TestWaitForAnExchangeEndsWithTheCall(t *testing.T) {
	u := serveUpstream(t)
	release := u.Hold()
	defer release()
	b := adaptertest.Bind(t, u.source(""))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	token := u.token("ada")
	go func() { _, err := as(t, b, ctx, "ada", token, later()); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if f := new(adapters.Fault); errors.As(b.Close(), &f) {
		t.Error(f)
	}
}
