package http_test

import (
	"encoding/base64"
	"fmt"
	nethttp "net/http"
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
