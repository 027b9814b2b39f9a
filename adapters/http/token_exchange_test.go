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
	"hatchel/runtime/edge/auth/issuertest"
)

const (
	serverAudience   = "https://tools.example/mcp" // of the callers' tokens
	upstreamAudience = "https://shop.example"      // of the exchanged tokens
)

// upstream is a service, and the issuer that exchanges the tokens of callers for tokens of the service.
type upstream struct {
	*issuertest.Issuer
	url string

	mu        sync.Mutex
	subject   map[string]int  // number of requests by subject; guarded by mu
	seen      []string        // headers and URLs of all requests; guarded by mu
	revoked   map[string]bool // tokens; guarded by mu
	rejectAll bool            // guarded by mu
}

func serveUpstream(t *testing.T) *upstream {
	u := &upstream{Issuer: issuertest.Open(t), subject: map[string]int{}, revoked: map[string]bool{}}
	u.SetExchange(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y"})
	web := httptest.NewServer(u)
	t.Cleanup(web.Close)
	u.url = web.URL
	return u
}

func (u *upstream) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims := u.Read(token, upstreamAudience)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen = append(u.seen, fmt.Sprint(r.Header, r.URL))
	if claims == nil || u.rejectAll || u.revoked[token] {
		w.WriteHeader(nethttp.StatusUnauthorized)
		fmt.Fprintf(w, `{"why": "not %s"}`, token)
		return
	}
	who := fmt.Sprint(claims["sub"])
	u.subject[who]++
	fmt.Fprintf(w, `{"who": %q, "scope": %q}`, who, claims["scope"])
}

// revoke makes the service reject all tokens it has seen.
func (u *upstream) revoke() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, request := range u.seen {
		_, token, _ := strings.Cut(request, "Bearer ")
		token, _, _ = strings.Cut(token, "]")
		u.revoked[token] = true
	}
}

// source returns a tool that calls the service on behalf of its callers.
func (u *upstream) source(arguments string) adaptertest.Source {
	s := source(u.url, fmt.Sprintf(`  auth {
    oauth2 {
      token_url     = "%s/token"
      client_id     = "hatchel"
      client_secret = secret.key
      exchange      = true
      scopes        = ["read"]
      audience      = %q
      %s
    }
  }`, u.URL, upstreamAudience, arguments), "", "    post = \"/orders\"\n    as = \"text\"")
	s.HCL += fmt.Sprintf("auth {\n jwt {\n issuer = %q\n audience = %q\n }\n}\n", u.URL, serverAudience)
	return s
}

// callerToken returns a token of a caller that is valid for an hour.
func (u *upstream) callerToken(caller string) string {
	return u.Token(serverAudience, map[string]any{"sub": caller})
}

// callAs makes a call with the token of a caller and returns the body of the response.
func callAs(t *testing.T, b *adaptertest.BoundTool, ctx context.Context, caller, token string, until time.Time) (string, error) {
	t.Helper()
	call, err := b.Call(ctx, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	call.Owner = caller
	if token != "" {
		call.Token = func(context.Context) (string, time.Time, error) { return token, until, nil }
	}
	out, err := b.Action.Do(ctx, call)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(out.(map[string]any)["body"]), nil
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

func TestExchange(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	token := u.callerToken("ada")
	t.Run("calls the service on behalf of the caller", func(t *testing.T) {
		for range 3 {
			got, err := callAs(t, b, t.Context(), "ada", token, inAnHour())
			if err != nil || !strings.Contains(got, "ada") || !strings.Contains(got, "read") {
				t.Fatalf("%v, %v", got, err)
			}
		}
	})
	t.Run("requests one token for all calls", func(t *testing.T) {
		if n := u.Requests("/token"); n != 1 {
			t.Errorf("%d tokens were requested", n)
		}
	})
	t.Run("does not send the caller's token to the service", func(t *testing.T) {
		for _, request := range u.seen {
			if strings.Contains(request, token) {
				t.Error(request)
			}
		}
	})
	t.Run("does not log the caller's token", func(t *testing.T) {
		if strings.Contains(b.Log.String(), token) {
			t.Error(b.Log.String())
		}
	})
	t.Run("requests no token for a plan", func(t *testing.T) {
		plan, err := b.Plan(t.Context(), `{}`)
		if err != nil || !strings.Contains(plan, "Authorization: (bearer token by exchange)") || u.Requests("/token") != 1 {
			t.Errorf("%v, %s", err, plan)
		}
	})
}

func TestCallersDoNotShareTokens(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	release := u.Hold() // makes all calls wait for the first tokens
	var calls sync.WaitGroup
	const callers, each = 8, 20
	for i := range callers {
		who := fmt.Sprintf("caller-%d", i)
		token := u.callerToken(who)
		for range each {
			calls.Go(func() {
				got, err := callAs(t, b, t.Context(), who, token, inAnHour())
				if err != nil || !strings.Contains(got, `"`+who+`"`) {
					t.Errorf("%s received %q, %v", who, got, err)
				}
			})
		}
	}
	release()
	calls.Wait()
	if n := u.Requests("/token"); n != callers {
		t.Errorf("%d tokens were requested", n)
	}
	for i := range callers {
		if n := u.subject[fmt.Sprintf("caller-%d", i)]; n != each {
			t.Errorf("caller-%d was served %d times", i, n)
		}
	}
}

func TestEachTokenOfACallerIsExchanged(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	for n := range 3 {
		token := u.Token(serverAudience, map[string]any{"jti": n})
		if _, err := callAs(t, b, t.Context(), "ada", token, inAnHour()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := callAs(t, b, t.Context(), "of another issuer\nada", u.callerToken("ada"), inAnHour()); err != nil {
		t.Fatal(err)
	}
	if n := u.Requests("/token"); n != 4 {
		t.Errorf("%d tokens were requested", n)
	}
}

func TestExchangedTokenIsRenewed(t *testing.T) {
	u := serveUpstream(t)
	u.SetExchange(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y", Lifetime: 50 * time.Millisecond})
	b := adaptertest.Bind(t, u.source(""))
	token, deadline := u.callerToken("ada"), time.Now().Add(adaptertest.MaxCancelDelay)
	for u.Requests("/token") < 3 && time.Now().Before(deadline) {
		if _, err := callAs(t, b, t.Context(), "ada", token, inAnHour()); err != nil {
			t.Fatal(err)
		}
	}
	if n := u.Requests("/token"); n < 3 {
		t.Errorf("only %d tokens were requested", n)
	}
}

func TestExchangedTokenWithoutLifetimeExpiresWithTheCallersToken(t *testing.T) {
	u := serveUpstream(t)
	u.SetExchange(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y", OmitExpiresIn: true})
	b := adaptertest.Bind(t, u.source(""))
	token := u.callerToken("ada")
	for range 3 {
		if _, err := callAs(t, b, t.Context(), "ada", token, inAnHour()); err != nil {
			t.Fatal(err)
		}
	}
	if n := u.Requests("/token"); n != 1 {
		t.Errorf("%d tokens were requested", n)
	}
}

func TestRejectedTokenIsExchangedAgain(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	token := u.callerToken("ada")
	call := func() error { _, err := callAs(t, b, t.Context(), "ada", token, inAnHour()); return err }
	t.Run("after it was revoked", func(t *testing.T) {
		if err := call(); err != nil {
			t.Fatal(err)
		}
		u.revoke()
		if err := call(); err != nil || u.Requests("/token") != 2 {
			t.Errorf("%v, after %d tokens", err, u.Requests("/token"))
		}
	})
	t.Run("but only once for a call", func(t *testing.T) {
		u.mu.Lock()
		u.rejectAll = true
		before := len(u.seen)
		u.mu.Unlock()
		f := wantFault(t, call())
		if f.Status != 401 || strings.Contains(f.Message, token) || len(u.seen) != before+2 || u.Requests("/token") != 3 {
			t.Errorf("%+v, after %d requests and %d tokens", f, len(u.seen)-before, u.Requests("/token"))
		}
	})
}

func TestExchangeSurvivesAKeyRotationOfTheIssuer(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	if _, err := callAs(t, b, t.Context(), "ada", u.callerToken("ada"), inAnHour()); err != nil {
		t.Fatal(err)
	}
	u.Serve(issuertest.NewKey(t, "second", "ES256"))
	if got, err := callAs(t, b, t.Context(), "ada", u.callerToken("ada"), inAnHour()); err != nil || !strings.Contains(got, "ada") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestCallerWithoutAValidTokenIsRejected(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	for name, c := range map[string]struct {
		token string
		until time.Time
		want  string
	}{
		"no token":      {"", inAnHour(), "this caller has none"},
		"expired token": {u.callerToken("ada"), time.Now().Add(-time.Second), "has expired: the caller must authenticate again"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := callAs(t, b, t.Context(), "ada", c.token, c.until)
			if f := wantFault(t, err); !strings.Contains(f.Message, c.want) || !f.NotSent {
				t.Errorf("%+v", f)
			}
			if u.Requests("/token") != 0 || len(u.seen) != 0 {
				t.Error("a request was sent")
			}
		})
	}
}

func TestCallerWhoseTokenCannotBeReadIsRejected(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	call.Owner = "ada"
	call.Token = func(context.Context) (string, time.Time, error) { return "", time.Time{}, errors.New("sign in again") }
	_, err = b.Action.Do(t.Context(), call)
	if f := wantFault(t, err); f.Message != "sign in again" || !f.NotSent {
		t.Errorf("%+v", f)
	}
	if u.Requests("/token") != 0 || len(u.seen) != 0 {
		t.Error("a request was sent")
	}
}

func TestRejectedExchangeIsReportedWithoutSecrets(t *testing.T) {
	u := serveUpstream(t)
	b := adaptertest.Bind(t, u.source(""))
	token := u.callerToken("ada")
	exchange := func(code string) issuertest.Exchange {
		return issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y", Error: code, Description: "not " + token + " of s3cret-k3y"}
	}
	for name, c := range map[string]struct {
		how       issuertest.Exchange
		want      string
		untouched bool
	}{
		"the caller must sign in again": {exchange("invalid_grant"), "the caller must authenticate again", true},
		"the target is unknown":         {exchange("invalid_target"), "signing in failed: the token server returned 400 Bad Request, invalid_target: not", false},
		"the client is unknown":         {issuertest.Exchange{Client: "hatchel", Secret: "other"}, "invalid_client", false},
	} {
		t.Run(name, func(t *testing.T) {
			u.SetExchange(c.how)
			_, err := callAs(t, b, t.Context(), "ada", token, inAnHour())
			f := wantFault(t, err)
			for _, text := range []string{f.Message, fmt.Sprint(f.Cause), b.Log.String()} {
				if strings.Contains(text, token) || strings.Contains(text, "s3cret-k3y") {
					t.Errorf("a secret is in %s", text)
				}
			}
			if !strings.Contains(f.Message, c.want) || f.NotSent != c.untouched {
				t.Errorf("%+v", f)
			}
		})
	}
	t.Run("and is tried again by the next call", func(t *testing.T) {
		u.SetExchange(issuertest.Exchange{Client: "hatchel", Secret: "s3cret-k3y"})
		if _, err := callAs(t, b, t.Context(), "ada", token, inAnHour()); err != nil {
			t.Error(err)
		}
		if len(u.seen) != 1 {
			t.Errorf("the service received %d requests", len(u.seen))
		}
	})
}

func TestUnusableTokenIsNotSent(t *testing.T) {
	for name, response := range map[string]string{
		"the caller's token": `{"access_token": "%s", "token_type": "Bearer", "expires_in": 60}`,
		"a refresh token":    `{"access_token": "x%s", "issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token", "token_type": "N_A"}`,
		"not a bearer token": `{"access_token": "x%s", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "N_A"}`,
	} {
		t.Run(name, func(t *testing.T) {
			u := serveUpstream(t)
			server := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				fmt.Fprintf(w, response, r.PostFormValue("subject_token"))
			})
			src := u.source("")
			src.HCL = strings.Replace(src.HCL, u.URL+"/token", server.URL+"/token", 1)
			_, err := callAs(t, adaptertest.Bind(t, src), t.Context(), "ada", u.callerToken("ada"), inAnHour())
			if f := wantFault(t, err); !strings.Contains(f.Message, "returned no bearer token") || len(u.seen) != 0 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMistakesInAnExchangeAreRejectedAtLoad(t *testing.T) {
	u := serveUpstream(t)
	for arguments, want := range map[string]string{
		`resource = "orders"`:                  "resource must be a URL without a fragment",
		`resource = "https://shop.example/#x"`: "resource must be a URL without a fragment",
		`requested_token_type = "saml"`:        "requested_token_type must be",
		`subject_token_type = "jwt"`:           "subject_token_type must be a token type",
		`params = { subject_token = "" }`:      "The field subject_token of the exchange already has a value",
		`params = { audience = "x" }`:          "The field audience of the exchange already has a value",
		`client_auth = "none"`:                 "client_auth is",
	} {
		t.Run(arguments, func(t *testing.T) { wantPart(t, adaptertest.MustReject(t, u.source(arguments)), want) })
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"token_url without TLS":     {u.URL + "/token", "http://login.example/token", "must use https"},
		"audience without exchange": {"exchange      = true", "", "requires exchange = true"},
	} {
		t.Run(name, func(t *testing.T) {
			src := u.source("")
			src.HCL = strings.Replace(src.HCL, c.from, c.to, 1)
			wantPart(t, adaptertest.MustReject(t, src), c.want)
		})
	}
}

func TestContextEndsTheWaitForAnExchange(t *testing.T) {
	u := serveUpstream(t)
	release := u.Hold()
	defer release()
	b := adaptertest.Bind(t, u.source(""))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	token := u.callerToken("ada")
	go func() { _, err := callAs(t, b, ctx, "ada", token, inAnHour()); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if f := new(adapters.Fault); errors.As(b.Close(), &f) {
		t.Error(f)
	}
}
