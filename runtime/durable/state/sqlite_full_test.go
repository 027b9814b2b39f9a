package state

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// While its file takes no writes the store is unavailable, also for Ping. Afterwards Ping finds it available again, without
// another call.
func TestStateThatCannotBeWrittenIsUnavailable(t *testing.T) {
	for name, c := range map[string]struct{ broken, repaired, reason string }{
		"a full disk":      {"max_page_count = 1", "max_page_count = 1000000", "the disk is full"},
		"a read-only file": {"query_only = 1", "query_only = 0", "it is not writable"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			set := func(pragma string) {
				t.Helper()
				if _, err := s.durable.Exec("PRAGMA " + pragma); err != nil {
					t.Fatal(err)
				}
			}
			body := []byte(strings.Repeat("x", 1<<20))
			add := func() error {
				_, err := s.Add(t.Context(), &Record{Kind: "k", Name: "a", Body: body, Expires: time.Now().Add(time.Hour)})
				return err
			}
			set(c.broken)
			for range 2 {
				err := add()
				if !errors.Is(err, ErrUnavailable) || !errors.Is(err, ErrNeedsOperator) || err.Error() != c.reason {
					t.Errorf("got %v", err)
				}
			}
			if !s.refusesWrites.Load() {
				t.Error("Ping does not look whether it takes writes")
			}
			if err := s.Ping(t.Context()); name == "a read-only file" && (err == nil || err.Error() != c.reason) {
				t.Errorf("Ping returns %v", err)
			}
			set(c.repaired)
			if err := s.Ping(t.Context()); err != nil || s.refusesWrites.Load() {
				t.Errorf("it is repaired, and Ping returns %v", err)
			}
			if err := add(); err != nil {
				t.Error(err)
			}
		})
	}
}
