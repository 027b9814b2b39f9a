package credential_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/credential"
	"hatchel/adapters/credential/cloudtest"
)

const (
	metadataURL = "http://169.254.169.254/token?audience=sent-only"
	serviceURL  = "https://token.example/v1/token"
	canary      = "ya29.CANARY-of-a-body"
)

// TestMetadataIsAskedAtItsAddressOnly shows that neither a proxy nor a redirect moves a question elsewhere.
func TestMetadataIsAskedAtItsAddressOnly(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://proxy.example:3128")
	}
	f := cloudtest.New(t)
	f.Serve("169.254.169.254:80", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://elsewhere.example/"+canary)
		w.WriteHeader(http.StatusFound)
	})
	a, err := f.Cloud(nil).Metadata.Ask(t.Context(), credential.Question{Of: "the metadata", URL: metadataURL})
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, a.Failure(), "the metadata answered 302 Found, a redirect, which is not followed")
	if got := f.Dialed(); !slices.Equal(got, []string{"169.254.169.254:80"}) {
		t.Errorf("dialed %q", got)
	}
	_, err = f.Cloud(nil).Services.Ask(t.Context(), credential.Question{Of: "the service", URL: serviceURL})
	checkText(t, err, "the service is not reachable: the proxy that the environment names did not connect")
}

func TestMetadataIsBoundedInTimeAndSize(t *testing.T) {
	f := cloudtest.New(t)
	size := 64 << 10
	f.Serve("169.254.169.254:80", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(strings.Repeat("x", size)))
	})
	done := make(chan struct{})
	f.Serve("169.254.170.2:80", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(canary)) // and never ends
		w.(http.Flusher).Flush()
		<-done
	})
	defer close(done)
	cloud := f.Cloud(nil)
	q := credential.Question{Of: "the metadata", URL: metadataURL}
	if a, err := cloud.Metadata.Ask(t.Context(), q); err != nil || len(a.Body) != size {
		t.Errorf("%d bytes, %v", len(a.Body), err)
	}
	size++
	_, err := cloud.Metadata.Ask(t.Context(), q)
	checkText(t, err, "the metadata answered more than 64 KiB")

	begin := time.Now()
	q.URL = "http://169.254.170.2/"
	_, err = cloud.Metadata.Ask(t.Context(), q)
	checkText(t, err, "the metadata did not answer within 1s")
	if took := time.Since(begin); took < 900*time.Millisecond || took > 3*time.Second {
		t.Errorf("the limit of a second ended after %s", took)
	}
}

// TestAQuestionIsRepeatedWhileItsFailureMayPass shows that services which start are asked again, and that refusals are
// not repeated.
func TestAQuestionIsRepeatedWhileItsFailureMayPass(t *testing.T) {
	for _, c := range []struct {
		statuses []int
		form     url.Values
		want     string
		asked    int
	}{
		{[]int{503, 429, 200}, nil, "", 3},
		{[]int{500, 500, 500}, nil, "the service answered 500 Internal Server Error (3 attempts)", 3},
		{[]int{503, 403}, nil, "the service answered 403 Forbidden, access_denied (2 attempts)", 2},
		{[]int{404}, nil, "the service answered 404 Not Found, access_denied", 1},
		{[]int{503, 200}, url.Values{"a": {canary}}, "", 2},
		{[]int{400, 200}, url.Values{"a": {canary}}, "the service answered 400 Bad Request, access_denied", 1},
		{[]int{409, 200}, url.Values{"a": {canary}}, "", 2},
	} {
		f, asked := cloudtest.New(t), 0
		f.Serve("token.example:443", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.statuses[asked])
			w.Write([]byte(canary))
			asked++
		})
		q := credential.Question{Of: "the service", URL: serviceURL}
		if c.form != nil {
			q = credential.NewForm("the service", serviceURL, c.form)
			q.MayPass = func(a credential.Answer) bool { return a.Status == 409 }
		}
		a, err := f.Cloud(nil).Services.Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != 200 {
			code := "access_denied"
			if a.Status == 500 {
				code = ""
			}
			checkText(t, a.Failure(code), c.want)
		}
		if asked != c.asked {
			t.Errorf("%v: asked %d times", c.statuses, asked)
		}
	}
}

func TestAnUnreachableServiceIsNamedWithoutItsAddress(t *testing.T) {
	_, err := cloudtest.New(t).Cloud(nil).Services.Ask(t.Context(), credential.NewForm("the service",
		"https://none.example/"+canary, url.Values{"assertion": {canary}}))
	checkText(t, err, `the service is not reachable: the host "none.example:443" does not exist (3 attempts)`)
}

func TestAWrongClockIsNamed(t *testing.T) {
	for offset, want := range map[time.Duration]string{
		time.Hour:        "; the clock of this machine is 1h0m0s behind that of the service",
		-5 * time.Minute: "; the clock of this machine is 5m0s ahead of that of the service",
		30 * time.Second: "",
	} {
		f := cloudtest.New(t)
		f.Serve("token.example:443", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(offset).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusBadRequest)
		})
		a, err := f.Cloud(nil).Services.Ask(t.Context(), credential.Question{Of: "the service", URL: serviceURL})
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, a.Failure(), "the service answered 400 Bad Request"+want)
	}
}

// TestACodeThatQuotesACredentialIsLeftOut has a service that answers what it was sent as the code of its error.
func TestACodeThatQuotesACredentialIsLeftOut(t *testing.T) {
	f := cloudtest.New(t)
	f.Serve("token.example:443", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) })
	q := credential.NewForm("the service", serviceURL, url.Values{"client_secret": {"formSecret"}})
	q.Header.Set("Authorization", "Bearer headerSecret")
	a, err := f.Cloud(nil).Services.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"formSecret", "headerSecret"} {
		checkText(t, a.Failure(secret, "access_denied"), "the service answered 403 Forbidden, access_denied")
	}
}

// TestAnEndedCallIsNoFailureOfSigningIn shows that the clock of a call is not taken for that of a service.
func TestAnEndedCallIsNoFailureOfSigningIn(t *testing.T) {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if err := credential.SignInError(fmt.Errorf("ended: %w", ended)); !errors.Is(err, ended) ||
			strings.Contains(err.Error(), "signing in") {
			t.Errorf("%v", err)
		}
	}
	checkText(t, credential.SignInError(errors.New("no token")), "signing in failed: no token")
}

func checkText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %q, not %q", err, want)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("the error has a credential: %s", err)
	}
}
