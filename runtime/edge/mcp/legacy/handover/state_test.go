package handover

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/durable/state"
)

func newStateStore(t *testing.T) stateStore {
	store, err := state.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return stateStore{store}
}

func TestOneOfTwoChangesOfASessionIsSaved(t *testing.T) {
	s, until := newStateStore(t), time.Now().Add(time.Hour)
	for version := range 3 {
		for i, want := range []bool{true, false} {
			saved, err := s.SaveSession(t.Context(), "a", "ada", fmt.Append(nil, version, i), version, until)
			if err != nil || saved != want {
				t.Errorf("change %d of version %d: %v, %v", i, version, saved, err)
			}
		}
	}
	if body, version, err := s.LoadSession(t.Context(), "a"); string(body) != "2 0" || version != 3 || err != nil {
		t.Errorf("loaded %q, %d, %v", body, version, err)
	}
	if err := s.RemoveSession(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, version, err := s.LoadSession(t.Context(), "a"); version != 0 || err != nil {
		t.Errorf("removed: %d, %v", version, err)
	}
}

func TestOldestSessionOfACallerWithTooManyLosesItsRecord(t *testing.T) {
	s, until := newStateStore(t), time.Now().Add(time.Hour)
	save := func(name, owner string, until time.Time) {
		if saved, err := s.SaveSession(t.Context(), name, owner, nil, 0, until); err != nil || !saved {
			t.Fatal(saved, err)
		}
	}
	save("oldest", "ada", until)
	save("of another", "eve", until)
	oldest, err := s.records.Record(t.Context(), kindSession, "oldest")
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxSessionRecords - 1 {
		other := *oldest
		other.Name, other.Due = fmt.Sprint(i), until.Add(time.Minute)
		if _, err := s.records.Add(t.Context(), &other); err != nil {
			t.Fatal(err)
		}
	}
	save("new", "ada", until.Add(time.Minute))
	for name, want := range map[string]int{"oldest": 0, "of another": 1, "0": 1, "new": 1} {
		if _, version, err := s.LoadSession(t.Context(), name); version != want || err != nil {
			t.Errorf("%s: version %d, %v", name, version, err)
		}
	}
}

func TestLatestEndsOfSessionsAreReadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStateStore(t)
		const n = deletedPage + 10
		for i := range n {
			if err := s.SaveDeleted(t.Context(), fmt.Append(nil, i), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		var read []string
		err := s.LoadDeleted(t.Context(), func(names []byte) bool {
			read = append(read, string(names))
			return true
		})
		if err != nil || len(read) != n || read[0] != fmt.Sprint(n-1) || read[n-1] != "0" {
			t.Errorf("%v: read %d, first %q, last %q", err, len(read), read[:1], read[len(read)-1:])
		}
		calls := 0
		s.LoadDeleted(t.Context(), func([]byte) bool { calls++; return false })
		if calls != 1 {
			t.Errorf("read %d more than wanted", calls-1)
		}
	})
}
