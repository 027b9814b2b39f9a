package provider_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/signin/provider"
)

// browse goes to an address as a browser does, until it is sent back to this server.
func browse(t *testing.T, address, login string) url.Values {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back url.Values
	browser := http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), origin+provider.CallbackPath) {
			back = r.URL.Query()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	if back == nil && login != "" {
		resp.Body.Close()
		if resp, err = browser.PostForm(resp.Request.URL.String(), url.Values{"login": {login}}); err != nil {
			t.Fatal(err)
		}
	}
	page, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if back == nil {
		t.Fatalf("the provider answers %s: %s", resp.Status, page)
	}
	return back
}

// A provider that others have written signs a person in, renews who the person is, and ends it with the account.
func TestAPersonSignsInAtAProviderOfOthers(t *testing.T) {
	for name, settings := range map[string]issuertest.NPMSettings{
		"ID token": {}, "userinfo": {UserInfo: true}, "form": {Form: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			npm := issuertest.OpenNPM(t, []any{map[string]any{
				"client_id": "hatchel", "client_secret": "the secret of the client",
				"redirect_uris": []string{origin + provider.CallbackPath},
				"grant_types":   []string{"authorization_code", "refresh_token"},
			}}, settings)
			persons := map[string]map[string]any{
				"ada": {"groups": []string{"board", "finance"}, "email": "ada@example.com"}, "bob": {},
			}
			npm.SetPersons("ada", persons)
			f := open(t, func(s *hcl.SignIn) {
				s.Provider, s.Claims = npm.URL, []string{"email"}
				s.GroupNames = map[string]string{"finance": "money"}
			})
			choosing := ask
			choosing.Prompt = "select_account" // which the provider does not have
			address, err := f.AuthorizationURL(t.Context(), choosing)
			if err != nil {
				t.Fatal(err)
			}
			login := ""
			if settings.Form {
				login = "ada"
			}
			back := browse(t, address, login)
			code, err := f.Code(t.Context(), back)
			if err != nil {
				t.Fatal(err)
			}
			person, tokens, err := f.Redeem(t.Context(), code, ask.Verifier, ask.Nonce)
			if err != nil {
				t.Fatal(err)
			}
			if person.Subject != "ada" || !slices.Equal(person.Groups, []string{"money"}) ||
				person.Claims["email"] != "ada@example.com" || tokens.Refresh == "" || tokens.AccessEnds.IsZero() {
				t.Fatalf("%+v, %+v", person, tokens)
			}
			persons["ada"] = map[string]any{"groups": "audit", "email": "ada@example.org"}
			npm.SetPersons("ada", persons)
			renewed, next, err := f.Refresh(t.Context(), tokens.Refresh, person)
			if err != nil {
				t.Fatal(err)
			}
			if renewed.Groups != nil || renewed.Claims["email"] != "ada@example.org" || next.Refresh == tokens.Refresh {
				t.Errorf("%+v, %+v", renewed, next)
			}
			delete(persons, "ada")
			npm.SetPersons("bob", persons)
			_, _, err = f.Refresh(t.Context(), next.Refresh, renewed)
			f.checkRefused(err, "Begin it again", "invalid_grant", provider.ErrEnded)
			back = browse(t, address, login)
			_, err = f.Code(t.Context(), back)
			if settings.Form {
				f.checkRefused(err, "did not allow it", "access_denied", nil)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// Each fault of the ID tokens of a provider that others have written is refused with its text.
func TestFaultsOfAProviderOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	mock := issuertest.OpenMock(t)
	signIn := func(f *fixture) (*provider.Person, error) {
		t.Helper()
		address, err := f.AuthorizationURL(t.Context(), ask)
		if err != nil {
			return nil, err
		}
		code, err := f.Code(t.Context(), browse(t, address, ""))
		if err != nil {
			return nil, err
		}
		person, _, err := f.Redeem(t.Context(), code, ask.Verifier, ask.Nonce)
		return person, err
	}
	f := open(t, func(s *hcl.SignIn) { s.Provider = mock.URL })
	now := time.Now().Unix()
	for name, c := range map[string]struct {
		faults    map[string]any
		page, log string
	}{
		"issuer":   {map[string]any{"iss": "http://localhost:1"}, "did not say who you are", "is of another issuer"},
		"audience": {map[string]any{"aud": "other"}, "did not say who you are", "is for another client"},
		"nonce":    {map[string]any{"nonce": "other"}, "did not say who you are", "another nonce"},
		"azp":      {map[string]any{"azp": "other"}, "did not say who you are", "claim azp"},
		"expired":  {map[string]any{"exp": now - 120}, "did not say who you are", "has expired"},
		"later":    {map[string]any{"nbf": now + 120}, "did not say who you are", "is not valid yet"},
		"subject":  {map[string]any{"sub": nil}, "did not say who you are", "subject_claim"},
		"overage": {map[string]any{"_claim_names": map[string]any{"groups": "src1"}}, "Entra sent no groups",
			"Assign groups to the application"},
	} {
		mock.SetFaults(c.faults)
		_, err := signIn(f)
		if err == nil {
			t.Errorf("a wrong %s is accepted", name)
			continue
		}
		f.checkRefused(err, c.page, c.log, nil)
	}
	mock.SetFaults(map[string]any{"groups": []string{"finance"}})
	if person, err := signIn(f); err != nil || person.Subject != "johndoe" || !slices.Equal(person.Groups, []string{"finance"}) {
		t.Errorf("%+v, %v", person, err)
	}
	f = open(t, func(s *hcl.SignIn) { s.Provider, s.Algorithms = mock.URL, []string{"ES256"} })
	_, err := signIn(f)
	f.checkRefused(err, "did not say who you are", "one of the algorithms", nil)
}
