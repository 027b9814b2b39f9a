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
)

// serveFailing rejects the first requests with a status and headers.
func serveFailing(t testing.TB, failures int, status int, header ...string) *recorder {
	var n atomic.Int32
	return serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if int(n.Add(1)) <= failures {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			return
		}
		_, _ = w.Write([]byte(`{}`))
	})
}

const retryBlock = `  retry {
    attempts = 3
    backoff  = "1ms"
  }`

func TestOnlySafeRequestsAreRetried(t *testing.T) {
	for _, x := range []struct {
		connection, block string
		status            int
		sent              int
	}{
		{retryBlock, `get = "/"`, 503, 3},
		{retryBlock, `head = "/"`, 502, 3},
		{retryBlock, "put = \"/\"\n json = 1", 504, 3},
		{retryBlock, `delete = "/"`, 429, 3},
		{retryBlock, `get = "/"`, 500, 1},
		{retryBlock, "post = \"/\"\n json = 1", 503, 1},
		{retryBlock, `patch = "/"`, 503, 1},
		{"", `get = "/"`, 503, 1},
		{retryBlock, "post = \"/\"\n headers = { Idempotency-Key = \"k\" }", 503, 3},
		{"", "post = \"/\"\n json = 1\n" + retryBlock, 503, 3},
		{"", "post = \"/\"\n" + retryBlock, 502, 1},
		{"", "post = \"/\"\n retry {\n on = [\"5xx\"]\n backoff = \"1ms\"\n }", 502, 3},
		{"", "get = \"/\"\n retry {\n on = [\"404\"]\n backoff = \"1ms\"\n attempts = 2\n }", 404, 2},
	} {
		t.Run(fmt.Sprintf("%s%s/%d", x.connection, x.block, x.status), func(t *testing.T) {
			s := serveFailing(t, 100, x.status)
			_, err := adaptertest.Bind(t, source(s.URL, x.connection, "", x.block)).Do(t.Context(), `{}`)
			if f := wantFault(t, err); f.Status != x.status || s.count() != x.sent {
				t.Errorf("sent %d times, want %d", s.count(), x.sent)
			}
		})
	}
}

func TestRetrySendsTheBodyAgain(t *testing.T) {
	s := serveFailing(t, 2, 503)
	b := adaptertest.Bind(t, source(s.URL, retryBlock, "", "put = \"/\"\n json = { a = 1 }"))
	if _, err := b.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.seen {
		if r.body != `{"a":1}` {
			t.Errorf("sent %q", r.body)
		}
	}
}

// serveResetting counts connections and resets each of them after a request.
func serveResetting(t *testing.T) (url string, count *atomic.Int32) {
	count = new(atomic.Int32)
	return serveTCP(t, func(c net.Conn) {
		count.Add(1)
		resetConn(c)
	}), count
}

func TestBrokenConnection(t *testing.T) {
	for name, c := range map[string]struct {
		connection, block string
		sent              int32
	}{
		"is not retried for a POST": {"", "post = \"/\"\n json = 1\n" + retryBlock, 1},
		"is retried for a PUT":      {retryBlock, `put = "/"`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			url, n := serveResetting(t)
			_, err := adaptertest.Bind(t, source(url, c.connection, "", c.block)).Do(t.Context(), `{}`)
			if wantFault(t, err); n.Load() != c.sent {
				t.Errorf("sent %d times, want %d", n.Load(), c.sent)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	get := func(ctx context.Context, s *recorder) (time.Duration, error) {
		b := adaptertest.Bind(t, source(s.URL, retryBlock, "", `get = "/"`))
		start := time.Now()
		_, err := b.Do(ctx, `{}`)
		return time.Since(start), err
	}
	t.Run("is obeyed", func(t *testing.T) {
		if took, err := get(t.Context(), serveFailing(t, 1, 429, "Retry-After", "1")); err != nil || took < time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
	t.Run("is not obeyed if it is too long", func(t *testing.T) {
		s := serveFailing(t, 1, 503, "Retry-After", "3600")
		_, err := get(t.Context(), s)
		if got := wantFault(t, err).Message; s.count() != 1 || got != "the service returned 503 Service Unavailable (retry after 1h0m0s)" {
			t.Errorf("%d requests, %s", s.count(), got)
		}
	})
	t.Run("is not waited for beyond the deadline of the call", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		took, err := get(ctx, serveFailing(t, 1, 503, "Retry-After", "60"))
		if wantFault(t, err); took > adaptertest.MaxCancelDelay {
			t.Errorf("the call took %v", took)
		}
	})
}

func TestCancellationEndsTheWaitBeforeARetry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(503)
		w.(nethttp.Flusher).Flush()
		cancel()
	})
	b := adaptertest.Bind(t, source(s.URL, "", "", "get = \"/\"\n retry {\n }"))
	start := time.Now()
	if _, err := b.Do(ctx, `{}`); !errors.Is(err, context.Canceled) || time.Since(start) > adaptertest.MaxCancelDelay {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
}

// tokenService is a token server, and a service that accepts its tokens t1, t2, and so on.
type tokenService struct {
	*recorder
	issued    atomic.Int32
	requested atomic.Int32
	revoked   atomic.Int32 // the number of the last token that is not accepted any more
	expires   string
}

func serveTokens(t testing.TB, expires string) *tokenService {
	l := &tokenService{expires: expires}
	l.recorder = serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path != "/token" {
			var n int32
			if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer t%d", &n); err != nil || n <= l.revoked.Load() {
				w.WriteHeader(nethttp.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(`{}`))
			return
		}
		l.requested.Add(1)
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

func (l *tokenService) source(secret string) adaptertest.Source {
	return source(l.URL, fmt.Sprintf(`  auth {
    oauth2 {
      token_url     = "%s/token"
      client_id     = "me"
      client_secret = %s
      scopes        = ["a", "b"]
      params        = { audience = "x" }
    }
  }`, l.URL, secret), "", `    post = "/x"`)
}

func TestConcurrentCallsShareOneToken(t *testing.T) {
	l := serveTokens(t, `, "expires_in": 3600`)
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
	if n := l.requested.Load(); n != 1 {
		t.Errorf("%d tokens were requested", n)
	}
	plan, err := b.Plan(t.Context(), `{}`)
	if err != nil || !strings.Contains(plan, "Authorization: Bearer (secret)") {
		t.Errorf("%v, %s", err, plan)
	}
}

func TestExpiredTokenIsReplaced(t *testing.T) {
	l := serveTokens(t, `, "expires_in": "0.05"`)
	b := adaptertest.Bind(t, l.source("secret.key"))
	deadline := time.Now().Add(adaptertest.MaxCancelDelay)
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
	l := serveTokens(t, "")
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
	if f := wantFault(t, err); f.Status != 401 || l.issued.Load() != 3 {
		t.Errorf("%s, %d tokens", f.Message, l.issued.Load())
	}
}

func TestRejectedClientIsReported(t *testing.T) {
	l := serveTokens(t, "")
	b := adaptertest.Bind(t, l.source(`"${secret.key}-wrong"`))
	_, err := b.Do(t.Context(), `{}`)
	if got := wantFault(t, err).Message; got != "signing in failed: the token server returned 401 Unauthorized, invalid_client: no client me with (secret)" {
		t.Error(got)
	}
	if l.count() != 1 {
		t.Error("the request was sent without a token")
	}
}

func TestContextEndsTheWaitForAToken(t *testing.T) {
	url := serveTCP(t, func(c net.Conn) { <-t.Context().Done() })
	src := source(url, fmt.Sprintf("  auth {\n    oauth2 {\n      token_url = %q\n      client_id = \"me\"\n      client_secret = secret.key\n    }\n  }", url), "", `    get = "/"`)
	b := adaptertest.Bind(t, src)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Do(ctx, `{}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := b.Close(); err != nil { // cancels the fetch that still runs
		t.Error(err)
	}
}

// Circuit breakers and idempotency keys depend on these fields.
func TestFaultReportsTheStateOfTheService(t *testing.T) {
	const closedPort = "http://127.0.0.1:1" // nothing listens on this port
	for name, c := range map[string]struct {
		status          int
		down, untouched bool
	}{
		"404":           {404, false, false},
		"403":           {403, false, false},
		"503":           {503, true, false},
		"429":           {429, true, false},
		"no connection": {0, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			url := closedPort
			if c.status != 0 {
				url = serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(c.status) }).URL
			}
			_, err := adaptertest.Bind(t, source(url, "", "", `    post = "/"`)).Do(t.Context(), `{}`)
			var f *adapters.Fault
			if !errors.As(err, &f) || f.Unavailable != c.down || f.NotSent != c.untouched {
				t.Errorf("%+v", f)
			}
		})
	}
	t.Run("failure after an attempt that was sent", func(t *testing.T) {
		n := 0
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if n++; n == 1 {
				w.WriteHeader(503)
				return
			}
			panic(nethttp.ErrAbortHandler)
		})
		b := adaptertest.Bind(t, source(s.URL, "", "", "    post = \"/\"\n    retry {\n      attempts = 2\n      backoff = \"1ms\"\n    }"))
		var f *adapters.Fault
		if _, err := b.Do(t.Context(), `{}`); !errors.As(err, &f) || f.NotSent {
			t.Errorf("%+v", f)
		}
	})
}
