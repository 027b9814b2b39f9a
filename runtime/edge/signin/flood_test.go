package signin_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"

	"hatchel/internal/sampletest"
	"hatchel/runtime"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
)

// floodNetworks is how many networks a flood comes from: fewer than are told apart, and each makes fewer requests than a
// network may make in a minute.
const floodNetworks = 9_000

// from sends a request as one of a network, and returns the response.
func (r *rig) from(n int, method, path, media, body string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	var address [4]byte
	binary.BigEndian.PutUint32(address[:], 0x2d00_0000+uint32(n%floodNetworks)) // public addresses from 45.0.0.0 on
	q := httptest.NewRequest(method, r.url+path, strings.NewReader(body))
	q.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4(address), 4711).String()
	if media != "" {
		q.Header.Set("Content-Type", media)
	}
	for _, c := range cookies {
		q.AddCookie(c)
	}
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, q)
	return w
}

// statements counts what a server asks its state store, of records of sign-ins.
type statements struct {
	state.Store
	reads, writes atomic.Int64
}

func (s *statements) Record(ctx context.Context, kind, name string) (*state.Record, error) {
	s.reads.Add(1)
	return s.Store.Record(ctx, kind, name)
}

func (s *statements) ByUniqueKey(ctx context.Context, kind, key string) (*state.Record, error) {
	s.reads.Add(1)
	return s.Store.ByUniqueKey(ctx, kind, key)
}

func (s *statements) List(ctx context.Context, q state.Query) ([]*state.Record, error) {
	if strings.HasPrefix(q.Kind, "oauth_") { // others look for work in the background
		s.reads.Add(1)
	}
	return s.Store.List(ctx, q)
}

func (s *statements) Count(ctx context.Context, kind, group string) (int, error) {
	s.reads.Add(1)
	return s.Store.Count(ctx, kind, group)
}

func (s *statements) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	s.writes.Add(1)
	return s.Store.Add(ctx, r)
}

func (s *statements) Replace(ctx context.Context, r *state.Record) (bool, error) {
	s.writes.Add(1)
	return s.Store.Replace(ctx, r)
}

func (s *statements) Remove(ctx context.Context, r *state.Record) (bool, error) {
	s.writes.Add(1)
	return s.Store.Remove(ctx, r)
}

// since returns the reads and writes that were made while f ran.
func (s *statements) since(f func()) [2]int64 {
	reads, writes := s.reads.Load(), s.writes.Load()
	f()
	return [2]int64{s.reads.Load() - reads, s.writes.Load() - writes}
}

// openCountedRig starts a server whose statements are counted.
func openCountedRig(t *testing.T, block string) (*rig, *statements) {
	counted := new(statements)
	r := openRigWith(t, func(b *runtime.Build) {
		b.State = store.New(t.Context(), func(ctx context.Context) (state.Store, error) {
			opened, err := state.Open(ctx, filepath.Join(b.Dir, "state.db"))
			counted.Store = opened
			return counted, err
		})
		t.Cleanup(func() { _ = b.State.Close() })
	}, block, "")
	return r, counted
}

// heap returns the memory that the server uses, without its log, which the test keeps.
func (r *rig) heap() uint64 {
	r.log.mu.Lock()
	r.log.text = bytes.Buffer{}
	r.log.mu.Unlock()
	goruntime.GC()
	goruntime.GC() // the pools of the first one
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkConsentPage answers a request for authorization with the page that asks for consent.
func BenchmarkConsentPage(b *testing.B) {
	r := openRig(b, declared, "")
	ask := "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {"inspector"}, "redirect_uri": {"http://localhost:6274/oauth/callback"},
		"code_challenge": {challengeOf("verifier")}, "code_challenge_method": {"S256"},
	}.Encode()
	for n := 0; b.Loop(); n++ {
		if w := r.from(n, "GET", ask, "", ""); w.Code != http.StatusOK {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}

// TestAFloodOfClientsLeavesNothingBehind has many networks register programs, ask for authorization, and allow it,
// until the provider is asked. Others ask in the name of programs that do not exist.
func TestAFloodOfClientsLeavesNothingBehind(t *testing.T) {
	r, stored := openCountedRig(t, "documents = [\"claude.example\"]\n    register { redirects = [\"loopback\"] }")
	const (
		form   = "application/x-www-form-urlencoded"
		most   = 100_000
		growth = 16 << 20
	)
	request := func(id string) string {
		return "/oauth/authorize?" + url.Values{
			"response_type": {"code"}, "client_id": {id}, "redirect_uri": {loopback()}, "state": {"state of the client"},
			"code_challenge": {challengeOf("verifier")}, "code_challenge_method": {"S256"},
		}.Encode()
	}
	visit := func(n int) {
		registration := fmt.Sprintf(`{"client_name": "program %d", "redirect_uris": [%q]}`, n, loopback())
		w := r.from(n, "POST", "/oauth/register", "application/json", registration)
		var registered struct {
			ID string `json:"client_id"`
		}
		if json.Unmarshal(w.Body.Bytes(), &registered) != nil || w.Code != http.StatusCreated {
			t.Fatalf("a registration is answered with %d %s", w.Code, w.Body)
		}
		w = r.from(n, "GET", request(registered.ID), "", "")
		field := hidden.FindStringSubmatch(w.Body.String())
		if w.Code != http.StatusOK || field == nil {
			t.Fatalf("a request for authorization is answered with %d %s", w.Code, w.Body)
		}
		allowed := url.Values{"form": {field[1]}, "decision": {"allow"}}.Encode()
		w = r.from(n, "POST", "/oauth/consent", form, allowed, w.Result().Cookies()...)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), r.provider.URL) {
			t.Fatalf("Allow is answered with %d %s", w.Code, w.Body)
		}
		others := []string{registered.ID + "x", "https://evil.example/" + fmt.Sprint(n), fmt.Sprint("program-", n)}
		if w := r.from(n, "GET", request(others[n%len(others)]), "", ""); w.Code != http.StatusBadRequest {
			t.Fatalf("%s: %d %s", others[n%len(others)], w.Code, w.Body)
		}
	}
	numbers := make([]int, most)
	for n := range numbers {
		numbers[n] = n
	}
	numbers = sampletest.Of(t, 250, numbers)
	for _, n := range numbers[:100] {
		visit(n)
	}
	used := r.heap()
	made := stored.since(func() {
		for _, n := range numbers[100:] {
			visit(n)
		}
	})
	if made[0] > int64(len(numbers)/100) || made[1] > 0 { // work in the background reads every 30 seconds
		t.Errorf("%d reads and %d writes", made[0], made[1])
	}
	if now := r.heap(); now > used+growth {
		t.Errorf("the heap has %d MiB, and had %d", now>>20, used>>20)
	}
	if asked := r.provider.Authorizations(); len(asked) != 0 {
		t.Errorf("the provider was asked %d times", len(asked))
	}
}

// TestEachRequestAsksTheStateAsLittleAsItCan counts the statements of a sign-in, and of what its tokens are used for.
func TestEachRequestAsksTheStateAsLittleAsItCan(t *testing.T) {
	r, stored := openCountedRig(t, declared)
	p := r.program("inspector", "http://localhost:6274/oauth/callback")
	r.mustCall(p.signIn().Access, "ada of finance") // what the first request opens
	var code string
	var first, next *answer
	for _, c := range []struct {
		what          string
		do            func()
		reads, writes int64
	}{
		{"a sign-in, until the code", func() { code = p.code() }, 1, 1}, // the sign-ins of the person are counted
		{"a code", func() { first = p.redeem(code) }, 1, 1},
		{"a call", func() { r.mustCall(first.Access, "ada of finance") }, 0, 0},
		{"a refresh", func() { next = p.refresh(first.Refresh) }, 1, 1},
		{"the refresh again", func() { p.refresh(first.Refresh) }, 1, 0},
		{"a call with the next token", func() { r.mustCall(next.Access, "ada of finance") }, 0, 0},
		{"a token that was not issued", func() { p.refresh(next.Refresh + "x") }, 0, 0},
		{"a code that was not issued", func() { p.redeem("x" + code) }, 0, 0},
		{"a call with a token that was not issued", func() { r.call("/mcp", next.Access+"x") }, 0, 0},
	} {
		if made := stored.since(c.do); made[0] > c.reads || made[1] > c.writes {
			t.Errorf("%s: %d reads, %d writes", c.what, made[0], made[1])
		}
	}
}
