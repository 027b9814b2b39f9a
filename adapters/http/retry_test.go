package http_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

// flaky refuses the first requests with a status.
func flaky(t testing.TB, refusals int, status int, header ...string) *shop {
	var n atomic.Int32
	return serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if int(n.Add(1)) <= refusals {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			return
		}
		_, _ = w.Write([]byte(`{}`))
	})
}

const retried = `  retry {
    attempts = 3
    backoff  = "1ms"
  }`

func TestOnlySafeRequestsAreSentAgain(t *testing.T) {
	for _, x := range []struct {
		connection, block string
		status            int
		sent              int
	}{
		{retried, `get = "/"`, 503, 3},
		{retried, `head = "/"`, 502, 3},
		{retried, "put = \"/\"\n json = 1", 504, 3},
		{retried, `delete = "/"`, 429, 3},
		{retried, `get = "/"`, 500, 1},
		{retried, "post = \"/\"\n json = 1", 503, 1},
		{retried, `patch = "/"`, 503, 1},
		{"", `get = "/"`, 503, 1},
		{retried, "post = \"/\"\n headers = { Idempotency-Key = \"k\" }", 503, 3},
		{"", "post = \"/\"\n json = 1\n" + retried, 503, 3},
		{"", "post = \"/\"\n" + retried, 502, 1},
		{"", "post = \"/\"\n retry {\n on = [\"5xx\"]\n backoff = \"1ms\"\n }", 502, 3},
		{"", "get = \"/\"\n retry {\n on = [\"404\"]\n backoff = \"1ms\"\n attempts = 2\n }", 404, 2},
	} {
		s := flaky(t, 100, x.status)
		_, err := adaptertest.Bind(t, tool(s.URL, x.connection, "", x.block)).Do(t.Context(), `{}`)
		if f := fault(t, err); f.Status != x.status || s.count() != x.sent {
			t.Errorf("%s\n%s: %d sent %d times", x.connection, x.block, x.status, s.count())
		}
	}
}

func TestLaterAttemptCanSucceed(t *testing.T) {
	s := flaky(t, 2, 503)
	b := adaptertest.Bind(t, tool(s.URL, retried, "", "put = \"/\"\n json = { a = 1 }"))
	if _, err := b.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.seen {
		if r.body != `{"a":1}` {
			t.Errorf("sent %q", r.body)
		}
	}
}

// breaking counts connections and resets each after it read a request.
func breaking(t *testing.T) (url string, count *atomic.Int32) {
	count = new(atomic.Int32)
	return line(t, func(c net.Conn) {
		count.Add(1)
		reset(c)
	}), count
}

func TestBrokenConnectionIsNoReasonToActTwice(t *testing.T) {
	url, n := breaking(t)
	_, err := adaptertest.Bind(t, tool(url, "", "", "post = \"/\"\n json = 1\n"+retried)).Do(t.Context(), `{}`)
	if fault(t, err); n.Load() != 1 {
		t.Errorf("a POST was sent %d times", n.Load())
	}
	url, n = breaking(t)
	_, err = adaptertest.Bind(t, tool(url, retried, "", `put = "/"`)).Do(t.Context(), `{}`)
	if fault(t, err); n.Load() != 3 {
		t.Errorf("a PUT was sent %d times", n.Load())
	}
}

func TestRetryAfterIsObeyedWithinReason(t *testing.T) {
	s := flaky(t, 1, 429, "Retry-After", "1")
	b := adaptertest.Bind(t, tool(s.URL, retried, "", `get = "/"`))
	start := time.Now()
	if _, err := b.Do(t.Context(), `{}`); err != nil || time.Since(start) < time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}

	s = flaky(t, 1, 503, "Retry-After", "3600")
	_, err := adaptertest.Bind(t, tool(s.URL, retried, "", `get = "/"`)).Do(t.Context(), `{}`)
	if said := fault(t, err).Message; s.count() != 1 || said != "the service returned 503 Service Unavailable (retry after 1h0m0s)" {
		t.Errorf("%d, %s", s.count(), said)
	}

	s = flaky(t, 1, 503, "Retry-After", "60")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	start = time.Now()
	_, err = adaptertest.Bind(t, tool(s.URL, retried, "", `get = "/"`)).Do(ctx, `{}`)
	if fault(t, err); time.Since(start) > adaptertest.Patience {
		t.Errorf("waited %v for nothing", time.Since(start))
	}
}

func TestCancelEndsTheWaitForAnotherAttempt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(503)
		w.(nethttp.Flusher).Flush()
		cancel()
	})
	b := adaptertest.Bind(t, tool(s.URL, "", "", "get = \"/\"\n retry {\n }"))
	start := time.Now()
	if _, err := b.Do(ctx, `{}`); !errors.Is(err, context.Canceled) || time.Since(start) > adaptertest.Patience {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
}

// login is a token server and the service behind it. Tokens are t1, t2, …; the service takes the latest only.
type login struct {
	*shop
	issued  atomic.Int32
	asked   atomic.Int32
	revoked atomic.Int32 // the tokens up to this one are refused
	expires string
}

func serveLogin(t testing.TB, expires string) *login {
	l := &login{expires: expires}
	l.shop = serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path != "/token" {
			var n int32
			if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer t%d", &n); err != nil || n <= l.revoked.Load() {
				w.WriteHeader(nethttp.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(`{}`))
			return
		}
		l.asked.Add(1)
		id, secret, _ := r.BasicAuth()
		if err := r.ParseForm(); err != nil || id != "me" || secret != "s3cret-k3y" || r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("scope") != "a b" || r.Form.Get("audience") != "x" {
			w.WriteHeader(nethttp.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "no client me with %s"}`, secret)
			return
		}
		fmt.Fprintf(w, `{"access_token": "t%d", "token_type": "Bearer"%s}`, l.issued.Add(1), l.expires)
	})
	return l
}

func (l *login) source(secret string) adaptertest.Source {
	return tool(l.URL, fmt.Sprintf(`  auth {
    oauth2 {
      token_url     = "%s/token"
      client_id     = "me"
      client_secret = %s
      scopes        = ["a", "b"]
      params        = { audience = "x" }
    }
  }`, l.URL, secret), "", `    post = "/x"`)
}

func TestTokenIsFetchedOnceForAll(t *testing.T) {
	l := serveLogin(t, `, "expires_in": 3600`)
	b := adaptertest.Bind(t, l.source("secret.key"))
	errs := make(chan error)
	for range 32 {
		go func() {
			_, err := b.Do(t.Context(), `{}`)
			errs <- err
		}()
	}
	for range 32 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := l.asked.Load(); n != 1 {
		t.Errorf("%d tokens were asked for", n)
	}
	plan, err := b.Plan(t.Context(), `{}`)
	if err != nil || !strings.Contains(plan, "Authorization: Bearer (secret)") {
		t.Errorf("%v, %s", err, plan)
	}
}

func TestExpiredTokenIsReplaced(t *testing.T) {
	l := serveLogin(t, `, "expires_in": "0.05"`)
	b := adaptertest.Bind(t, l.source("secret.key"))
	deadline := time.Now().Add(adaptertest.Patience)
	for l.issued.Load() < 3 && time.Now().Before(deadline) {
		if _, err := b.Do(t.Context(), `{}`); err != nil {
			t.Fatal(err)
		}
	}
	if l.issued.Load() < 3 {
		t.Errorf("%d tokens", l.issued.Load())
	}
}

func TestRevokedTokenIsReplacedOnce(t *testing.T) {
	l := serveLogin(t, "")
	b := adaptertest.Bind(t, l.source("secret.key"))
	if _, err := b.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	l.revoked.Store(1)
	if _, err := b.Do(t.Context(), `{}`); err != nil {
		t.Errorf("the new token was not used: %v", err)
	}
	l.revoked.Store(1000)
	_, err := b.Do(t.Context(), `{}`)
	if f := fault(t, err); f.Status != 401 || l.issued.Load() != 3 {
		t.Errorf("%s, %d tokens", f.Message, l.issued.Load())
	}
}

func TestRefusedClientIsSaid(t *testing.T) {
	l := serveLogin(t, "")
	b := adaptertest.Bind(t, l.source(`"${secret.key}-wrong"`))
	_, err := b.Do(t.Context(), `{}`)
	if said := fault(t, err).Message; said != "signing in failed: the token server returned 401 Unauthorized, invalid_client: no client me with (secret)" {
		t.Error(said)
	}
	if l.count() != 1 {
		t.Error("the request was sent without a token")
	}
}

func TestWaitForATokenEndsWithTheCall(t *testing.T) {
	url := line(t, func(c net.Conn) { <-t.Context().Done() })
	src := tool(url, fmt.Sprintf("  auth {\n    oauth2 {\n      token_url = %q\n      client_id = \"me\"\n      client_secret = secret.key\n    }\n  }", url), "", `    get = "/"`)
	b := adaptertest.Bind(t, src)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Do(ctx, `{}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := b.Close(); err != nil { // ends the fetch that is still under way
		t.Error(err)
	}
}

// What a breaker and a key go by: whether the service works, and whether anything can have reached it.
func TestAFaultSaysWhatItSaysOfTheService(t *testing.T) {
	nobody := "http://127.0.0.1:1" // no system gives this port to anybody who does not ask for it
	for _, c := range []struct {
		claim           string
		status          int
		down, untouched bool
	}{
		{"an answer that refuses is one", 404, false, false},
		{"so is one that nothing may be done", 403, false, false},
		{"a service that is out of order is down", 503, true, false},
		{"as is one that is asked too often", 429, true, false},
		{"nobody is there", 0, true, true},
	} {
		url := nobody
		if c.status != 0 {
			url = serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(c.status) }).URL
		}
		_, err := adaptertest.Bind(t, tool(url, "", "", `    post = "/"`)).Do(t.Context(), `{}`)
		var f *adapters.Fault
		if !errors.As(err, &f) || f.Down != c.down || f.Untouched != c.untouched {
			t.Errorf("%s: %+v", c.claim, f)
		}
	}
	n := 0
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if n++; n == 1 {
			w.WriteHeader(503)
			return
		}
		panic(nethttp.ErrAbortHandler)
	})
	b := adaptertest.Bind(t, tool(s.URL, "", "", "    post = \"/\"\n    retry {\n      attempts = 2\n      backoff = \"1ms\"\n    }"))
	var f *adapters.Fault
	if _, err := b.Do(t.Context(), `{}`); !errors.As(err, &f) || f.Untouched {
		t.Errorf("after an attempt that was sent: %+v", f)
	}
}

func TestAFetchedTokenIsHiddenInAnAnswerThatRepeatsIt(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"access_token": "fetched-0815", "token_type": "Bearer", "expires_in": 3600}`)
			return
		}
		w.Header().Set("X-Seen", r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"seen": %q}`, r.Header.Get("Authorization"))
	})
	b := adaptertest.Bind(t, tool(s.URL, fmt.Sprintf("  auth {\n    oauth2 {\n      token_url     = \"%s/token\"\n      client_id     = \"me\"\n      client_secret = secret.key\n    }\n  }", s.URL), "", `    get = "/x"`))
	out, err := b.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := value.AppendJSON(nil, out)
	if err != nil || strings.Contains(string(text), "fetched-0815") || strings.Count(string(text), "Bearer (secret)") != 2 {
		t.Errorf("%v, %s", err, text)
	}
}
