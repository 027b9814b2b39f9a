package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// revocationTime is how long a revocation takes to be known everywhere, on a machine that does nothing else.
func revocationTime() time.Duration {
	if *bounds {
		return time.Second
	}
	return 5 * time.Second
}

// A person signs in while each request goes to the next one of three processes. Programs that refresh with the same
// token at the same moment get the same next one, from every process.
func TestPeopleSignInAtThreeProcesses(t *testing.T) {
	t.Parallel()
	s := startSignInServer(t, 3, emptySchema(t), "")
	first := s.mustSignIn()
	for i := range s.replicas {
		if status, body, err := s.callAt(i, first.Access); err != nil || status != http.StatusOK || !strings.Contains(body, "ada of finance") {
			t.Errorf("process %d: %d %s %v", i, status, body, err)
		}
	}
	current := first.Refresh
	for range 3 {
		var mu sync.Mutex
		next := map[string]int{}
		var windows sync.WaitGroup
		for range 32 {
			windows.Go(func() {
				got, err := s.refresh(t.Context(), current)
				if err != nil || got.status != http.StatusOK {
					t.Errorf("%+v, %v", got, err)
					return
				}
				if status, body, err := s.call(t.Context(), got.Access); err != nil || status != http.StatusOK {
					t.Errorf("a call: %d %s %v", status, body, err)
				}
				mu.Lock()
				defer mu.Unlock()
				next[got.Refresh]++
			})
		}
		windows.Wait()
		if len(next) != 1 || next[current] != 0 {
			t.Fatalf("32 programs have %d tokens", len(next))
		}
		for current = range next {
		}
	}
}

// What ends a sign-in at one process ends it at all of them, for tokens of each age, within a second.
func TestAnEndedSignInIsKnownToAllProcesses(t *testing.T) {
	t.Parallel()
	s := startSignInServer(t, 3, emptySchema(t), "")
	for name, end := range map[string]func(first, next tokens) error{
		"a revocation": func(_, next tokens) error {
			_, err := s.post(t.Context(), "/oauth/revoke", url.Values{"token": {next.Refresh}, "client_id": {s.client}})
			return err
		},
		"a token that was used before the last one": func(first, _ tokens) error {
			got, err := s.refresh(t.Context(), first.Refresh)
			if err == nil && (got.Error != "invalid_grant" || !strings.Contains(got.Text, "was used before; all sessions of this sign-in have ended")) {
				err = fmt.Errorf("the old token is answered with %+v", got)
			}
			return err
		},
	} {
		first, other := s.mustSignIn(), s.mustSignIn()
		next := s.mustRefresh(s.mustRefresh(first.Refresh).Refresh)
		if err := end(first, next); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, token := range []string{first.Access, next.Access} {
			if took := s.checkRefusedEverywhere(token); took > revocationTime() {
				t.Errorf("%s is known after %s", name, took)
			}
		}
		for range s.replicas {
			if got, err := s.refresh(t.Context(), next.Refresh); err != nil || got.Error != "invalid_grant" {
				t.Errorf("%s: the refresh token is answered with %+v, %v", name, got, err)
			}
		}
		if status, body, err := s.call(t.Context(), other.Access); err != nil || status != http.StatusOK {
			t.Errorf("%s ends another sign-in: %d %s %v", name, status, body, err)
		}
	}
}

// A code that two programs have is worth nothing to both: its second use ends the sign-in.
func TestACodeIsRedeemedOnceByThreeProcesses(t *testing.T) {
	t.Parallel()
	s := startSignInServer(t, 3, emptySchema(t), "")
	for range 5 {
		a, err := s.authorize(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var given []tokens
		var programs sync.WaitGroup
		for range 6 {
			programs.Go(func() {
				got, err := s.redeem(t.Context(), a)
				if err != nil || got.status != http.StatusOK && got.Error != "invalid_grant" {
					t.Errorf("%+v, %v", got, err)
				}
				if got.status == http.StatusOK {
					mu.Lock()
					defer mu.Unlock()
					given = append(given, got)
				}
			})
		}
		programs.Wait()
		if len(given) > 1 {
			t.Errorf("%d programs have tokens for one code", len(given))
		}
		for _, got := range given {
			s.checkRefusedEverywhere(got.Access)
		}
	}
}

// While the database is unavailable, access tokens are good for calls. What needs it says when to come again, and ends
// nothing.
func TestAccessTokensWorkWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	database, err := url.Parse(emptySchema(t))
	if err != nil {
		t.Fatal(err)
	}
	way := newProxy(t, database.Host)
	database.Host = way.at
	s := startSignInServer(t, 3, database.String(), "")
	first, second := s.mustSignIn(), s.mustSignIn()
	pending, err := s.authorize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	way.disconnect()
	for i := range s.replicas {
		for _, token := range []string{first.Access, second.Access} {
			if status, body, err := s.callAt(i, token); err != nil || status != http.StatusOK || !strings.Contains(body, "ada of finance") {
				t.Errorf("process %d: %d %s %v", i, status, body, err)
			}
		}
	}
	for what, try := range map[string]func(context.Context) (tokens, error){
		"a refresh": func(ctx context.Context) (tokens, error) { return s.refresh(ctx, first.Refresh) },
		"a code":    func(ctx context.Context) (tokens, error) { return s.redeem(ctx, pending) },
		"a revocation": func(ctx context.Context) (tokens, error) {
			return s.post(ctx, "/oauth/revoke", url.Values{"token": {second.Refresh}, "client_id": {s.client}})
		},
	} {
		for range s.replicas {
			if got, err := try(t.Context()); err != nil || got.status != http.StatusServiceUnavailable || got.retryAfter == "" {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		}
	}
	if _, err := s.authorize(t.Context()); err == nil || !strings.Contains(err.Error(), "callback: 503") {
		t.Errorf("a sign-in: %v", err)
	}
	way.connect()
	await(t, func() bool {
		got, err := s.refresh(t.Context(), first.Refresh)
		return err == nil && got.status == http.StatusOK
	})
	var got tokens
	await(t, func() bool { // until the process that is asked has the database again
		got, err = s.redeem(t.Context(), pending)
		return err != nil || got.status != http.StatusServiceUnavailable
	})
	if err != nil || got.status != http.StatusOK {
		t.Errorf("the code: %+v, %v", got, err)
	}
}
