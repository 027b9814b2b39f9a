package state

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadsDoNotWaitForAChangeThatIsBeingWritten reads within a transaction that is not committed, as a read does that
// comes while the changes of another call are written to the disk.
func TestReadsDoNotWaitForAChangeThatIsBeingWritten(t *testing.T) {
	for name, change := range map[string]access{"on the disk": writes, "in the process": relaxed} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			synctest.Test(t, func(t *testing.T) {
				s, err := Open(context.WithoutCancel(t.Context()), path)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				err = s.run(t.Context(), change, func(ctx context.Context, _ session) error {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					_, err := s.Record(ctx, "k", "n")
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}
