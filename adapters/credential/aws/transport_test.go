package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/aws/awstest"
)

// roundTripper is a function that sends requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// clocked is a source of credentials of an hour and a service that verifies their signatures, on one clock.
type clocked struct {
	issuer  awstest.Issuer
	fetches atomic.Int32
	down    atomic.Bool
	skew    time.Duration // of the clock of the service
}

// transport returns a transport to the service. It closes the fetches when the test function of a bubble ends.
func (c *clocked) transport(t *testing.T) (*Transport, func() error) {
	var closed func() error
	fetches := credential.NewFetches(t.Context(), adapters.Env{Defer: func(f func() error) { closed = f }})
	fetch := func(context.Context) (Credentials, credential.Life, error) {
		n := c.fetches.Add(1)
		if c.down.Load() {
			return Credentials{}, credential.Life{}, errors.New("no AWS credential: the source is down")
		}
		k := awstest.Key{ID: fmt.Sprintf("ASIA%d", n), Secret: "s", Token: fmt.Sprintf("token%d", n)}
		c.issuer.Add(k)
		return Credentials{KeyID: k.ID, Secret: k.Secret, Token: k.Token}, credential.NewLife(time.Now(), time.Hour), nil
	}
	p := &Provider{source: credential.NewCache(fetches, fetch)}
	v := &awstest.Verifier{Service: "s3", Region: "us-east-1", Key: c.issuer.Key,
		Now: func() time.Time { return time.Now().Add(c.skew) }}
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body.Close()
		sent := r.Clone(r.Context())
		sent.RequestURI = r.URL.RequestURI()
		status, text := http.StatusOK, r.Header.Get("Authorization")
		switch err := v.Verify(sent, body); {
		case err != nil && strings.HasPrefix(err.Error(), "InvalidAccessKeyId"):
			status, text = http.StatusForbidden, "<Error><Code>ExpiredToken</Code></Error>"
		case err != nil:
			status, text = http.StatusForbidden, "<Error><Code>"+err.Error()+"</Code></Error>"
		}
		header := http.Header{"Date": {v.Now().UTC().Format(http.TimeFormat)}}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(text))}, nil
	})
	block := &SigV4{Service: "s3", Identity: Identity{Region: "us-east-1"}}
	return NewTransport(block, p, next), closed
}

// post sends a body that is opened twice: for its hash, and for the service.
func post(t *testing.T, transport http.RoundTripper) (status int, text string) {
	t.Helper()
	opened := 0
	open := func() (io.ReadCloser, error) {
		opened++
		return io.NopCloser(strings.NewReader("a streamed body")), nil
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://s3.example/b/k", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.GetBody = open
	r.Body, _ = open()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	raw, _ := io.ReadAll(resp.Body)
	if r.Header.Get("Authorization") != "" {
		t.Error("the request of the caller was changed")
	}
	if explained := ExplainRefusal(resp, raw); explained != "" {
		return resp.StatusCode, explained
	}
	return resp.StatusCode, string(raw)
}

func TestEachAttemptHasTheTimeAtWhichItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(clocked)
		transport, closed := c.transport(t)
		seen := map[string]bool{}
		for range 30 { // over the whole life of a credential, and its replacement
			status, text := post(t, transport)
			if status != http.StatusOK || seen[text] {
				t.Fatalf("%d %s", status, text)
			}
			seen[text] = true
			time.Sleep(7 * time.Minute)
			synctest.Wait()
		}
		if n := c.fetches.Load(); n < 3 || n > 5 {
			t.Errorf("%d fetches in three and a half hours", n)
		}
		if err := closed(); err != nil {
			t.Error(err)
		}
	})
}

func TestCallsSucceedUntilTheCredentialEndsWhileTheSourceIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(clocked)
		transport, closed := c.transport(t)
		began := time.Now()
		var last time.Duration
		for time.Since(began) < 2*time.Hour {
			status, text := post(t, transport)
			if status == http.StatusOK {
				last = time.Since(began)
			} else if !strings.Contains(text, "signing in failed: no AWS credential: the source is down") {
				t.Fatal(status, text)
			}
			c.down.Store(true)
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if last < 59*time.Minute || last > time.Hour {
			t.Errorf("the last call that succeeded was after %v", last)
		}
		if err := closed(); err != nil {
			t.Error(err)
		}
	})
}

func TestARequestIsSentAgainOnceWithAnotherCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(clocked)
		transport, closed := c.transport(t)
		if status, text := post(t, transport); status != http.StatusOK {
			t.Fatal(status, text)
		}
		c.issuer.Revoke()
		if status, text := post(t, transport); status != http.StatusOK || c.fetches.Load() != 2 {
			t.Errorf("%d %s after %d fetches", status, text, c.fetches.Load())
		}
		c.issuer.Revoke()
		c.down.Store(true) // the refusal of the service is the answer
		if status, text := post(t, transport); status != http.StatusForbidden || !strings.Contains(text, "ExpiredToken") {
			t.Errorf("%d %s", status, text)
		}
		if err := closed(); err != nil {
			t.Error(err)
		}
	})
}

func TestABodyThatCannotBeReadIsNotSent(t *testing.T) {
	for name, failure := range map[string]error{
		"the body of the request cannot be read": io.ErrUnexpectedEOF, "the file is gone": &adapters.Fault{Message: "the file is gone"},
	} {
		c := new(clocked)
		transport, closed := c.transport(t)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://s3.example/b/k", strings.NewReader("x"))
		r.GetBody = func() (io.ReadCloser, error) { return nil, failure }
		_, err := transport.RoundTrip(r)
		if fault, ok := errors.AsType[*adapters.Fault](err); !ok || fault.Message != name || !fault.NotSent {
			t.Errorf("%#v", err)
		}
		if err := closed(); err != nil {
			t.Error(err)
		}
	}
}

func TestARefusedTimeNamesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for skew, want := range map[time.Duration]string{
			20 * time.Minute:  "the clock of this machine is 20m0s behind that of the service",
			-20 * time.Minute: "the clock of this machine is 20m0s ahead of that of the service",
		} {
			c := &clocked{skew: skew}
			transport, closed := c.transport(t)
			status, text := post(t, transport)
			if status != http.StatusForbidden || text != ", which refuses the time of the signature: "+want {
				t.Errorf("%d %s", status, text)
			}
			if err := closed(); err != nil {
				t.Error(err)
			}
		}
	})
}
