package grant_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// records returns all records of a kind.
func records(t *testing.T, store state.Store, kind string) []*state.Record {
	t.Helper()
	list, err := store.List(t.Context(), state.Query{Kind: kind, Limit: 1000})
	check(t, err)
	return list
}

func TestARecordOfAnotherNameOrKindDoesNotOpen(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{Key: []byte("key")})
		mine, token := signIn(t, s, ada())
		theirs := ada()
		theirs.Subject, theirs.Groups = "root", []string{"admin"}
		admin, _ := signIn(t, s, theirs)
		r, err := store.Record(t.Context(), "oauth_grant", mine.ID)
		check(t, err)
		kept := bytes.Clone(r.Body)
		other, err := store.Record(t.Context(), "oauth_grant", admin.ID)
		check(t, err)
		key := records(t, store, "oauth_key")[0]
		flipped := bytes.Clone(kept)
		flipped[len(flipped)/2] ^= 1
		for name, body := range map[string][]byte{
			"of another sign-in": other.Body, "of a key": key.Body, "empty": {}, "cut": kept[:len(kept)-1],
			"changed": flipped, "plain": []byte(`{"subject":"root","key":"https://provider.example","groups":["admin"]}`),
		} {
			r.Body = body
			if ok, err := store.Replace(t.Context(), r); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if g, _, err := s.Refresh(t.Context(), token, accept, renew); !errors.Is(err, grant.ErrInvalid) {
				t.Errorf("a body %s: %+v %v", name, g, err)
			}
			if g, err := s.Find(t.Context(), mine.ID); g != nil || err != nil {
				t.Errorf("a body %s is found: %+v %v", name, g, err)
			}
		}
		r.Body = kept
		if ok, err := store.Replace(t.Context(), r); !ok || err != nil {
			t.Fatal(ok, err)
		}
		_, _, err = s.Refresh(t.Context(), token, accept, renew)
		check(t, err)
	})
}

// TestNothingOfASignInIsStoredInClear scans every stored byte for what belongs to a person or lets somebody in.
func TestNothingOfASignInIsStoredInClear(t *testing.T) {
	for _, key := range []string{"", "key of the state"} {
		t.Run(fmt.Sprintf("key %q", key), func(t *testing.T) {
			inMemory(t, func(t *testing.T, store state.Store) {
				o := grant.Options{}
				if key != "" {
					o.Key = []byte(key)
				}
				s := open(t, store, o)
				g := ada()
				g.Subject, g.Claims = "ada.lovelace", json.RawMessage(`{"email":"ada@corp.example"}`)
				code, err := s.Create(t.Context(), g)
				check(t, err)
				g, token, err := s.Redeem(t.Context(), code, accept)
				check(t, err)
				if kept := g.Upstream != nil; kept != (key != "") {
					t.Errorf("tokens of the provider are kept: %t", kept)
				}
				_, err = s.Use(t.Context(), "an assertion", time.Now().Add(time.Hour))
				check(t, err)
				for _, kind := range []string{"oauth_key", "oauth_grant", "oauth_used", "oauth_revoked"} {
					for _, r := range records(t, store, kind) {
						text := fmt.Sprintf("%+v %s", r, r.Body)
						for _, secret := range []string{
							"ada.lovelace", "finance", "corp.example", "upstream", "provider.example", "client.example",
							strings.SplitN(token, ".", 3)[2], strings.SplitN(code, ".", 2)[1], "PRIVATE", "private",
						} {
							if strings.Contains(text, secret) {
								t.Errorf("%s has %q: %s", kind, secret, text)
							}
						}
					}
				}
			})
		})
	}
}

func TestTheKeyOfTheStateIsChanged(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		first, second := []byte("the first key"), []byte("the second key")
		before := open(t, store, grant.Options{Key: first, PreviousKey: second}) // reads what the next ones write
		kid, _ := before.SigningKey()
		_, token := signIn(t, before, ada())
		code, err := before.Create(t.Context(), ada())
		check(t, err)
		sealed := before.Sealer("transaction").Seal([]byte("x"))
		lasting := before.LastingSealer("registration").Seal([]byte("x"))

		after := open(t, store, grant.Options{Key: second, PreviousKey: first})
		if id, _ := after.SigningKey(); id != kid {
			t.Errorf("the key %s signs, not %s", id, kid)
		}
		if plain, ok := after.Sealer("transaction").Open(sealed); !ok || string(plain) != "x" {
			t.Error("a sealed text does not open")
		}
		_, _, err = after.Redeem(t.Context(), code, accept)
		check(t, err)
		g, token, err := after.Refresh(t.Context(), token, accept, renew)
		check(t, err)
		if g.Upstream.Access != "upstream access" {
			t.Errorf("the tokens of the provider are %+v", g.Upstream)
		}
		_, token, err = before.Refresh(t.Context(), token, accept, renew) // a process that is replaced later
		check(t, err)
		_, token, err = after.Refresh(t.Context(), token, accept, renew)
		check(t, err)

		alone := open(t, store, grant.Options{Key: second}) // the previous key is not declared any more
		if id, _ := alone.SigningKey(); id != kid {
			t.Errorf("the key %s signs, not %s", id, kid)
		}
		_, _, err = alone.Refresh(t.Context(), token, accept, renew)
		check(t, err)
		if list, _, err := alone.List(t.Context(), grant.Query{Owner: g.Owner(), Limit: 9}); err != nil || len(list) != 2 {
			t.Errorf("%d sign-ins %v", len(list), err)
		}

		log := new(bytes.Buffer)
		stranger := open(t, store, grant.Options{Key: []byte("another key"), Log: slog.New(slog.NewTextHandler(log, nil))})
		if id, _ := stranger.SigningKey(); id == kid {
			t.Error("a process with another key signs with the same one")
		}
		if g, err := stranger.Find(t.Context(), g.ID); g != nil || err != nil {
			t.Errorf("it finds %+v %v", g, err)
		}
		if _, _, err := stranger.Refresh(t.Context(), token, accept, renew); !errors.Is(err, grant.ErrInvalid) {
			t.Error(err)
		}
		for range 3 {
			if list, _, err := stranger.List(t.Context(), grant.Query{Limit: 9}); err != nil || len(list) != 0 {
				t.Errorf("%d sign-ins %v", len(list), err)
			}
		}
		if n := strings.Count(log.String(), "not opened"); n != 2 {
			t.Errorf("it is logged %d times: %s", n, log)
		}
		if _, ok := stranger.Sealer("transaction").Open(sealed); ok {
			t.Error("it opens a sealed text")
		}
		if _, ok := stranger.LastingSealer("registration").Open(lasting); !ok {
			t.Error("a registration has ended with the key")
		}
		if _, ok := alone.Sealer("registration").Open(lasting); ok {
			t.Error("a text opens for another use")
		}
	})
}

// TestKeysAreSealedAnewAfterEachProcessHasTheNewKey changes the key as the guide says, with a process of each step.
func TestKeysAreSealedAnewAfterEachProcessHasTheNewKey(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		first, second := []byte("the first key"), []byte("the second key")
		run := func(o grant.Options) (s *grant.Store, stop func()) {
			s = open(t, store, o)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { s.Run(ctx) })
			return s, func() {
				synctest.Wait() // no statement is under way, which would end the store in memory with its connection
				cancel()
				running.Wait()
			}
		}
		_, stopOld := run(grant.Options{Key: first})
		old, stopStep1 := run(grant.Options{Key: first, PreviousKey: second})
		kid, _ := old.SigningKey()
		stopOld()
		_, stopStep2 := run(grant.Options{Key: second, PreviousKey: first})
		_, stopLate := run(grant.Options{Key: first, PreviousKey: second}) // restarted in the meantime
		time.Sleep(5 * time.Minute)
		version := records(t, store, "oauth_key")[0].Version
		time.Sleep(10 * time.Minute)
		if n := records(t, store, "oauth_key")[0].Version - version; n > 40 {
			t.Errorf("in ten minutes the key was sealed %d times", n)
		}
		stopStep1()
		stopLate()
		time.Sleep(2 * time.Minute)
		stopStep2()
		after, stop := run(grant.Options{Key: second})
		defer stop()
		if id, _ := after.SigningKey(); id != kid {
			t.Errorf("the key %s signs, not %s", id, kid)
		}
	})
}

func TestAPersonHasHundredSignIns(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{})
		var ids, tokens []string
		for range 103 {
			g, token := signIn(t, s, ada())
			ids, tokens = append(ids, g.ID), append(tokens, token)
			time.Sleep(time.Second)
		}
		other := ada()
		other.Subject = "bob"
		signIn(t, s, other)
		for n, id := range ids {
			_, _, err := s.Refresh(t.Context(), tokens[n], accept, renew)
			if ended := n < 3; ended != s.Revoked(id) || ended != errors.Is(err, grant.ErrInvalid) {
				t.Errorf("sign-in %d: revoked %t, %v", n, s.Revoked(id), err)
			}
		}
	})
}

func TestSignInsLeaveRoomInTheStore(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{})
		store.(interface{ SetQuota(int64) }).SetQuota(256 << 10)
		var full error
		for n := 0; full == nil && n < 1000; n++ {
			g := ada()
			g.Subject = fmt.Sprint("person ", n)
			_, full = s.Create(t.Context(), g)
		}
		if !errors.Is(full, state.ErrFull) {
			t.Fatal(full)
		}
		existing, err := store.Add(t.Context(), &state.Record{Kind: "task", Name: "x", Expires: time.Now().Add(time.Hour)})
		if existing != nil || err != nil {
			t.Errorf("another record: %v", err)
		}
	})
}

func TestATokenIsUsedOnce(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{})
		until := time.Now().Add(10 * time.Minute)
		for n, want := range []bool{true, false, false} {
			if first, err := s.Use(t.Context(), "issuer\nid \x00\xff", until); err != nil || first != want {
				t.Errorf("use %d: %t %v", n, first, err)
			}
			time.Sleep(5 * time.Minute)
		}
	})
}

func TestUpstreamTokenIsRenewedOnlyWhenItIsNeeded(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{Key: []byte("key")})
		g, token := signIn(t, s, ada())
		asked := 0
		renew := func(_ context.Context, g *grant.Grant) error {
			asked++
			g.Upstream.Access, g.Upstream.AccessEnds = "renewed", time.Now().Add(time.Hour)
			return nil
		}
		for n, want := range []string{"upstream access", "upstream access", "renewed", "renewed"} {
			if text, ends, err := s.UpstreamToken(t.Context(), g.ID, renew); err != nil || text != want || !ends.After(time.Now()) {
				t.Errorf("call %d: %q %v %v", n, text, ends, err)
			}
			time.Sleep(30 * time.Minute)
		}
		if asked != 1 {
			t.Errorf("the provider was asked %d times", asked)
		}
		_, _, err := s.Refresh(t.Context(), token, accept, renew) // its refresh token is still the first one
		check(t, err)
		gone := errors.New("the provider does not know the person")
		ended := func(context.Context, *grant.Grant) error { return errors.Join(grant.ErrEnded, gone) }
		time.Sleep(2 * time.Hour)
		if _, _, err := s.UpstreamToken(t.Context(), g.ID, ended); !errors.Is(err, gone) || !s.Revoked(g.ID) {
			t.Errorf("removed at the provider: %v, revoked %t", err, s.Revoked(g.ID))
		}
		if _, _, err := s.UpstreamToken(t.Context(), g.ID, renew); !errors.Is(err, grant.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Some providers issue tokens for less than a minute. Each call then asks once.
func TestUpstreamTokenOfAShortLifeIsRenewedOnceForACall(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{Key: []byte("key")})
		g, _ := signIn(t, s, ada())
		time.Sleep(2 * time.Hour)
		asked, life := 0, 20*time.Second
		renew := func(_ context.Context, g *grant.Grant) error {
			asked++
			g.Upstream.Access, g.Upstream.AccessEnds = "short", time.Now().Add(life)
			return nil
		}
		for n := 1; n < 3; n++ {
			if text, ends, err := s.UpstreamToken(t.Context(), g.ID, renew); err != nil || text != "short" || asked != n || time.Until(ends) != life {
				t.Errorf("call %d: %q until %v, %v, asked %d times", n, text, ends, err, asked)
			}
		}
		lost := func(_ context.Context, g *grant.Grant) error { g.Upstream.Access = ""; return nil }
		if _, _, err := s.UpstreamToken(t.Context(), g.ID, lost); !errors.Is(err, grant.ErrNoUpstream) {
			t.Errorf("without a token: %v", err)
		}
	})
}

// A token that is valid keeps no call waiting, and is used to its end while the provider does not answer.
func TestUpstreamTokenIsUsedToItsEnd(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{Key: []byte("key")})
		g, _ := signIn(t, s, ada())
		time.Sleep(time.Hour - 20*time.Second)
		slow := func(context.Context, *grant.Grant) error {
			time.Sleep(5 * time.Second)
			return errors.New("no answer")
		}
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				if text, _, err := s.UpstreamToken(t.Context(), g.ID, slow); err != nil || text != "upstream access" {
					t.Errorf("shortly before its end: %q, %v", text, err)
				}
			})
			time.Sleep(time.Second)
		}
		began := time.Now()
		if text, _, err := s.UpstreamToken(t.Context(), g.ID, slow); err != nil || text != "upstream access" || time.Since(began) > 0 {
			t.Errorf("while another caller renews it: %q, %v, after %s", text, err, time.Since(began))
		}
		calls.Wait()
		time.Sleep(20 * time.Second)
		if _, _, err := s.UpstreamToken(t.Context(), g.ID, slow); !errors.Is(err, grant.ErrRenewal) {
			t.Errorf("after its end: %v", err)
		}

		alone := ada()
		alone.Upstream.Refresh = ""
		g, _ = signIn(t, s, alone)
		time.Sleep(time.Hour - 20*time.Second)
		if text, _, err := s.UpstreamToken(t.Context(), g.ID, slow); err != nil || text != "upstream access" {
			t.Errorf("without a refresh token: %q, %v", text, err)
		}
	})
}

func TestAProviderThatDoesNotAnswerEndsNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{Key: []byte("key")})
		_, token := signIn(t, s, ada())
		time.Sleep(61 * time.Minute)
		asked := 0
		down := errors.New("the provider does not answer")
		fails := func(_ context.Context, g *grant.Grant) error {
			asked++
			g.Upstream.Refresh, g.Groups = "rotated", []string{"lost"}
			return down
		}
		for range 30 {
			if _, _, err := s.Refresh(t.Context(), token, accept, fails); !errors.Is(err, grant.ErrRenewal) {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if asked < 2 || asked > 7 {
			t.Errorf("the provider was asked %d times", asked)
		}
		time.Sleep(time.Hour) // the token is still the last one
		g, _, err := s.Refresh(t.Context(), token, accept, renew)
		if err != nil || g.Upstream.Refresh != "rotated" || g.Groups[0] != "finance" {
			t.Errorf("%+v %v", g, err)
		}
	})
}

// TestAPersonIsCheckedAfterTheProviderWasAsked has the provider answer that the person has other groups, which the
// server does not admit now, and does again later: the token of the provider is kept.
func TestAPersonIsCheckedAfterTheProviderWasAsked(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{Key: []byte("key")})
		_, token := signIn(t, s, ada())
		time.Sleep(61 * time.Minute)
		provider := "first"
		renew := func(_ context.Context, g *grant.Grant) error {
			if g.Upstream.Refresh != provider {
				return errors.Join(grant.ErrEnded, errors.New("the token of the provider was used before"))
			}
			provider += "+"
			g.Upstream.Refresh, g.Groups = provider, []string{"guests"}
			return nil
		}
		refused := errors.New("not admitted")
		admitted := "finance"
		admits := func(g *grant.Grant) error {
			if g.Groups[0] != admitted {
				return refused
			}
			return nil
		}
		for range 3 {
			if _, _, err := s.Refresh(t.Context(), token, admits, renew); !errors.Is(err, refused) {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		admitted = "guests"
		g, _, err := s.Refresh(t.Context(), token, admits, renew)
		if err != nil || g.Upstream.Refresh != provider {
			t.Errorf("%+v %v", g, err)
		}
	})
}

func TestCheckMayEndOrChangeASignIn(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{})
		g, token := signIn(t, s, ada())
		other := errors.New("another client")
		if _, _, err := s.Refresh(t.Context(), token, func(*grant.Grant) error { return other }, renew); !errors.Is(err, other) {
			t.Fatal(err)
		}
		_, token, err := s.Refresh(t.Context(), token, func(g *grant.Grant) error { g.Groups = []string{"mapped"}; return nil }, renew)
		check(t, err)
		if found, err := s.Find(t.Context(), g.ID); err != nil || found.Groups[0] != "mapped" {
			t.Fatalf("found %+v %v", found, err)
		}
		ends := func(*grant.Grant) error { return grant.ErrEnded }
		if _, _, err := s.Refresh(t.Context(), token, ends, renew); !errors.Is(err, grant.ErrEnded) || !s.Revoked(g.ID) {
			t.Errorf("%v, revoked %t", err, s.Revoked(g.ID))
		}
	})
}

func TestACodeAndASessionEnd(t *testing.T) {
	inMemory(t, func(t *testing.T, store state.Store) {
		s := open(t, store, grant.Options{})
		code, err := s.Create(t.Context(), ada())
		check(t, err)
		time.Sleep(grant.CodeLife)
		if _, _, err := s.Redeem(t.Context(), code, accept); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("after a minute: %v", err)
		}
		g := ada()
		g.Ends = time.Now().Add(12 * time.Hour)
		g, token := signIn(t, s, g)
		time.Sleep(12 * time.Hour)
		if _, _, err := s.Refresh(t.Context(), token, accept, renew); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("after the session: %v", err)
		}
		if found, err := s.Find(t.Context(), g.ID); found != nil || err != nil {
			t.Errorf("found %+v %v", found, err)
		}
		if n := len(records(t, store, "oauth_grant")); n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}
