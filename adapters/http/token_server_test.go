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

// exchangedAt calls once in the name of ada, with tokens that another server gives out, and returns what has failed.
func exchangedAt(t *testing.T, token nethttp.HandlerFunc) (said, own string, u *upstream) {
	t.Helper()
	u = serveUpstream(t)
	source := u.source("")
	source.HCL = strings.Replace(source.HCL, u.URL+"/token", serve(t, token).URL+"/token", 1)
	own = u.token("ada")
	b := adaptertest.Bind(t, source)
	_, err := as(t, b, t.Context(), "ada", own, later())
	f := fault(t, err)
	return fmt.Sprint(f.Message, f.Cause, b.Log.String()), own, u
}

// What is sent to token_url is sent nowhere else: not even to another address of the same host, which may be somebody else's.
func TestATokenServerThatRedirectsIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var elsewhere atomic.Int64
		said, _, u := exchangedAt(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if r.URL.Path != "/token" {
				elsewhere.Add(1)
				fmt.Fprint(w, `{"access_token": "x", "token_type": "Bearer"}`)
				return
			}
			nethttp.Redirect(w, r, "/elsewhere", status)
		})
		if elsewhere.Load() != 0 || len(u.seen) != 0 || !strings.Contains(said, fmt.Sprint("the token server returned ", status)) {
			t.Errorf("%d: %d requests came elsewhere: %s", status, elsewhere.Load(), said)
		}
	}
}

func TestWhatATokenServerRepeatsOfARequestIsNotPassedOn(t *testing.T) {
	said, own, _ := exchangedAt(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.WriteHeader(nethttp.StatusBadRequest)
		fmt.Fprintf(w, `{"error": %q, "error_description": %q}`, r.PostFormValue("subject_token"), "I was sent "+r.Header.Get("Authorization")+" and "+r.PostForm.Encode())
	})
	for _, secret := range []string{own, "s3cret-k3y", base64.StdEncoding.EncodeToString([]byte("hatchel:s3cret-k3y"))} {
		if strings.Contains(said, secret) {
			t.Errorf("%s is in %s", secret, said)
		}
	}
	if !strings.Contains(said, "400 Bad Request") {
		t.Error(said)
	}
}

func TestAHugeAnswerOfATokenServerIsRefused(t *testing.T) {
	said, _, _ := exchangedAt(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		fmt.Fprintf(w, `{"access_token": "%s", "token_type": "Bearer"}`, strings.Repeat("x", 1<<20))
	})
	if !strings.Contains(said, "response is larger than 64 KiB") && !strings.Contains(said, "response is larger than 64KiB") {
		t.Error(said)
	}
}
