package http_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"hatchel/adapters/adaptertest"
)

// failExchange makes a call whose tokens are requested from another server. It returns the fault with all logs,
// and the caller's token.
func failExchange(t *testing.T, token nethttp.HandlerFunc) (report, callerToken string, u *upstream) {
	t.Helper()
	u = serveUpstream(t)
	src := u.source("")
	src.HCL = strings.Replace(src.HCL, u.URL+"/token", serve(t, token).URL+"/token", 1)
	callerToken = u.callerToken("ada")
	b := adaptertest.Bind(t, src)
	_, err := callAs(t, b, t.Context(), "ada", callerToken, inAnHour())
	f := wantFault(t, err)
	return fmt.Sprint(f.Message, f.Cause, b.Log.String()), callerToken, u
}

// Another address on the same host may belong to somebody else.
func TestRedirectOfATokenServerIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var redirected atomic.Int64
		report, _, u := failExchange(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if r.URL.Path != "/token" {
				redirected.Add(1)
				fmt.Fprint(w, `{"access_token": "x", "token_type": "Bearer"}`)
				return
			}
			nethttp.Redirect(w, r, "/elsewhere", status)
		})
		if redirected.Load() != 0 || len(u.seen) != 0 || !strings.Contains(report, fmt.Sprint("the token server returned ", status)) {
			t.Errorf("%d: %d requests were redirected: %s", status, redirected.Load(), report)
		}
	}
}

func TestSecretsRepeatedByATokenServerAreHidden(t *testing.T) {
	report, callerToken, _ := failExchange(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.WriteHeader(nethttp.StatusBadRequest)
		fmt.Fprintf(w, `{"error": %q, "error_description": %q}`, r.PostFormValue("subject_token"), "I was sent "+r.Header.Get("Authorization")+" and "+r.PostForm.Encode())
	})
	for _, secret := range []string{callerToken, "s3cret-k3y", base64.StdEncoding.EncodeToString([]byte("hatchel:s3cret-k3y"))} {
		if strings.Contains(report, secret) {
			t.Errorf("%s is in %s", secret, report)
		}
	}
	wantPart(t, report, "400 Bad Request")
}

func TestHugeResponseOfATokenServerIsRejected(t *testing.T) {
	report, _, _ := failExchange(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		fmt.Fprintf(w, `{"access_token": "%s", "token_type": "Bearer"}`, strings.Repeat("x", 1<<20))
	})
	wantPart(t, report, "response is larger than 64 KiB")
}

// TestAnswersOfTokenServersAreRead has answers of token servers as they are. Each has a token, or an error.
func TestAnswersOfTokenServersAreRead(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for _, x := range []struct {
		name       string
		status     int
		kind, body string
		want       string // a part of the message; empty if the token is used
	}{
		{"JSON", 200, "application/json", `{"access_token": "abc-token", "token_type": "Bearer", "expires_in": 3600}`, ""},
		{"201", 201, "application/json", `{"access_token": "abc-token", "token_type": "bearer"}`, ""},
		{"203", 203, "application/json", `{"access_token": "abc-token"}`, ""},
		{"a form", 200, form + "; charset=utf-8", "access_token=abc-token&scope=repo%2Cgist&token_type=bearer", ""},
		{"a form as text", 200, "text/plain", "access_token=abc-token&expires_in=3600\n", ""},
		{"JSON as text", 200, "text/html", `{"access_token": "abc-token"}`, ""},
		{"a byte order mark", 200, "application/json", "\ufeff" + `{"access_token": "abc-token"}`, ""},
		{"a lone surrogate", 200, "application/json", `{"access_token": "abc-token", "user": "\ud83d"}`, ""},
		{"texts for numbers", 200, "application/json", `{"access_token": "abc-token", "expires_in": "3600"}`, ""},
		{"null for a lifetime", 200, "application/json", `{"access_token": "abc-token", "expires_in": null, "token_type": null}`, ""},
		{"an empty type", 200, "application/json", `{"access_token": "abc-token", "token_type": ""}`, ""},
		{"an error that is none", 200, "application/json", `{"access_token": "abc-token", "error": "", "token_type": "BEARER"}`, ""},
		{"an error with 200", 200, "application/json", `{"error": "bad_verification_code", "error_description": "The code is wrong."}`, "the token server returned 200 OK, bad_verification_code: The code is wrong."},
		{"an error with 200 in a form", 200, form, "error=incorrect_client_credentials&error_description=The+client_id+is+wrong.", "the token server returned 200 OK, incorrect_client_credentials: The client_id is wrong."},
		{"an error with a number", 200, "application/json", `{"error": 1001, "message": "The secret is wrong."}`, "the token server returned 200 OK, error 1001: The secret is wrong."},
		{"an error that is true", 200, "application/json", `{"error": true, "error_description": "Unknown."}`, "200 OK, error true: Unknown."},
		{"an error that is false", 200, "application/json", `{"error": false, "access_token": "abc-token"}`, ""},
		{"another charset", 200, "application/json; charset=iso-8859-1", "{\"access_token\": \"abc-token\", \"name\": \"caf\xe9\"}", ""},
		{"a page of a proxy", 503, "text/html", "<html><style>a</style><h1>Down for maintenance</h1></html>", "503 Service Unavailable: Down for maintenance"},
		{"an error in another form", 400, "application/json", `{"message": "No such client."}`, `400 Bad Request: {"message": "No such client."}`},
		{"an error beside a token", 200, "application/json", `{"access_token": "abc-token", "error": "invalid_scope"}`, "200 OK, invalid_scope"},
		{"an error that is an object", 400, "application/json", `{"error": {"code": "InvalidClient", "message": "Unknown."}}`, "400 Bad Request, InvalidClient: Unknown."},
		{"a form with 401", 401, form, "error=invalid_client", "401 Unauthorized, invalid_client"},
		{"a page", 200, "text/html", "<html>Log in</html>", "the token server returned no bearer token but text/html"},
		{"nothing", 204, "", "", "the token server returned no bearer token"},
		{"another type", 200, "application/json", `{"access_token": "abc-token", "token_type": "mac"}`, `the token server returned no bearer token but one of the type "mac"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			tokens := serve(t, respondWith(x.status, x.kind, x.body))
			s := serve(t, respond(`{}`))
			auth := fmt.Sprintf("  auth {\n    oauth2 {\n      token_url = %q\n      client_id = \"hatchel\"\n      client_secret = secret.key\n    }\n  }", tokens.URL)
			_, err := adaptertest.Bind(t, source(s.URL, auth, "", `    get = "/"`)).Do(t.Context(), `{}`)
			if x.want != "" {
				wantPart(t, wantFault(t, err).Message, x.want)
				if s.count() != 0 {
					t.Error("the request was sent")
				}
				return
			}
			if err != nil || s.last().Header.Get("Authorization") != "Bearer abc-token" {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTheAddressThatATokenServerRedirectsToIsNamed(t *testing.T) {
	report, _, _ := failExchange(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, "/oauth2/token", nethttp.StatusMovedPermanently)
	})
	wantPart(t, report, "the token server returned 301 Moved Permanently, a redirect to /oauth2/token that is not followed")
}

func TestAUserNameWithAColonIsRefused(t *testing.T) {
	src := source("https://shop.example", "  auth {\n    basic = { username = \"a:b\", password = secret.key }\n  }", "", `    get = "/"`)
	wantPart(t, adaptertest.MustReject(t, src), "The user name of basic must not contain a colon, because a colon ends it.")
	t.Run("at the call if it is known then", func(t *testing.T) {
		s := serve(t, respond(`{}`))
		src := source(s.URL, "  auth {\n    basic = { username = secret.user, password = secret.key }\n  }", "", `    get = "/"`)
		src.HCL = "secret \"user\" { env = \"USER_NAME\" }\n" + src.HCL
		src.Env["USER_NAME"] = "admin:x"
		_, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`)
		wantPart(t, wantFault(t, err).Message, "the user name of basic must not contain a colon")
		if s.count() != 0 {
			t.Error("a request was sent")
		}
	})
}

// Services quote requests in what they answer, and escape and encode what they quote.
func TestATokenThatAServiceRepeatsIsHiddenInEachSpelling(t *testing.T) {
	const token = "ya29.a0+bc/T0KEN-abcdefgh=="
	tokens := serve(t, respond(`{"access_token": "`+token+`", "expires_in": 3600}`))
	for name, text := range map[string]string{
		"as it is":    token,
		"JSON of PHP": strings.ReplaceAll(token, "/", `\/`),
		"JSON":        strings.ReplaceAll(token, "+", `\u002B`),
		"a query":     url.QueryEscape(token),
		"a path":      url.PathEscape(token),
		"HTML":        strings.ReplaceAll(token, "+", "&#43;"),
		"base64":      base64.StdEncoding.EncodeToString([]byte("Bearer " + token)),
		"hexadecimal": hex.EncodeToString([]byte(token)),
	} {
		for _, x := range []struct {
			as, body string
			status   int
		}{
			{"json", `{"` + text + `": ["` + text + `"]}`, 200}, {"jsonl", `{"a": "` + text + `"}`, 200}, {"json", text, 200},
			{"text", text, 200}, {"json", `{"error": "` + text + `"}`, 403}, {"json", "", 302},
		} {
			service := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
				w.Header().Set("X-Sent", text)
				w.Header().Set("Location", "https://other.invalid/"+url.PathEscape(text))
				w.WriteHeader(x.status)
				fmt.Fprint(w, x.body)
			})
			src := clientSource(service.URL, tokens.URL, "s3cret-k3y", "client_secret = secret.key")
			src.HCL = strings.Replace(src.HCL, `get = "/"`, fmt.Sprintf("get = \"/\"\n as = %q", x.as), 1)
			out, err := adaptertest.Bind(t, src).Do(t.Context(), `{}`)
			var report string
			if err != nil {
				f := wantFault(t, err)
				report = fmt.Sprint(f.Message, f.Cause)
			} else {
				report = fmt.Sprint(resolved(t, out["body"]), out["headers"])
			}
			if strings.Contains(report, text) || strings.Contains(report, token) || !strings.Contains(report, "(secret)") {
				t.Errorf("%s, %d as %s: %s", name, x.status, x.as, report)
			}
		}
	}
}
