package state_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/state"
)

func oneBegins(t *testing.T, open func() state.Store) {
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	var begun atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := []state.Store{a, b}[i%2]
			before, err := s.Begin(t.Context(), &state.Deed{Name: "x", Owner: "me", Expires: expires, Body: []byte{0, 0xff}})
			switch {
			case err != nil:
				t.Error(err)
			case before == nil:
				begun.Add(1)
			case before.Name != "x" || before.Owner != "me" || before.Alive || !before.Expires.Equal(expires) || string(before.Body) != "\x00\xff":
				t.Errorf("the others are told of %+v", before)
			}
		})
	}
	all.Wait()
	if begun.Load() != 1 {
		t.Errorf("%d have begun it", begun.Load())
	}
	if d := must[*state.Deed](t)(b.Deed(t.Context(), "y")); d != nil {
		t.Errorf("there is %+v", d)
	}
}

func ownersSettle(t *testing.T, open func() state.Store) {
	s := open()
	soon := time.Now().Add(time.Minute)
	begin := func() *state.Deed {
		return must[*state.Deed](t)(s.Begin(t.Context(), &state.Deed{Name: "x", Owner: "me", Expires: soon, Body: []byte("begun")}))
	}
	begin()
	check(t, s.Present(t.Context(), "me", soon))
	if d := must[*state.Deed](t)(s.Deed(t.Context(), "x")); d == nil || !d.Alive {
		t.Errorf("its owner is present: %+v", d)
	}
	later := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	done := &state.Deed{Name: "x", Expires: later, Body: []byte("done")}
	if must[bool](t)(s.Settle(t.Context(), "another", done)) || must[bool](t)(s.Forget(t.Context(), "x", "another")) {
		t.Error("another settles it")
	}
	if !must[bool](t)(s.Settle(t.Context(), "me", done)) {
		t.Error("its owner does not settle it")
	}
	check(t, s.Close())
	s = open()
	defer s.Close()
	if d := begin(); d == nil || d.Owner != "" || d.Alive || string(d.Body) != "done" || !d.Expires.Equal(later) {
		t.Errorf("it came to %+v", d)
	}
	if !must[bool](t)(s.Forget(t.Context(), "x", "")) || must[*state.Deed](t)(s.Deed(t.Context(), "x")) != nil {
		t.Error("it is not forgotten")
	}
	if must[bool](t)(s.Settle(t.Context(), "", done)) || must[bool](t)(s.Forget(t.Context(), "x", "")) {
		t.Error("what is forgotten is settled")
	}
	if begin() != nil {
		t.Error("what is forgotten does not begin anew")
	}
}
