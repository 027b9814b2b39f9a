package google_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/credential/cloudtest"
	"hatchel/adapters/credential/google"
)

const audience = "https://billing-x.run.app"

// idToken returns an ID token that ends at a time.
func idToken(audience any, expires any) string {
	raw := mustJSON(members{"aud": audience, "exp": expires, "email": email})
	return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(raw) + ".CANARY"
}

func inAnHour() int64 { return time.Now().Add(time.Hour).Unix() }

// serveIDTokens adds the services of Google, which check the requests and answer a token.
func serveIDTokens(t *testing.T, f *cloudtest.Fake, answered func() string) {
	f.Serve(metadata, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.Header.Get("Metadata-Flavor") != "Google" || query.Get("audience") != audience || query.Get("format") != "full" ||
			len(query) != 2 || r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/identity" {
			cloudtest.Unexpected(t, w, "%s with %v", r.URL, r.Header)
			return
		}
		w.Header().Set("Metadata-Flavor", "Google")
		fmt.Fprintln(w, answered())
	})
	f.Serve(tokenHost, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		claims := verify(t, r.PostForm.Get("assertion"))
		if claims["target_audience"] != audience || claims["scope"] != nil || claims["iss"] != email || len(r.PostForm) != 2 ||
			r.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			cloudtest.Unexpected(t, w, "%v %v", r.PostForm, claims)
			return
		}
		answer(w, members{"id_token": answered()})
	})
	serveExchange(t, f, "https://www.googleapis.com/auth/cloud-platform", ownToken)
	f.Serve(iamHost, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body members
		err := json.Unmarshal(raw, &body)
		if err != nil || body["audience"] != audience || body["includeEmail"] != true || len(body) != 2 || r.Method != "POST" ||
			r.URL.Path != "/v1/projects/-/serviceAccounts/"+email+":generateIdToken" ||
			r.Header.Get("Authorization") != "Bearer "+ownToken {
			cloudtest.Unexpected(t, w, "%s with %v: %s", r.URL, r.Header, raw)
			return
		}
		answer(w, members{"token": answered()})
	})
}

// idTokenSources are the environments of a workload, with the identity that each has.
func idTokenSources(t *testing.T) map[string]map[string]string {
	return map[string]map[string]string{
		"service account of the machine (metadata server)": nil,
		email + " (service account key)":                   serviceAccount(t).write(t),
		email + " (workload identity federation)":          federated(members{"file": write(t, subject)}).write(t),
	}
}

func TestEachSourceHasIDTokens(t *testing.T) {
	for identity, env := range idTokenSources(t) {
		f := cloudtest.New(t)
		want := idToken(audience, inAnHour())
		serveIDTokens(t, f, func() string { return want })
		s := google.NewIDTokenSource(cloudtest.Fetches(t), f.Cloud(env), audience)
		if len(f.Dialed()) != 0 {
			t.Errorf("%s: asked before a token is needed", identity)
		}
		token, err := s.Token(t.Context())
		if token != want || err != nil || s.Identity() != identity {
			t.Errorf("%s: %q, %v", s.Identity(), token, err)
		}
		if left := time.Until(s.Status().Expires); left < 59*time.Minute || left > time.Hour {
			t.Errorf("%s: the token ends in %s", identity, left)
		}
	}
}

// TestOtherAnswersAreNoIDTokens shows that a token for another service, or one that has ended, is not sent.
func TestOtherAnswersAreNoIDTokens(t *testing.T) {
	for answered, want := range map[string]string{
		idToken("https://evil.example", inAnHour()):        "an ID token for another audience",
		idToken([]string{audience}, inAnHour()):            "something else than an ID token",
		idToken(audience, time.Now().Add(-1).Unix()):       "an ID token without its end, or one that has expired",
		idToken(audience, nil):                             "an ID token without its end, or one that has expired",
		idToken(audience, "soon"):                          "something else than an ID token",
		"CANARY.a.b":                                       "something else than an ID token",
		"CANARY":                                           "something else than an ID token",
		"CANARY." + idToken(audience, inAnHour()):          "something else than an ID token",
		idToken(audience, inAnHour()) + " CANARY":          "something else than an ID token",
		idToken(audience, inAnHour()) + "\r\nX-Other: a.b": "something else than an ID token",
	} {
		for identity, env := range idTokenSources(t) {
			f := cloudtest.New(t)
			serveIDTokens(t, f, func() string { return answered })
			_, err := google.NewIDTokenSource(cloudtest.Fetches(t), f.Cloud(env), audience).Token(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q: %v", identity, answered, err)
			}
			cloudtest.CheckNoSecret(t, err)
		}
	}
}

func TestAFederationWithoutAServiceAccountHasNoIDTokens(t *testing.T) {
	f := cloudtest.New(t)
	file := federated(members{"file": write(t, subject)}).with("service_account_impersonation_url", nil)
	_, err := google.NewIDTokenSource(cloudtest.Fetches(t), f.Cloud(file.write(t)), audience).Token(t.Context())
	if err == nil || !strings.Contains(err.Error(), "names no service account, and only a service account has ID tokens") || len(f.Dialed()) != 0 {
		t.Errorf("%v, dialed %q", err, f.Dialed())
	}
}

func TestARefusedIDTokenHasAStatusAndNoText(t *testing.T) {
	for identity, want := range map[string]string{
		"service account of the machine (metadata server)": "the metadata server answered 403 Forbidden",
		email + " (service account key)":                   "the token service of Google answered 403 Forbidden, PERMISSION_DENIED",
		email + " (workload identity federation)":          "the IAM credentials service of Google answered 403 Forbidden, PERMISSION_DENIED, does the workload have roles/iam.workloadIdentityUser",
	} {
		f := cloudtest.New(t)
		refuse := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Metadata-Flavor", "Google")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"error": {"status": "PERMISSION_DENIED", "message": %q}}`, canaryBody)
		}
		for _, at := range []string{metadata, tokenHost, iamHost} {
			f.Serve(at, refuse)
		}
		serveExchange(t, f, "https://www.googleapis.com/auth/cloud-platform", ownToken)
		_, err := google.NewIDTokenSource(cloudtest.Fetches(t), f.Cloud(idTokenSources(t)[identity]), audience).Token(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", identity, err)
		}
		cloudtest.CheckNoSecret(t, err)
	}
}
