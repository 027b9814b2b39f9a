package http_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl"
)

// doPaced makes a call over a connection with a rate, and returns how many turns it took.
func doPaced(t *testing.T, src adaptertest.Source) (turns int, err error) {
	b := adaptertest.Bind(t, src)
	all := new(allTurns)
	guard := adapters.NewConnectionGuard("shop", hcl.ConnectionLimits{Rate: hcl.Rate{Calls: 1, Per: time.Second}}, all)
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = guard.Do(t.Context(), b.Action, call)
	return int(*all), err
}

// allTurns gives a turn to every request, and counts them.
type allTurns int

func (a *allTurns) Reserve(context.Context, time.Duration) (time.Duration, bool, error) {
	*a++
	return 0, true, nil
}
func (a *allTurns) Postpone(context.Context, time.Duration) error { return nil }

func TestEveryRequestTakesATurn(t *testing.T) {
	for claim, c := range map[string]struct {
		src  adaptertest.Source
		want int
	}{
		"an attempt": {source(serveFailing(t, 2, 503).URL, retryBlock, "", `get = "/"`), 3},
		"a page":     {source(servePages(t).URL, "", "", paginated(`get = "/list"`, "page", "output.body.next")), 5},
		"a request with a new token": {func() adaptertest.Source {
			l := serveTokens(t, "")
			l.revoked.Store(1)
			return l.source("secret.key")
		}(), 2},
	} {
		if turns, err := doPaced(t, c.src); turns != c.want || err != nil {
			t.Errorf("%s: %d turns, %v", claim, turns, err)
		}
	}
}

func TestRetryAfterHoldsBackOtherCalls(t *testing.T) {
	s := serveFailing(t, 1, 429, "Retry-After", "60")
	b := adaptertest.Bind(t, source(s.URL, "", "", `get = "/"`))
	guard := adapters.NewConnectionGuard("shop", hcl.ConnectionLimits{Rate: hcl.Rate{Calls: 1, Per: time.Second}}, new(allTurns))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, want := range []string{"the service returned 429 Too Many Requests (retry after 1m0s)", "the service has asked for a pause"} {
		call, err := b.Call(ctx, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		_, err = guard.Do(ctx, b.Action, call)
		wantPart(t, fmt.Sprintf("call %d: %v", i, err), want)
	}
	if s.count() != 1 {
		t.Errorf("%d requests", s.count())
	}
}

func TestFailuresSayHowOftenTheyWereTried(t *testing.T) {
	const onlyWithRetry = "; tried once, because a POST is retried only if its http block has a retry block or an Idempotency-Key header"
	for name, c := range map[string]struct {
		status            int
		connection, block string
		want              string
	}{
		"a POST that is refused":           {429, retryBlock, `post = "/"`, "the service returned 429 Too Many Requests" + onlyWithRetry},
		"a POST to a service that is full": {503, "", `post = "/"`, "the service returned 503 Service Unavailable" + onlyWithRetry},
		"a POST that is retried":           {503, "", "post = \"/\"\n" + retryBlock, "; tried 3 times, "},
		"a POST that is wrong":             {400, "", `post = "/"`, "the service returned 400 Bad Request"},
		"a GET without retry":              {503, "", `get = "/"`, "the service returned 503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveFailing(t, 100, c.status)
			_, err := adaptertest.Bind(t, source(s.URL, c.connection, "", c.block)).Do(t.Context(), `{}`)
			got := wantFault(t, err).Message
			if wantPart(t, got, c.want); s.count() == 1 && got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
	t.Run("a call whose time is over", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		url := serveTCP(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		block := "get = \"/\"\n timeout = \"200ms\"\n" + retryBlock
		_, err := adaptertest.Bind(t, source(url, "", "", block)).Do(ctx, `{}`)
		wantPart(t, wantFault(t, err).Message, "the request was tried 2 times")
	})
	t.Run("a timeout", func(t *testing.T) {
		url := serveTCP(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		for block, want := range map[string]string{
			"get = \"/\"\n timeout = \"50ms\"":                "the service did not respond within 50ms; tried once",
			"get = \"/\"\n timeout = \"50ms\"\n" + retryBlock: "the service did not respond within 50ms; tried 3 times, ",
		} {
			_, err := adaptertest.Bind(t, source(url, "", "", block)).Do(t.Context(), `{}`)
			wantPart(t, wantFault(t, err).Message, want)
		}
	})
}
