package state_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/state"
)

// behaves is what holds of every Store. Open opens the same store whenever it is called in one test.
func behaves(t *testing.T, open func(t *testing.T) func() state.Store) {
	for _, c := range []struct {
		claim string
		test  func(*testing.T, func() state.Store)
	}{
		{"the secret is made once", secretIsMadeOnce},
		{"of all who claim a name one has it", oneClaims},
		{"what is kept is taken once", keptIsTakenOnce},
		{"tasks are found and outlive the process", tasksAreFound},
		{"of two writers one wins", oneWriterWins},
		{"tasks without a living owner are orphans", orphans},
		{"of all who begin a deed one does", oneBegins},
		{"a deed is settled by its owner", ownersSettle},
		{"records are found and outlive the process", recordsAreFound},
		{"of all who add a record one does", oneAdds},
		{"of all who replace a record one does", oneReplaces},
		{"records are listed in order", recordsAreListed},
		{"records that have expired are not there", recordsExpire},
		{"what others change is heard", changesAreHeard},
		{"events are paced", eventsArePaced},
		{"turns that are too far off come earlier", turnsThatAreTooFarOffComeEarlier},
		{"a pace is shared", paceIsShared},
		{"what has expired was never there", expires},
		{"what is cancelled changes nothing", cancelled},
	} {
		t.Run(c.claim, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// must fails the test on an error and gives the value otherwise.
func must[T any](t testing.TB) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func secretIsMadeOnce(t *testing.T, open func() state.Store) {
	s := open()
	first := must[[]byte](t)(s.Secret(t.Context()))
	if len(first) != state.SecretSize || bytes.Equal(first, make([]byte, state.SecretSize)) {
		t.Fatalf("got %x", first)
	}
	check(t, s.Close())
	s = open()
	defer s.Close()
	if again := must[[]byte](t)(s.Secret(t.Context())); !bytes.Equal(again, first) {
		t.Error("it changed")
	}
}

func oneClaims(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := []state.Store{a, b}[i%2]
			ok, err := s.Claim(t.Context(), "x", time.Now().Add(time.Hour))
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d have it", won.Load())
	}
	if !must[bool](t)(a.Claim(t.Context(), "y", time.Now().Add(time.Hour))) {
		t.Error("another name is not free")
	}
}

func keptIsTakenOnce(t *testing.T, open func() state.Store) {
	s := open()
	later := time.Now().Add(time.Hour)
	check(t, s.Keep(t.Context(), "a", []byte("old"), later))
	check(t, s.Keep(t.Context(), "a", []byte{0, 'a', 0xff}, later))
	check(t, s.Keep(t.Context(), "b", []byte("b"), later))
	check(t, s.Close())
	s = open()
	defer s.Close()
	if got := must[[]byte](t)(s.Take(t.Context(), "a")); !bytes.Equal(got, []byte{0, 'a', 0xff}) {
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"a", "c"} {
		if got := must[[]byte](t)(s.Take(t.Context(), name)); got != nil {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := must[[]byte](t)(s.Take(t.Context(), "b")); string(got) != "b" {
		t.Errorf("got %q", got)
	}
}

func tasksAreFound(t *testing.T, open func() state.Store) {
	s := open()
	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	task := &state.Task{ID: "one", Owner: "me", Expires: expires, Body: []byte("body")}
	check(t, s.Create(t.Context(), task))
	if s.Create(t.Context(), &state.Task{ID: "one", Expires: expires}) == nil {
		t.Error("a second task has the same id")
	}
	check(t, s.Close())
	s = open()
	defer s.Close()
	got := must[*state.Task](t)(s.Task(t.Context(), "one"))
	if got == nil || got.Version != 1 || got.Owner != "me" || !got.Expires.Equal(expires) || string(got.Body) != "body" {
		t.Fatalf("got %+v", got)
	}
	if got := must[*state.Task](t)(s.Task(t.Context(), "two")); got != nil {
		t.Errorf("got %+v", got)
	}
}

func oneWriterWins(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	check(t, a.Create(t.Context(), &state.Task{ID: "one", Expires: time.Now().Add(time.Hour), Body: []byte("0")}))
	var won atomic.Int64
	var all sync.WaitGroup
	var read []*state.Task
	for i := range 10 {
		read = append(read, must[*state.Task](t)([]state.Store{a, b}[i%2].Task(t.Context(), "one")))
	}
	for i, mine := range read {
		s := []state.Store{a, b}[i/2%2]
		mine.Body = fmt.Append(nil, i+1)
		all.Go(func() {
			ok, err := s.Update(t.Context(), mine)
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
			if ok != (mine.Version == 2) {
				t.Errorf("version %d and %v", mine.Version, ok)
			}
		})
	}
	all.Wait()
	got := must[*state.Task](t)(a.Task(t.Context(), "one"))
	if won.Load() != 1 || got.Version != 2 || string(got.Body) == "0" {
		t.Errorf("%d have won: %+v", won.Load(), got)
	}
	got.Owner, got.Body = "me", []byte("next")
	if !must[bool](t)(b.Update(t.Context(), got)) {
		t.Error("who has read the last version cannot write")
	}
	if must[bool](t)(a.Update(t.Context(), &state.Task{ID: "gone", Version: 1, Expires: time.Now().Add(time.Hour), Body: []byte{}})) {
		t.Error("a task was updated that is not there")
	}
}

func orphans(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	later := time.Now().Add(time.Hour)
	for id, owner := range map[string]string{"a": "dead", "b": "alive", "c": "", "d": "dead"} {
		check(t, s.Create(t.Context(), &state.Task{ID: id, Owner: owner, Expires: later, Body: []byte{}}))
	}
	check(t, s.Present(t.Context(), "alive", later))
	check(t, s.Present(t.Context(), "dead", later))
	if got := must[[]*state.Task](t)(s.Orphans(t.Context())); len(got) != 0 {
		t.Errorf("got %d", len(got))
	}
	check(t, s.Present(t.Context(), "dead", time.Now()))
	if got := must[[]*state.Task](t)(s.Orphans(t.Context())); len(got) != 2 || got[0].ID != "a" || got[1].ID != "d" || got[0].Version != 1 {
		t.Errorf("got %+v", got)
	}
}

func expires(t *testing.T, open func() state.Store) {
	synctest.Test(t, func(t *testing.T) {
		s := open()
		defer s.Close()
		ctx, soon := context.WithoutCancel(t.Context()), time.Now().Add(time.Minute)
		check(t, s.Keep(ctx, "k", []byte("v"), soon))
		check(t, s.Create(ctx, &state.Task{ID: "t", Owner: "o", Expires: soon, Body: []byte{}}))
		check(t, s.Present(ctx, "o", soon))
		deed := &state.Deed{Name: "d", Owner: "o", Expires: soon, Body: []byte{}}
		must[*state.Deed](t)(s.Begin(ctx, deed))
		if !must[bool](t)(s.Claim(ctx, "c", soon)) || must[bool](t)(s.Claim(ctx, "c", soon)) {
			t.Error("the claim was not made once")
		}
		task := must[*state.Task](t)(s.Task(ctx, "t"))
		time.Sleep(time.Until(soon) - time.Millisecond)
		if must[bool](t)(s.Claim(ctx, "c", soon)) || must[*state.Task](t)(s.Task(ctx, "t")) == nil {
			t.Error("it expired too early")
		}
		time.Sleep(time.Millisecond)
		if must[*state.Deed](t)(s.Deed(ctx, "d")) != nil || must[bool](t)(s.Settle(ctx, "o", deed)) || must[bool](t)(s.Forget(ctx, "d", "o")) {
			t.Error("the deed did not expire")
		}
		if deed.Expires = time.Now().Add(time.Minute); must[*state.Deed](t)(s.Begin(ctx, deed)) != nil || must[*state.Deed](t)(s.Begin(ctx, deed)) == nil {
			t.Error("the deed was not free, once")
		}
		if must[*state.Task](t)(s.Task(ctx, "t")) != nil || must[bool](t)(s.Update(ctx, task)) || must[[]byte](t)(s.Take(ctx, "k")) != nil {
			t.Error("it did not expire")
		}
		if !must[bool](t)(s.Claim(ctx, "c", time.Now().Add(time.Minute))) || must[bool](t)(s.Claim(ctx, "c", time.Now().Add(time.Minute))) {
			t.Error("the name was not free, once")
		}
	})
}

func cancelled(t *testing.T, open func() state.Store) {
	s := open()
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, err := s.Claim(ctx, "x", time.Now().Add(time.Hour)); ok || err == nil {
		t.Errorf("got %v %v", ok, err)
	}
	if !must[bool](t)(s.Claim(t.Context(), "x", time.Now().Add(time.Hour))) {
		t.Error("the name was claimed")
	}
}

// openedAtOnce opens one place, where nothing was before, many times at once: all of them find the same.
func openedAtOnce(t *testing.T, open func() (state.Store, error)) {
	t.Helper()
	secrets := make([]string, 8)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			s, err := open()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			secret, err := s.Secret(t.Context())
			if err != nil {
				t.Error(err)
			}
			secrets[i] = string(secret)
		})
	}
	all.Wait()
	if len(slices.Compact(secrets)) != 1 {
		t.Error("they have different secrets")
	}
}
